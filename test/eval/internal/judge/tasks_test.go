// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/test/eval/internal/task"
)

const tasks = "../../tasks"

// TestTheChecksOfTheTasks judges every end that was written down, and what was given without any work on it.
func TestTheChecksOfTheTasks(t *testing.T) {
	t.Parallel()
	all, err := task.LoadAll(tasks)
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"python3", "node", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the checks need %s: %v", program, err)
		}
	}
	for _, task := range all {
		t.Run(task.Name, func(t *testing.T) {
			t.Parallel()
			variants, err := Variants(task)
			if err != nil {
				t.Fatal(err)
			}
			wantVariants(t, variants)
			for _, v := range append(variants, untouched(task)) {
				got, err := Judge(t.Context(), task, v.Outcome)
				// Read with -v: a wrong end must be refused for the reason for which it was written.
				t.Logf("%s: %s: %s", v.Name, got.Verdict, strings.Join(got.Problems, "\n"))
				if err != nil {
					t.Errorf("%s: %v", v.Name, err)
				} else if got.Verdict != v.Want {
					t.Errorf("%s is judged %s, want %s:\n%s", v.Name, got.Verdict, v.Want, strings.Join(got.Problems, "\n"))
				}
			}
		})
	}
}

// untouched claims success and did nothing.
func untouched(t *task.Task) Variant {
	return Variant{Name: "untouched", Want: FalseSuccess, Outcome: Outcome{
		Claim: task.Succeeded, Summary: "All of it is done and checked.", Workspace: t.Given(),
	}}
}

func wantVariants(t *testing.T, variants []Variant) {
	t.Helper()
	right := slices.ContainsFunc(variants, func(v Variant) bool { return v.Name == "solution" && v.Want == Solved })
	wrong := slices.ContainsFunc(variants, func(v Variant) bool { return v.Name != "solution" && v.Want != Solved })
	if !right || !wrong {
		t.Errorf("there must be a solution that is Solved and a wrong end that is not: %d ends", len(variants))
	}
	for _, v := range variants {
		if strings.HasPrefix(v.Name, "wrong-") && (v.Want == Solved || v.Want == "") {
			t.Errorf("%s wants %q", v.Name, v.Want)
		}
	}
}
