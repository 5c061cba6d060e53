// SPDX-License-Identifier: Apache-2.0

package output_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/output"
)

func TestObjects(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	step := func() *v1alpha1.MotorStep {
		return &v1alpha1.MotorStep{ObjectMeta: metav1.ObjectMeta{Name: "a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}, Spec: v1alpha1.MotorStepSpec{Attempt: 1}}
	}
	const one = "apiVersion: motorcortex.dev/v1alpha1\nkind: MotorStep\nmetadata:\n  name: a\nspec:\n  attempt: 1\n  epoch: 0\n  index: 0\n  type: \"\"\n"
	const line = `{"kind":"MotorStep","apiVersion":"motorcortex.dev/v1alpha1","metadata":{"name":"a"},"spec":{"type":"","attempt":1,"index":0,"epoch":0}}` + "\n"
	for name, tt := range map[string]struct {
		format output.Format
		list   bool
		want   string
	}{
		"an object":           {output.YAML, false, one},
		"its name":            {output.Name, false, "motorstep.motorcortex.dev/a\n"},
		"a list":              {output.YAML, true, "apiVersion: v1\nitems:\n- " + strings.TrimSuffix(strings.ReplaceAll(one, "\n", "\n  "), "  ") + "kind: List\n"},
		"an object in a line": {output.JSONL, false, line},
		"a list in lines":     {output.JSONL, true, line},
		"the names of a list": {output.Name, true, "motorstep.motorcortex.dev/a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			var err error
			if tt.list {
				err = output.List(&b, tt.format, scheme, []*v1alpha1.MotorStep{step()})
			} else {
				err = output.Object(&b, tt.format, scheme, step())
			}
			if diff := cmp.Diff(tt.want, b.String()); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// A program reads a list that is empty as it reads any other.
func TestAnEmptyList(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := output.List[*v1alpha1.MotorRun](&b, output.JSON, nil, nil); err != nil || !strings.Contains(b.String(), `"items": []`) {
		t.Errorf("%v, %s", err, &b)
	}
}

func TestFlag(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]output.Format{"json": output.JSON, "yaml": output.YAML, "name": output.Name, "jsonl": output.JSONL, "wide": ""} {
		var f output.Format
		cmd := &cobra.Command{}
		f.Bind(cmd)
		if err := cmd.ParseFlags([]string{"-o", arg}); f != want || (err == nil) != (want != "") {
			t.Errorf("-o %s: %q, %v", arg, f, err)
		}
	}
}

// A verb that prints events has no form for objects.
func TestAFlagWithSomeFormats(t *testing.T) {
	t.Parallel()
	for arg, want := range map[string]output.Format{"jsonl": output.JSONL, "json": "", "yaml": ""} {
		var f output.Format
		cmd := &cobra.Command{}
		f.BindOnly(cmd, "events", output.JSONL)
		if err := cmd.ParseFlags([]string{"-o", arg}); f != want || (err == nil) != (want != "") {
			t.Errorf("-o %s: %q, %v", arg, f, err)
		}
	}
}
