// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const gitPush = `{"command":"git push origin main"}`

// needsApproval is a run in which git push is approved by a person.
func needsApproval(run *v1alpha1.MotorRun) {
	run.Spec.Approval = &v1alpha1.RunApproval{Bash: &v1alpha1.BashApproval{Commands: []v1alpha1.CommandPattern{"git push *"}}}
}

// asksApproval has the loop ask for leave to make a call of the last turn, and gives the question.
func (r *rig) asksApproval(call int) *v1alpha1.PendingInput {
	r.t.Helper()
	r.asks(v1alpha1.InputApproval, call)
	r.step()
	p := r.run().Status.Pending()
	if p == nil {
		r.t.Fatal("nothing is to be approved")
	}
	return p
}

// decided has the loop find out what became of the last request, and gives the call a result.
func (r *rig) decided(outcome turn.AskOutcome, by string, res *toolapi.Result) {
	r.t.Helper()
	r.closed(outcome, by, res)
	r.step()
}

func (r *rig) decides(p *v1alpha1.PendingInput, d v1alpha1.Decision) {
	r.t.Helper()
	must(r.t, add(r.ctx, admin, r.run(), "responses", decision(p.ID, d, p.Action.ArgsDigest)))
}

func TestApprovalIsAskedAndUsed(t *testing.T) {
	r := newRig(t, needsApproval)
	r.ready()
	r.said(turnAt(1, "", "bash:"+gitPush, `ask_user:{"question":"Which?"}`))
	r.step()
	// The loop has not asked yet: it may have a result for the call by itself.
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False NothingAsked")
	p := r.asksApproval(0)
	r.want(v1alpha1.PhaseAwaitingApproval, "AwaitingInput True Approval", "ResponsesValid True AllAsked", "Finished False Running")
	asked := metav1.NewTime(r.now.Truncate(time.Second))
	want := &v1alpha1.PendingInput{
		ID: p.ID, Kind: v1alpha1.InputApproval, Title: "Approve bash: git push origin main?", Question: p.Question,
		Action: &v1alpha1.PendingAction{
			Tool: "bash", Arguments: gitPush, ArgsDigest: calls.ArgsDigest("bash", gitPush), Reason: `spec.approval.bash.commands "git push *": git push origin main`,
			Rule: `spec.approval.bash.commands "git push *"`,
		},
		Options: []string{"ApproveOnce", "ApproveRun", "Deny"}, StepName: "run-a01-s0001", AskTime: asked, ExpirationTime: metav1.NewTime(asked.Add(900 * time.Second)),
		OnTimeout: v1alpha1.OnTimeoutDeny,
	}
	if diff := cmp.Diff(want, p); diff != "" || !strings.HasPrefix(p.ID, "a1-s1-c0-approval-") {
		t.Errorf("%s (-want +got):\n%s", p.ID, diff)
	}
	if m := r.run().Status.Message; !strings.HasPrefix(m, "Waiting for approval: The model wants to make the call bash "+gitPush) {
		t.Errorf("message %q", m)
	}

	r.now = r.now.Add(100 * time.Second)
	r.decides(p, v1alpha1.DecisionApproveOnce)
	r.step()
	// It is shown until the loop has put it to use.
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False Answered", "ResponsesValid True AllAsked")
	if p := r.run().Status.Pending(); p == nil || !p.Answered {
		t.Errorf("shown is %+v", p)
	}
	r.now = r.now.Add(100 * time.Second)
	r.closed(turn.AskApproved, "anna@example.org", okResult("pushed", 2000))
	r.asks(v1alpha1.InputQuestion, 1)
	r.step()
	r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True Question", "ResponsesValid True AllAsked")
	wantEvents := []string{"Normal ApprovalRequested", "Normal Question", "Normal Approved"}
	if diff := cmp.Diff(wantEvents, r.events[2:]); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if note := r.notes[len(r.notes)-1]; !strings.Contains(note, "by anna@example.org") || !strings.Contains(note, gitPush) || !strings.Contains(note, p.Action.ArgsDigest) {
		t.Errorf("note %q", note)
	}
	respond(r.ctx, t, r.run(), r.run().Status.Pending().ID, "this")
	r.step()
	r.used("this")
	r.said(turnAt(2, "done"))
	r.step()
	run := r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	if s := run.Status.Result.Stats; s.WaitingMilliseconds < 200_000 || s.ToolMilliseconds != 2000 {
		t.Errorf("stats %+v", s)
	}
}

