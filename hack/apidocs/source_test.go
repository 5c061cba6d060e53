// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

const example = `package v1

// Mode is how it is done.
// +kubebuilder:validation:Enum=Fast;Slow
type Mode string

const (
	// ModeFast: at once.
	ModeFast Mode = "Fast"
	// ModeSlow: later.
	ModeSlow Mode = "Slow"
)

// Thing is one.
type Thing struct {
	Spec   ThingSpec   ` + "`json:\"spec\"`" + `
	Status ThingStatus ` + "`json:\"status,omitempty\"`" + `
}

// +kubebuilder:validation:XValidation:rule="self.mode == oldSelf.mode",fieldPath=".mode",message="mode never changes after creation"
// +kubebuilder:validation:XValidation:rule="has(self.names)",fieldPath=".names",message="a thing has \"names\""
type ThingSpec struct {
	// mode of it.
	// +default="Fast"
	// +optional
	Mode Mode ` + "`json:\"mode,omitempty\"`" + `

	// names of it, as spec.first has them.
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=9
	// +required
	Names []string ` + "`json:\"names\"`" + `

	// first part.
	First *Part ` + "`json:\"first,omitempty\"`" + `
	// second part.
	Second []Part ` + "`json:\"second,omitempty\"`" + `

	hidden string
}

// Part is a part.
type Part struct {
	// inner part.
	Inner Inner ` + "`json:\"inner\"`" + `
}

// Inner is inside.
type Inner struct {
	// count of it.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5
	Count int32 ` + "`json:\"count\"`" + `
	// raw bytes.
	// +kubebuilder:validation:MaxLength=8
	Raw []byte ` + "`json:\"raw\"`" + `
}

// ThingStatus is how it stands.
type ThingStatus struct {
	// part of it.
	Part Part ` + "`json:\"part\"`" + `
}

// Condition types of a Thing.
const (
	// ConditionReady is True when it can be used.
	ConditionReady = "Ready"
)

// Reasons of Ready.
const (
	// ReasonUsable is a reason of Ready=True.
	//
	// Meaning: It can be used.
	//
	// Do: Nothing.
	ReasonUsable = "Usable"
)
`

// exampleSource is the package above, as if its kind were the first one of the API.
func exampleSource(t *testing.T) *source {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "types.go"), []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := readSource(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, half := range []string{"spec", "status"} {
		s.visit("Thing", s.typeOf("Thing", half), half, s.places)
	}
	return s
}

func TestReadSource(t *testing.T) {
	t.Parallel()
	s := exampleSource(t)
	spec := s.types["ThingSpec"]
	if len(spec.fields) != 4 || spec.fields[1].name != "names" || spec.fields[1].doc.text != "names of it, as spec.first has them." {
		t.Errorf("the fields are %+v", spec.fields)
	}
	if most, _ := spec.fields[1].doc.value("MaxLength"); most != "9" || !spec.fields[1].doc.has("required") {
		t.Errorf("the markers are %+v", spec.fields[1].doc.markers)
	}
	if len(spec.doc.markers) != 2 || spec.doc.markers[0].name != "XValidation" {
		t.Errorf("the markers are %+v", spec.doc.markers)
	}
	if len(s.constants) != 4 || s.constants[0].typeName != "Mode" || s.constants[2].block != "Condition types of a Thing." {
		t.Errorf("the constants are %+v", s.constants)
	}
	if _, err := readSource(t.TempDir()); err == nil {
		t.Error("an empty folder is a package")
	}
}
