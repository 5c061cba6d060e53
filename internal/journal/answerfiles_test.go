// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The model of the attempt whose workspace lacks a file is told so with its first step, and no other is.
func TestAMissingFileIsToldOnce(t *testing.T) {
	t.Parallel()
	step := storedStep(v1alpha1.MotorStepStatus{Asks: []v1alpha1.StepAsk{
		{ID: "p", Files: []v1alpha1.AskFile{{Path: "answers/a", SHA256: "0f"}}},
		{ID: "q", Files: []v1alpha1.AskFile{{Path: "answers/a", SHA256: "1f"}, {Path: "answers/b", Problem: "it was gone"}, {Path: "answers/c"}}},
	}})
	l := &Log{attempt: 2, before: []v1alpha1.MotorStep{step}}
	if got := l.notes(1); got != nil {
		t.Errorf("of a workspace that has all: %q", got)
	}
	missing := []MissingFile{{AskID: "q", Path: "answers/a", Problem: "it has changed"}, {AskID: "q", Path: "answers/b", Problem: "another"}}
	for range 2 {
		l.noteMissing(&l.before[0], missing)
		missing[0].Problem = "a later one"
	}
	want := []v1alpha1.AskFile{{Path: "answers/a", SHA256: "1f", Problem: "it has changed", MissingInAttempt: 2}, {Path: "answers/b", Problem: "it was gone"}, {Path: "answers/c"}}
	if diff := cmp.Diff(want, l.before[0].Status.Asks[1].Files); diff != "" || l.before[0].Status.Asks[0].Files[0].Problem != "" {
		t.Errorf("recorded is %+v (-want +got):\n%s", l.before[0].Status.Asks, diff)
	}
	if got := l.notes(1); len(got) != 1 || !strings.Contains(got[0], `"answers/a": "it has changed"`) || strings.Contains(got[0], "answers/b") {
		t.Errorf("the first step says %q", got)
	}
	if got := l.notes(2); got != nil {
		t.Errorf("the second step says %q", got)
	}
	l.attempt = 3
	if got := l.notes(1); got != nil {
		t.Errorf("the next attempt is told %q", got)
	}
	l.noteMissing(&l.before[0], []MissingFile{{AskID: "q", Path: "answers/a", Problem: "still"}, {AskID: "q", Path: "answers/b", Problem: "another"}})
	if got := l.notes(1); len(got) != 1 || !strings.Contains(got[0], `"answers/a": "still"`) || strings.Contains(got[0], "answers/b") {
		t.Errorf("the next attempt, which lacks it too, is told %q", got)
	}
}
