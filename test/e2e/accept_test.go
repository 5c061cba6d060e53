// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A run is done when its checks say so, and not when its model does: in a real sandbox, with what the model wrote.
func TestARunIsWhatItProves(t *testing.T) {
	t.Parallel()
	run := startRun(t, "accept", func(r *v1alpha1.MotorRun) {
		r.Spec.Files = []v1alpha1.InputFile{{Path: "check.py", Content: new("import add\nassert add.add(2, 3) == 5, add.add(2, 3)\nprint('it adds')\n")}}
		r.Spec.Accept = &v1alpha1.RunAcceptance{
			Files:       []string{"*.py"},
			Commands:    []v1alpha1.AcceptCommand{{Command: "python3 check.py"}, {Command: "! grep -n print add.py", TimeoutSeconds: 10}},
			ValueSchema: `{"type": "object", "properties": {"functions": {"type": "array", "items": {"type": "string"}}}, "required": ["functions"]}`,
		}
	})
	done := wantCompleted(t, run, soon)
	if r := done.Status.Result; r.Summary != "add.py adds." || r.Value != `{"functions":["add"]}` || r.Stats.Iterations != 2 {
		t.Errorf("the result is %+v", r)
	}
	journal := wantWholeJournal(t, done)
	if len(journal) != 5 {
		t.Fatalf("the journal has %d steps", len(journal))
	}
	first, second := journal[1], journal[3]
	if !first.Spec.Checks || first.Status.Results[0].OK || !strings.Contains(first.Status.Results[0].Output, "AssertionError: -1") || !first.Status.Results[1].OK {
		t.Errorf("the first checks are %+v, and came to %+v", first.Spec, first.Status.Results)
	}
	if !second.Spec.Checks || !second.Status.Results[0].OK || second.Status.Results[0].Output != "it adds\n" {
		t.Errorf("the second checks are %+v, and came to %+v", second.Spec, second.Status.Results)
	}
}
