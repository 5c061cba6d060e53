// SPDX-License-Identifier: Apache-2.0

package asks_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

func runAsking(uid types.UID, inputs ...v1alpha1.PendingInput) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{Status: v1alpha1.MotorRunStatus{PendingInputs: inputs}}
	run.Name, run.Namespace, run.UID = "run", "ns", uid
	return run
}

func TestWhatIsAnsweredIsNotOpen(t *testing.T) {
	t.Parallel()
	run := runAsking("uid", v1alpha1.PendingInput{ID: "a"}, v1alpha1.PendingInput{ID: "b", Answered: true}, v1alpha1.PendingInput{ID: "c"})
	run.Spec.Responses = []v1alpha1.Response{{ID: "c", Answer: "yes"}, {ID: "old", Answer: "no"}}
	if open := asks.Open(run); len(open) != 1 || open[0].ID != "a" {
		t.Errorf("open are %+v", open)
	}
}

// The index of the test is that of the ask, and the id that of the ask whatever the response has.
func TestPatchNamesTheRunAndTheAsk(t *testing.T) {
	t.Parallel()
	run := runAsking("uid", v1alpha1.PendingInput{ID: "a"}, v1alpha1.PendingInput{ID: "b"})
	body, err := asks.Patch(run, &run.Status.PendingInputs[1], v1alpha1.Response{ID: "a", Answer: "yes"})
	want := `[{"op":"test","path":"/metadata/uid","value":"uid"},{"op":"test","path":"/status/pendingInputs/1/id","value":"b"},` +
		`{"op":"add","path":"/spec/responses/-","value":{"id":"b","answer":"yes"}}]`
	if err != nil || string(body) != want {
		t.Errorf("%v, %s", err, body)
	}
	if _, err := asks.Patch(run, &v1alpha1.PendingInput{ID: "c"}, v1alpha1.Response{}); err == nil {
		t.Error("an ask that the run does not have is answered")
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	p := v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion}
	answered := runAsking("uid", p)
	answered.Spec.Responses = []v1alpha1.Response{{ID: "q", Answer: "hers"}}
	failed := apierrors.NewGenericServerResponse(422, "patch", runs, "run", "the server rejected our request", 0, false)
	for name, tt := range map[string]struct {
		err  error
		now  *v1alpha1.MotorRun
		want asks.Cause
	}{
		"gone":               {apierrors.NewNotFound(runs, "run"), nil, asks.Gone},
		"another run":        {failed, runAsking("other", p), asks.Gone},
		"no right":           {apierrors.NewForbidden(runs, "run", errors.New("no")), runAsking("uid", p), asks.NoRight},
		"a policy":           {apierrors.NewForbidden(runs, "run", errors.New("x denied request: not you")), runAsking("uid", p), asks.Denied},
		"answered meanwhile": {failed, answered, asks.Answered},
		"asked no more":      {failed, runAsking("uid"), asks.NotAsked},
		"no cluster":         {errors.New("no route"), nil, asks.Other},
		"something else":     {errors.New("no route"), runAsking("uid", p), asks.Other},
	} {
		got := asks.Refused(tt.err, runAsking("uid", p), &p, tt.now)
		if got.Cause != tt.want || (got.Response != nil) != (tt.want == asks.Answered) || strings.Contains(got.Reason, "denied") {
			t.Errorf("%s: %+v, want the cause %d", name, got, tt.want)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	sent := v1alpha1.Response{Answer: "yes", Files: []v1alpha1.ResponseFile{{Path: "a", Content: new("x")}}}
	for name, tt := range map[string]struct {
		given, sent v1alpha1.Response
		want        bool
	}{
		"of another account": {v1alpha1.Response{ID: "q", Answer: "yes", Files: []v1alpha1.ResponseFile{{Path: "a", Content: new("x")}}, RespondedBy: "me"}, sent, true},
		"another answer":     {v1alpha1.Response{ID: "q", Answer: "no", Files: sent.Files}, sent, false},
		"another file":       {v1alpha1.Response{ID: "q", Answer: "yes", Files: []v1alpha1.ResponseFile{{Path: "a", Content: new("y")}}}, sent, false},
		"a denied domain":    {v1alpha1.Response{ID: "d", Decision: v1alpha1.DecisionDeny}, v1alpha1.Response{Decision: v1alpha1.DecisionDeny, Digest: "x"}, true},
		"another call":       {v1alpha1.Response{ID: "d", Decision: v1alpha1.DecisionDeny, Digest: "y"}, v1alpha1.Response{Decision: v1alpha1.DecisionDeny, Digest: "x"}, false},
	} {
		if got := asks.Same(&tt.given, &tt.sent); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestLost(t *testing.T) {
	t.Parallel()
	runs := schema.GroupResource{Group: "motorcortex.dev", Resource: "motorruns"}
	for err, want := range map[error]bool{
		errors.New("connection reset"): true, apierrors.NewTimeoutError("slow", 1): true, apierrors.NewInternalError(errors.New("x")): true,
		apierrors.NewConflict(runs, "a", errors.New("x")): false, apierrors.NewForbidden(runs, "a", errors.New("x")): false,
	} {
		if got := asks.Lost(fmt.Errorf("patch: %w", err)); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
}

func TestRights(t *testing.T) {
	t.Parallel()
	for kind, want := range map[v1alpha1.InputKind]string{
		v1alpha1.InputApproval: "approve motorcortex-approver", v1alpha1.InputDomainRequest: "approve motorcortex-approver",
		v1alpha1.InputQuestion: "respond motorcortex-responder", v1alpha1.InputOutcomeUnknown: "respond motorcortex-responder",
		v1alpha1.InputRetry: "respond motorcortex-responder", v1alpha1.InputBudgetExhausted: "approve motorcortex-approver",
	} {
		if got := asks.Verb(kind) + " " + asks.Role(kind); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
