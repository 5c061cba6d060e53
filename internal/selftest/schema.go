// SPDX-License-Identifier: Apache-2.0

package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// ErrOldSchema means that the API server would drop fields that this version writes.
var ErrOldSchema = errors.New("the CustomResourceDefinitions in the cluster are older than this version")

// kinds are the types that the manager writes, and templates of runs, by their names in the API server's schema.
var kinds = map[string]reflect.Type{
	"MotorRun":         reflect.TypeFor[v1alpha1.MotorRun](),
	"MotorStep":        reflect.TypeFor[v1alpha1.MotorStep](),
	"MotorCortex":      reflect.TypeFor[v1alpha1.MotorCortex](),
	"Skill":            reflect.TypeFor[v1alpha1.Skill](),
	"SkillRevision":    reflect.TypeFor[v1alpha1.SkillRevision](),
	"SandboxPool":      reflect.TypeFor[v1alpha1.SandboxPool](),
	"MotorRunTemplate": reflect.TypeFor[v1alpha1.MotorRunTemplate](),
	"MotorSchedule":    reflect.TypeFor[v1alpha1.MotorSchedule](),
}

// Schema returns ErrOldSchema if the API server does not know a field of this version's kinds. The API server drops such a field from what is
// written, and answers without an error. The client is any client of the API server. Schema returns nil if the client may not read the schema.
func Schema(ctx context.Context, client rest.Interface) error {
	const path = "/openapi/v3/apis/motorcortex.dev/v1alpha1"
	text, err := client.Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx)
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case apierrors.IsNotFound(err):
		return fmt.Errorf("the API server has no kinds of %s: install config/crd: %w", v1alpha1.GroupVersion, err)
	case err != nil:
		return fmt.Errorf("read the schema of %s: %w", v1alpha1.GroupVersion, err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("read the schema of %s: %w", v1alpha1.GroupVersion, err)
	}
	var lacks []string
	for kind, t := range kinds {
		lacks = append(lacks, missing(doc.Components.Schemas["dev.motorcortex.v1alpha1."+kind], t, kind)...)
	}
	return tooOld(lacks)
}

// maxNamed is the maximum of fields that an error names.
const maxNamed = 5

func tooOld(lacks []string) error {
	if len(lacks) == 0 {
		return nil
	}
	slices.Sort(lacks)
	named, more := lacks[:min(len(lacks), maxNamed)], ""
	if n := len(lacks) - len(named); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%w: they lack %s%s, which the API server would drop. Apply those of this version: kubectl apply --server-side -k config/crd",
		ErrOldSchema, strings.Join(named, ", "), more)
}

// missing returns the paths of the fields of a type that its schema does not have.
func missing(schema any, t reflect.Type, path string) []string {
	s, ok := schema.(map[string]any)
	if !ok {
		return []string{path}
	}
	if s["x-kubernetes-preserve-unknown-fields"] == true {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return missing(schema, t.Elem(), path)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		return missing(s["items"], t.Elem(), path+"[]")
	case reflect.Map:
		return missing(s["additionalProperties"], t.Elem(), path+"[]")
	case reflect.Struct:
		if t.PkgPath() != reflect.TypeFor[v1alpha1.MotorRun]().PkgPath() {
			// The project does not add fields to the types of others.
			return nil
		}
		return missingOf(s, t, path)
	default:
		return nil
	}
}

func missingOf(schema map[string]any, t reflect.Type, path string) []string {
	properties, _ := schema["properties"].(map[string]any)
	var lacks []string
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && f.Anonymous:
			lacks = append(lacks, missing(schema, f.Type, path)...)
		case name != "":
			lacks = append(lacks, missing(properties[name], f.Type, path+"."+name)...)
		}
	}
	return lacks
}
