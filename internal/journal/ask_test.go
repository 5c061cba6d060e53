// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Recorded asks stay, and an open ask gets an outcome once.
func TestAsks(t *testing.T) {
	t.Parallel()
	recorded := func(outcome v1alpha1.AskOutcome) v1alpha1.StepAsk {
		a := v1alpha1.StepAsk{
			ID: "q", Kind: v1alpha1.InputApproval, Execution: "c0", CallID: "c0", Digest: "sha256:0", AskTime: metav1.NewTime(noon),
			ExpirationTime: metav1.NewTime(noon.Add(time.Hour)), OnTimeout: v1alpha1.OnTimeoutDeny, Outcome: outcome,
		}
		if outcome != "" {
			a.By, a.CloseTime = "first", metav1.NewTime(noon.Add(time.Second))
		}
		return a
	}
	found := func(outcome turn.AskOutcome) turn.Ask {
		a := turn.Ask{
			ID: "q", Kind: turn.AskApproval, Execution: "c0", CallID: "c0", Digest: "sha256:0", AskedAt: noon.Add(time.Minute), ExpiresAt: noon.Add(time.Hour),
			OnTimeout: turn.OnTimeoutDeny, Outcome: outcome,
		}
		if outcome != "" {
			a.Decision, a.By, a.Reason, a.ClosedAt = "Deny", "second", "because", noon.Add(2*time.Minute)
		}
		return a
	}
	late := recorded(v1alpha1.AskDenied)
	late.Decision, late.By, late.Reason, late.CloseTime = "Deny", "second", "because", metav1.NewTime(noon.Add(2*time.Minute))
	asked := recorded("")
	asked.AskTime = metav1.NewTime(noon.Add(time.Minute))
	for name, tt := range map[string]struct {
		recorded []v1alpha1.StepAsk
		found    []turn.Ask
		want     []v1alpha1.StepAsk
	}{
		"nothing":             {nil, nil, nil},
		"an ask":              {nil, []turn.Ask{found("")}, []v1alpha1.StepAsk{asked}},
		"is recorded already": {[]v1alpha1.StepAsk{recorded("")}, []turn.Ask{found("")}, []v1alpha1.StepAsk{recorded("")}},
		"gets its outcome":    {[]v1alpha1.StepAsk{recorded("")}, []turn.Ask{found(turn.AskDenied)}, []v1alpha1.StepAsk{late}},
		"has its outcome":     {[]v1alpha1.StepAsk{recorded(v1alpha1.AskExpired)}, []turn.Ask{found(turn.AskApproved)}, []v1alpha1.StepAsk{recorded(v1alpha1.AskExpired)}},
		"stays":               {[]v1alpha1.StepAsk{recorded(v1alpha1.AskApproved)}, nil, []v1alpha1.StepAsk{recorded(v1alpha1.AskApproved)}},
		"is not taken back":   {[]v1alpha1.StepAsk{recorded(v1alpha1.AskDenied)}, []turn.Ask{found("")}, []v1alpha1.StepAsk{recorded(v1alpha1.AskDenied)}},
	} {
		before := slices.Clone(tt.recorded)
		if diff := cmp.Diff(tt.want, asks(tt.recorded, tt.found, func(string) bool { return false })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, tt.recorded); diff != "" {
			t.Errorf("%s: what was given was changed:\n%s", name, diff)
		}
	}
}

