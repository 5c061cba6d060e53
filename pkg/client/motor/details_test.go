// SPDX-License-Identifier: Apache-2.0

package motor

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestSummarize(t *testing.T) {
	t.Parallel()
	run := aRun("a", asking(asked...))
	run.Spec.Task, run.Status.Phase, run.Status.StartTime = strings.Repeat("t", 5000), "", &metav1.Time{Time: metav1.Unix(1, 0).Time}
	s := Summarize(run)
	if s.Status != v1alpha1.PhaseCreated || len(s.Task) > maxTask || s.WaitsFor != v1alpha1.InputQuestion || s.StartedAt == nil || s.CompletedAt != nil {
		t.Errorf("%+v", s)
	}
}

// A person must see all of a call that they approve, with nothing that hides.
func TestTheCallOfAnAskIsShownWhole(t *testing.T) {
	t.Parallel()
	long := `{"command":"git push ` + strings.Repeat("-q ", 2000) + "\u202e#THE-END\"}"
	ask := v1alpha1.PendingInput{
		ID: "p", Kind: v1alpha1.InputApproval, StepName: "step", Action: &v1alpha1.PendingAction{Tool: "bash", Arguments: long[:3500] + "…", ArgsDigest: argsDigest("bash", long)},
	}
	step := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{Name: "step", Namespace: "ns"},
		Spec:       v1alpha1.MotorStepSpec{ToolCalls: []v1alpha1.ToolCall{{ID: "c", Arguments: long}}},
		Status:     v1alpha1.MotorStepStatus{Asks: []v1alpha1.StepAsk{{ID: "p", CallID: "c"}}},
	}
	d, err := newRig(t, aRun("a", asking(ask)), step).Describe(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if a := d.Asks[0].Action; a.Shortened || !strings.HasSuffix(a.Arguments, `\u202e#THE-END"}`) {
		t.Errorf("shortened: %t, %s", a.Shortened, a.Arguments[len(a.Arguments)-40:])
	}
	if d, err = newRig(t, aRun("a", asking(ask))).Describe(t.Context(), "a"); err != nil || !d.Asks[0].Action.Shortened {
		t.Errorf("without the step it is not said that the call is shortened: %+v, %v", d, err)
	}
	ask.Action.Arguments = `{"command":"ls"}`
	if d, err = newRig(t, aRun("a", asking(ask))).Describe(t.Context(), "a"); err != nil || !d.Asks[0].Action.Shortened {
		t.Errorf("it is not said that the call is not that of the digest: %+v, %v", d, err)
	}
	ask.Action.ArgsDigest = argsDigest("bash", ask.Action.Arguments)
	r := newRig(t, aRun("a", asking(ask)))
	if d, err = r.Describe(t.Context(), "a"); err != nil || d.Asks[0].Action.Shortened || len(r.motor.Actions()) != 1 {
		t.Errorf("%+v, %v, %d requests", d, err, len(r.motor.Actions()))
	}
}

// A person decides about a run by whom it is for, and by what it has.
func TestDescribeSaysWhatTheRunHas(t *testing.T) {
	t.Parallel()
	ask := v1alpha1.PendingInput{ID: "p", Kind: v1alpha1.InputApproval, Action: &v1alpha1.PendingAction{Tool: "bash", Arguments: "{}", Check: true}}
	run := aRun("a", asking(ask))
	run.Spec.Requester = &v1alpha1.Requester{Username: "dana"}
	run.Status.Egress = &v1alpha1.EgressStatus{Domains: []v1alpha1.Domain{"example.org"}, Credentials: []string{"token"}}
	d, err := newRig(t, run).Describe(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if !d.Asks[0].Action.Check || d.Requester != "dana" || !slices.Equal(d.Domains, run.Status.Egress.Domains) || !slices.Equal(d.Credentials, run.Status.Egress.Credentials) {
		t.Errorf("%+v", d)
	}
}

// A value that is no JSON must not make the whole result unreadable.
func TestDescribeAValueThatIsNoJSON(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{`{"a":1}`: `{"a":1}`, "{": "", "": ""} {
		run := aRun("a", ended(true))
		run.Status.Result.Value = value
		d, err := newRig(t, run).Describe(t.Context(), "a")
		if err != nil || string(d.Result.Value) != want {
			t.Errorf("%s: %s, %v", value, d.Result.Value, err)
		}
		if _, err := json.Marshal(d); err != nil {
			t.Error(err)
		}
	}
}
