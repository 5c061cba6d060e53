// SPDX-License-Identifier: Apache-2.0

// Package rules_test measures what the rules of the kinds cost an API server.
package rules_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// ruled is a kind with its rules, as an API server has it.
type ruled struct {
	schema    *schema.Structural
	validator *cel.Validator
}

func readKind(t testing.TB, plural string) ruled {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "motorcortex.dev_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &crd); err != nil {
		t.Fatal(err)
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &props, nil); err != nil {
		t.Fatal(err)
	}
	s, err := schema.NewStructural(&props)
	if err != nil {
		t.Fatal(err)
	}
	return ruled{s, cel.NewValidator(s, true, celconfig.PerCallLimit)}
}

// object reads an object, and fills in the defaults of its kind.
func (k ruled) object(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatal(err)
	}
	defaulting.Default(o, k.schema)
	return o
}

// aRun is a run as the API server stores it while it goes on.
const aRun = `
apiVersion: motorcortex.dev/v1alpha1
kind: MotorRun
metadata: {name: hello, namespace: agents}
spec:
  task: Say hello.
  tools: [bash]
  sandbox: {resources: {cpu: 500m}}
  origin: Created
  requester: {username: "system:admin", groups: ["system:masters", "system:authenticated"]}
status:
  phase: Running
  model: m
  conditions:
  - {type: Accepted, status: "True", reason: Accepted, message: The run can be carried out., lastTransitionTime: "2026-01-01T00:00:00Z"}
  - {type: SandboxReady, status: "True", reason: SandboxReady, message: The sandbox runs., lastTransitionTime: "2026-01-01T00:00:00Z"}
`

// check judges the write of an object.
func (k ruled) check(t testing.TB, now, before map[string]any) {
	t.Helper()
	errs, _ := k.validator.Validate(t.Context(), nil, k.schema, now, before, celconfig.RuntimeCELCostBudget)
	if err := errs.ToAggregate(); err != nil {
		t.Fatal(err)
	}
}

// The API server checks all rules of a kind with each write of the status, those of the spec too, which that cannot change. Each look of a rule at a
// field of an object copies the schema of all fields that the object can have: 11 KiB for the spec of a run. So a rule about one field belongs to that
// field, and one about a new object must not look at it again.
func TestAWriteOfTheStatusIsCheapToCheck(t *testing.T) {
	k := readKind(t, "motorruns")
	before, now := k.object(t, aRun), k.object(t, aRun)
	now["status"].(map[string]any)["phase"] = "Completed"
	k.check(t, now, before)
	const writes, most = 20, 900 << 10
	var start, end runtime.MemStats
	runtime.ReadMemStats(&start)
	for range writes {
		k.check(t, now, before)
	}
	runtime.ReadMemStats(&end)
	if each := (end.TotalAlloc - start.TotalAlloc) / writes; each > most {
		t.Errorf("to check a write of the status takes %d KiB of garbage, want %d at most", each>>10, most>>10)
	}
}

func BenchmarkAWriteOfTheStatus(b *testing.B) {
	k := readKind(b, "motorruns")
	before, now := k.object(b, aRun), k.object(b, aRun)
	now["status"].(map[string]any)["phase"] = "Completed"
	b.ReportAllocs()
	for b.Loop() {
		k.check(b, now, before)
	}
}