// A result records how long people took for the call, and an answer how long they took for it.
func TestTimesOfPeople(t *testing.T) {
	t.Parallel()
	closed := func(id, call string, kind v1alpha1.InputKind, from, to time.Duration) v1alpha1.StepAsk {
		a := v1alpha1.StepAsk{ID: id, Kind: kind, CallID: call, AskTime: metav1.NewTime(noon.Add(from))}
		if to > 0 {
			a.Outcome, a.CloseTime = v1alpha1.AskAnswered, metav1.NewTime(noon.Add(to))
		}
		return a
	}
	s := &v1alpha1.MotorStep{Status: v1alpha1.MotorStepStatus{Asks: []v1alpha1.StepAsk{
		closed("1", "c0", v1alpha1.InputApproval, time.Second, 5*time.Second),
		closed("2", "c0", v1alpha1.InputOutcomeUnknown, 6*time.Second, 9*time.Second),
		closed("3", "c1", v1alpha1.InputQuestion, 10*time.Second, 40*time.Second),
		closed("4", "c2", v1alpha1.InputDomainRequest, 41*time.Second, 0),
	}}}
	step := &turn.Turn{
		Calls:   []turn.Call{{ID: "c0", Tool: toolapi.ToolBash}, {ID: "c1", Tool: toolapi.ToolAskUser}, {ID: "c2", Tool: toolapi.ToolRequestDomain}},
		Results: []*toolapi.Result{{OK: true, DurationMs: 250}, {OK: true}, nil},
	}
	settle(s, step)
	got := s.Status.Results
	if len(got) != 2 || got[0].DurationMilliseconds != 250 || got[0].WaitedMilliseconds != 7000 || got[1].DurationMilliseconds != 30_000 || got[1].WaitedMilliseconds != 0 || s.Status.ToolMilliseconds != 250 {
		t.Errorf("results %+v, tools took %d ms", got, s.Status.ToolMilliseconds)
	}
}

// A loop that takes over reads an ask as the loop before it recorded it, with every field. The answer, and what its files hold, stand in the spec.
func TestAskIsReadAsItWasRecorded(t *testing.T) {
	t.Parallel()
	a := turn.Ask{
		ID: "q", Kind: turn.AskApproval, CallID: "c0", Execution: "c0-r1", Digest: "sha256:0", Rule: "rule", Domain: "example.org",
		AskedAt: noon, ExpiresAt: noon.Add(time.Hour), ClosedAt: noon.Add(time.Minute), OnTimeout: turn.OnTimeoutDeny,
		Outcome: turn.AskApproved, Decision: "ApproveRun", By: "anna", Reason: "because",
		Files: []turn.File{
			{Path: "answers/a", Size: 1, MediaType: "text/plain", SHA256: "0f", Web: true}, {Path: "answers/b", Problem: "it is not there"},
		},
	}
	for v, i := reflect.ValueOf(a), 0; i < v.NumField(); i++ {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Answer" && name != "HasFiles" {
			t.Errorf("the ask has no %s", name)
		}
	}
	recorded := asks(nil, []turn.Ask{a}, func(string) bool { return false })
	if diff := cmp.Diff(a, AskOf(&recorded[0])); diff != "" {
		t.Errorf("-recorded +read:\n%s", diff)
	}
}

// A file that cannot be put into the workspace is recorded as such with the result of the call. Once the model was told, the record stays.
func TestAFileTurnsOutToBeAProblem(t *testing.T) {
	t.Parallel()
	recorded := []v1alpha1.StepAsk{{ID: "q", CallID: "c0", Outcome: v1alpha1.AskAnswered, Files: []v1alpha1.AskFile{
		{Path: "answers/a", SHA256: "0f"}, {Path: "answers/b", Problem: "it is gone"}, {Path: "answers/c", SHA256: "1f"},
	}}}
	found := []turn.Ask{{ID: "q", CallID: "c0", Outcome: turn.AskAnswered, Files: []turn.File{
		{Path: "answers/a"}, {Path: "answers/b", Problem: "another"}, {Path: "answers/c", Problem: "the name is too long"}, {Path: "answers/d", Problem: "unknown"},
	}}}
	for told, want := range map[bool]string{false: "the name is too long", true: ""} {
		got := asks(recorded, found, func(string) bool { return told })[0].Files
		if len(got) != 3 || got[0] != recorded[0].Files[0] || got[1].Problem != "it is gone" || got[2].Problem != want || got[2].SHA256 != "1f" {
			t.Errorf("told %t: %+v", told, got)
		}
	}
	if recorded[0].Files[2].Problem != "" {
		t.Error("the former record was changed")
	}
}