// Nobody's decision does not end the run: its loop goes on, however much later.
func TestApprovalExpires(t *testing.T) {
	r := newRig(t, needsApproval, func(run *v1alpha1.MotorRun) { run.Spec.Limits.ActiveDeadlineSeconds = 60 })
	r.ready()
	r.said(turnAt(1, "", "bash:"+gitPush, "bash:"+gitPush))
	p := r.asksApproval(0)
	r.now = p.ExpirationTime.Add(time.Second)
	r.step()
	r.want(v1alpha1.PhaseAwaitingApproval, "Finished False Running")
	r.now = r.now.Add(30 * time.Second)
	r.decided(turn.AskExpired, "", &toolapi.Result{ErrorCode: toolapi.CodeApprovalExpired, Provenance: toolapi.ProvenanceInternal})
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False Answered", "Finished False Running")
	if diff := cmp.Diff([]string{"Normal ApprovalRequested", "Warning Expired"}, r.events[2:]); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if m := r.run().Status.Conditions; !slices.ContainsFunc(m, func(c metav1.Condition) bool { return strings.Contains(c.Message, "or its time was over") }) {
		t.Errorf("conditions %+v", m)
	}
	// A request right after another one is told of, too.
	next := r.asksApproval(1)
	if next.ID == p.ID || r.events[len(r.events)-1] != "Normal ApprovalRequested" {
		t.Errorf("asks %s, events %v", next.ID, r.events)
	}
}

// A response about another call than the one that waits, which can only have come before that was shown, counts for nothing.
func TestApprovalOfSomethingElse(t *testing.T) {
	r := newRig(t, needsApproval)
	r.ready()
	r.said(turnAt(1, "", "bash:"+gitPush))
	step := r.log().Steps()[0]
	must(t, add(r.ctx, admin, r.run(), "responses", decision(calls.AskID(&step, v1alpha1.InputApproval, "a1-s1-c0"), v1alpha1.DecisionApproveOnce, otherDigest)))
	r.step()
	r.want(v1alpha1.PhaseRunning, "ResponsesValid False UnknownQuestion")
	p := r.asksApproval(0)
	r.want(v1alpha1.PhaseAwaitingApproval, "AwaitingInput True Approval", "ResponsesValid False UnknownQuestion")
	if runpolicy.Answered(r.run(), p) {
		t.Error("it counts")
	}
}

// The time for a decision goes on while the run is suspended, and the loop finds out about it when the run goes on.
func TestApprovalWhileSuspended(t *testing.T) {
	r := newRig(t, needsApproval)
	r.ready()
	r.said(turnAt(1, "", "bash:"+gitPush))
	p := r.asksApproval(0)
	r.patchSpec(`{"suspend":true}`)
	r.step()
	r.want(v1alpha1.PhaseAwaitingApproval, "Suspended True Suspended", "AwaitingInput True Approval")
	r.now = p.ExpirationTime.Add(24 * time.Hour)
	r.step()
	r.want(v1alpha1.PhaseAwaitingApproval, "Finished False Running")
	r.patchSpec(`{"suspend":false}`)
	r.step()
	r.want(v1alpha1.PhaseAwaitingApproval, "Finished False Running", "Suspended False Resumed")
	r.now = r.now.Add(time.Second)
	r.decided(turn.AskExpired, "", &toolapi.Result{ErrorCode: toolapi.CodeApprovalExpired, Provenance: toolapi.ProvenanceInternal})
	r.want(v1alpha1.PhaseRunning, "Finished False Running")
	if st := r.run().Status; st.Paused.DurationSeconds != 0 {
		t.Errorf("the time of a person was counted twice: %+v", st.Paused)
	}
	r.now = r.now.Add(590 * time.Second)
	r.step()
	r.want(v1alpha1.PhaseRunning, "Finished False Running")
	r.now = r.now.Add(15 * time.Second)
	r.step()
	r.wantEnd(v1alpha1.PhaseFailed, "Timeout")
}

// A sandbox that is lost while a person is asked has done nothing of what they were asked about.
func TestSandboxLostWhileApprovalIsOpen(t *testing.T) {
	r := newRig(t, needsApproval)
	r.ready()
	r.said(turnAt(1, "", "bash:"+gitPush, "bash:{}"))
	r.asksApproval(0)
	must(t, admin.Delete(r.ctx, r.pod()))
	r.settle()
	r.wantAttempts("First SandboxLost", "Infrastructure")
	run := r.run()
	if p := run.Status.Pending(); p != nil {
		t.Errorf("pending %+v", p)
	}
	if c := attemptAt(t, run, 2).RecoveryContext; strings.Contains(c, "git push") {
		t.Errorf("the next attempt is told of a call that was not made:\n%s", c)
	}
}
