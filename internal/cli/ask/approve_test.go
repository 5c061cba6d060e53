// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

// A step that says something else than the digest is no call that a person can have seen.
func TestAStepWithAnotherCall(t *testing.T) {
	t.Parallel()
	p := v1alpha1.PendingInput{ID: "a", Kind: v1alpha1.InputApproval, StepName: "run-s1", Action: &v1alpha1.PendingAction{
		Tool: "bash", Arguments: "cut", ArgsDigest: calls.ArgsDigest("bash", `{"command":"ls"}`),
	}}
	r := newRig(t, p)
	step := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{Name: "run-s1", Namespace: "ns"},
		Spec:       v1alpha1.MotorStepSpec{ToolCalls: []v1alpha1.ToolCall{{ID: "c", Tool: "bash", Arguments: `{"command":"rm"}`}}},
		Status:     v1alpha1.MotorStepStatus{Asks: []v1alpha1.StepAsk{{ID: "a", CallID: "c"}}},
	}
	if err := r.Create(t.Context(), step); err != nil {
		t.Fatal(err)
	}
	r.want(verb.ExitFailed, "approve run --yes --digest "+p.Action.ArgsDigest, "has another digest", "nothing was approved")
	if got := r.responses(); got != "" {
		t.Errorf("sent is %q", got)
	}
}

func TestOnlyTheCallCanBeApproved(t *testing.T) {
	t.Parallel()
	r := newRig(t, v1alpha1.PendingInput{ID: "a", Kind: v1alpha1.InputApproval, Action: &v1alpha1.PendingAction{
		Tool: "bash", Arguments: `{"command":"ls"}`, ArgsDigest: calls.ArgsDigest("bash", `{"command":"ls"}`),
	}})
	digest := calls.ArgsDigest("bash", `{"command":"ls"}`)
	r.want(verb.ExitFailed, "approve run --run --yes --digest "+digest, "only this call can be approved")
	// By then it may be another call than the one that the person has seen.
	r.want(verb.ExitMisused, "approve run --yes", "--yes goes with --digest")
	if got := r.responses(); got != "" {
		t.Errorf("sent is %q", got)
	}
	r.want(verb.ExitOK, "approve run --yes --digest "+digest, "argument command:", "| ls")
	if got := r.responses(); got != "a ApproveOnce" {
		t.Errorf("sent is %q", got)
	}
}

// Who may not approve is told so before they copy a digest.
func TestTheRightToApproveIsMissing(t *testing.T) {
	t.Parallel()
	r := newRig(t, call("a", "ls"))
	r.denied["approve"] = true
	for _, line := range []string{"approve run", "approve run --yes"} {
		r.want(verb.ExitFailed, line, "you may not approve calls of run: have the ClusterRole motorcortex-approver bound to you in the namespace ns")
	}
}

// The model chooses how long a call is, and so which part of it the status has.
func TestACallThatCannotBeShownWholeIsNotApproved(t *testing.T) {
	t.Parallel()
	p := v1alpha1.PendingInput{ID: "a", Kind: v1alpha1.InputApproval, StepName: "run-s1", Action: &v1alpha1.PendingAction{
		Tool: "bash", Arguments: "cut", ArgsDigest: calls.ArgsDigest("bash", `{"command":"ls"}`),
	}}
	r := newRig(t, p)
	r.want(verb.ExitFailed, "approve run --yes --digest "+p.Action.ArgsDigest, "nothing was approved", "motorcortex-viewer")
	if got := r.responses(); got != "" {
		t.Errorf("sent is %q", got)
	}
}
