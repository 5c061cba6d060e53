// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/attempt"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// gated is a call that needs approval in a run with gates, with a side effect.
const gated = `{"command":"echo effect >> effects"}`

// shortApproval is how many seconds there are to approve a call where that is to expire: what a test looks at before must have
// been seen by then.
const shortApproval = 15

// gates have every echo approved.
func gates(run *v1alpha1.MotorRun) {
	run.Spec.Tools = append(run.Spec.Tools, "request_approval")
	run.Spec.Approval = &v1alpha1.RunApproval{Bash: &v1alpha1.BashApproval{Commands: []v1alpha1.CommandPattern{"echo *"}}}
}

// decideCall decides about the call that the run asks about.
func (r *engineRig) decideCall(p *v1alpha1.PendingInput, d v1alpha1.Decision) {
	r.t.Helper()
	must(r.t, add(r.ctx, admin, r.run, "responses", decision(p.ID, d, p.Action.ArgsDigest)))
}

// pendingApproval waits until the run asks for approval of a call, and shows it.
func (r *engineRig) pendingApproval(call string) *v1alpha1.PendingInput {
	r.t.Helper()
	p := r.pending()
	if p.Kind != v1alpha1.InputApproval || !strings.HasPrefix(p.ID, call+"-approval-") {
		r.t.Fatalf("it asks %+v", p)
	}
	return p
}

func TestEngineMakesNoCallWithoutApproval(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		decision v1alpha1.Decision
		outcome  v1alpha1.AskOutcome
		code     string
		effects  string
	}{
		"approved": {v1alpha1.DecisionApproveOnce, v1alpha1.AskApproved, "", "effect\n"},
		"denied":   {v1alpha1.DecisionDeny, v1alpha1.AskDenied, toolapi.CodeApprovalDenied, ""},
		"expired":  {"", v1alpha1.AskExpired, toolapi.CodeApprovalExpired, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{
				says("", call("bash", `{"command":"touch before"}`), call("bash", gated), call("bash", `{"command":"touch after"}`)), says("done"),
			}}, gates, func(run *v1alpha1.MotorRun) {
				if tt.decision == "" {
					run.Spec.Limits.ApprovalDeadlineSeconds = shortApproval
				}
			})
			r.startEngine("worker-1", nil)
			p := r.pendingApproval("a1-s1-c1")
			if _, err := os.Stat(filepath.Join(r.workspace, "after")); err == nil || r.effects() != "" {
				t.Errorf("the calls did not wait; the side effects are %q", r.effects())
			}
			if p.Action.Tool != "bash" || p.Action.Arguments != gated || p.Action.ArgsDigest != calls.ArgsDigest("bash", gated) || !strings.Contains(p.Action.Reason, "echo *") {
				t.Errorf("the action is %+v", p.Action)
			}
			if tt.decision != "" {
				// Neither is about this call.
				wantRefused(t, add(r.ctx, admin, r.run, "responses", decision(p.ID, tt.decision, otherDigest)), "argsDigest")
				must(t, add(r.ctx, admin, r.run, "responses", decision("a1-s1-c1-approval-00000000", v1alpha1.DecisionApproveOnce, p.Action.ArgsDigest)))
				never(r, 500*time.Millisecond, func(s []v1alpha1.MotorStep) bool { return askIn(t, s, 0).Outcome != "" })
				must(t, add(r.ctx, admin, r.run, "responses", withReason(decision(p.ID, tt.decision, p.Action.ArgsDigest), "it is Friday")))
			}
			// Of what expires nobody tells the engine: it has to wake by itself.
			st := r.ended(1)[0].Status
			if res := resultIn(t, st.Results, 1); res.OK != (tt.code == "") || res.ErrorCode != tt.code {
				t.Errorf("the result is %+v", res)
			}
			if _, err := os.Stat(filepath.Join(r.workspace, "after")); err != nil || r.effects() != tt.effects {
				t.Errorf("the side effects are %q", r.effects())
			}
			by := map[bool]string{true: "", false: "kubernetes-admin"}[tt.decision == ""]
			a := st.Asks
			if len(a) != 1 || a[0].Outcome != tt.outcome || a[0].Digest != p.Action.ArgsDigest || (a[0].By == "") != (by == "") || a[0].CloseTime.Before(&a[0].AskTime) {
				t.Errorf("recorded %+v", a)
			}
			if want := map[bool]string{true: "", false: "it is Friday"}[tt.decision == ""]; a[0].Reason != want {
				t.Errorf("the recorded reason is %q", a[0].Reason)
			}
			res := resultIn(t, st.Results, 1)
			if says := strings.Contains(res.Output, "The person says: it is Friday"); says != (tt.outcome == v1alpha1.AskDenied) || says != (res.Provenance == "User") {
				t.Errorf("the result is %+v", res)
			}
			if asked := r.model.asked.Load(); asked != 2 {
				t.Errorf("the model was asked %d times", asked)
			}
		})
	}
}

// The decision comes while no manager is there, or the next one comes when it is too late.
func TestEngineUsesADecisionWhenItIsBack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		away    time.Duration
		outcome v1alpha1.AskOutcome
		effects string
	}{
		"in time":  {0, v1alpha1.AskApproved, "effect\n"},
		"too late": {901 * time.Second, v1alpha1.AskExpired, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", gated)), says("done")}}, gates)
			stop := r.startEngine("worker-1", nil)
			p := r.pendingApproval("a1-s1-c0")
			stop()
			r.decideCall(p, v1alpha1.DecisionApproveOnce)
			r.skipped.Store(int64(tt.away))
			r.giveTo("worker-2", 2)
			r.startEngine("worker-2", nil)
			if a := r.ended(1)[0].Status.Asks; len(a) != 1 || a[0].Outcome != tt.outcome {
				t.Errorf("recorded %+v", a)
			}
			if r.effects() != tt.effects {
				t.Errorf("the side effects are %q", r.effects())
			}
		})
	}
}

// A replica that takes over a run that waits goes on when the time is over, although it has no loop that knows of it.
func TestEngineTakesAWaitingRunOver(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", gated)), says("done")}}, gates, func(run *v1alpha1.MotorRun) {
		run.Spec.Limits.ApprovalDeadlineSeconds = shortApproval
	})
	stop := r.startEngine("worker-1", nil)
	r.pendingApproval("a1-s1-c0")
	stop()
	r.giveTo("worker-2", 2)
	r.startEngine("worker-2", nil)
	if st := r.ended(1)[0].Status; resultIn(t, st.Results, 0).ErrorCode != toolapi.CodeApprovalExpired || r.effects() != "" {
		t.Errorf("the step's status is %+v, the side effects are %q", st, r.effects())
	}
}

// Nothing happens to a suspended run, whatever is decided. When it goes on, the time counts that has passed.
func TestEngineFindsOutWhatExpiredInASuspension(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", gated)), says("done")}}, gates)
	r.startEngine("worker-1", nil)
	p := r.pendingApproval("a1-s1-c0")
	must(t, mergePatch(r.ctx, r.run.DeepCopy(), `{"spec":{"suspend":true}}`))
	r.decideCall(p, v1alpha1.DecisionApproveOnce)
	r.skipped.Store(int64(901 * time.Second))
	never(r, 500*time.Millisecond, func(s []v1alpha1.MotorStep) bool { return askIn(t, s, 0).Outcome != "" })
	must(t, mergePatch(r.ctx, r.run.DeepCopy(), `{"spec":{"suspend":false}}`))
	if a := askIn(t, r.ended(1), 0); a.Outcome != v1alpha1.AskExpired || r.effects() != "" {
		t.Errorf("recorded %+v, the side effects are %q", a, r.effects())
	}
}

// Wherever the holder of a run is killed, the call is made once, and not before it was approved.
func TestEngineKilledAroundAnApproval(t *testing.T) {
	t.Parallel()
	for _, d := range []v1alpha1.Decision{v1alpha1.DecisionApproveOnce, v1alpha1.DecisionDeny} {
		for _, point := range []attempt.FaultPoint{attempt.AfterIntent, attempt.AfterSettle} {
			t.Run(fmt.Sprintf("%s, %s before it is asked", d, point), func(t *testing.T) {
				r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", gated)), says("done")}}, gates)
				r.await(r.startDoomed("worker-1", point, 1))
				r.giveTo("worker-2", 2)
				r.startEngine("worker-2", nil)
				r.wantDecided(d)
			})
		}
		for _, point := range []attempt.FaultPoint{attempt.AfterSettle, attempt.AfterDispatch, attempt.AfterResult} {
			if d == v1alpha1.DecisionDeny && point != attempt.AfterSettle {
				continue // Nothing is made.
			}
			t.Run(fmt.Sprintf("%s, %s after it is decided", d, point), func(t *testing.T) {
				r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", gated)), says("done")}}, gates)
				stop := r.startEngine("worker-1", nil)
				p := r.pendingApproval("a1-s1-c0")
				stop()
				r.decideCall(p, d)
				r.giveTo("worker-2", 2)
				r.await(r.startDoomed("worker-2", point, 1))
				r.giveTo("worker-3", 3)
				r.startEngine("worker-3", nil)
				r.wantDecision(d)
			})
		}
	}
}

// wantDecided decides about the call when it is asked.
func (r *engineRig) wantDecided(d v1alpha1.Decision) {
	r.t.Helper()
	r.decideCall(r.pendingApproval("a1-s1-c0"), d)
	r.wantDecision(d)
}

func (r *engineRig) wantDecision(d v1alpha1.Decision) {
	r.t.Helper()
	outcome, effects := v1alpha1.AskApproved, "effect\n"
	if d == v1alpha1.DecisionDeny {
		outcome, effects = v1alpha1.AskDenied, ""
	}
	st := r.ended(1)[0].Status
	if len(st.Asks) != 1 || st.Asks[0].Outcome != outcome || resultIn(r.t, st.Results, 0).OK != (d == v1alpha1.DecisionApproveOnce) || r.effects() != effects {
		r.t.Errorf("the step's status is %+v, the side effects are %q", st, r.effects())
	}
}

// An approval is used once: of a call that is to be made again, and of the same call in a later turn, it says nothing.
func TestEngineAsksAgain(t *testing.T) {
	t.Parallel()
	t.Run("for what is made again", func(t *testing.T) {
		r := newEngineRig(t, &stubModel{answers: []chat.Answer{says("", call("bash", slowSideEffect)), says("done")}}, gates)
		r.startEngine("worker-1", nil)
		r.decideCall(r.pendingApproval("a1-s1-c0"), v1alpha1.DecisionApproveOnce)
		r.crashSandbox()
		lost := r.pending()
		for lost.Kind == v1alpha1.InputApproval {
			lost = r.pending()
		}
		decideUnknown(r.ctx, t, r.run, lost.ID, v1alpha1.DecisionRetry)
		r.steps(func(s []v1alpha1.MotorStep) bool { return len(s[0].Status.Asks) == 3 })
		r.decideCall(r.pendingApproval("a1-s1-c0-r1"), v1alpha1.DecisionDeny)
		st := r.ended(1)[0].Status
		if resultIn(t, st.Results, 0).ErrorCode != toolapi.CodeSkipped || r.effects() != "effect\n" || len(st.Asks) != 3 {
			t.Errorf("the step's status is %+v, the side effects are %q", st, r.effects())
		}
	})
	t.Run("for other arguments", func(t *testing.T) {
		r := newEngineRig(t, &stubModel{answers: []chat.Answer{
			says("", call("bash", gated)), says("", call("bash", `{"command":"echo another >> effects"}`)), says("done"),
		}}, gates)
		r.startEngine("worker-1", nil)
		first := r.pendingApproval("a1-s1-c0")
		r.decideCall(first, v1alpha1.DecisionApproveOnce)
		r.steps(func(s []v1alpha1.MotorStep) bool { return len(s) > 1 && len(s[1].Status.Asks) == 1 })
		second := r.pendingApproval("a1-s2-c0")
		wantRefused(t, add(r.ctx, admin, r.run, "responses", decision(second.ID, v1alpha1.DecisionApproveOnce, first.Action.ArgsDigest)), "argsDigest")
		r.decideCall(second, v1alpha1.DecisionDeny)
		if st := r.ended(2)[1].Status; resultIn(t, st.Results, 0).ErrorCode != toolapi.CodeApprovalDenied || r.effects() != "effect\n" {
			t.Errorf("the step's status is %+v, the side effects are %q", st, r.effects())
		}
	})
}

// The model's own doubt is decided in its place: what comes after it waits.
func TestEngineAsksForTheModel(t *testing.T) {
	t.Parallel()
	for d, code := range map[v1alpha1.Decision]string{v1alpha1.DecisionApproveOnce: "", v1alpha1.DecisionDeny: toolapi.CodeApprovalDenied} {
		t.Run(string(d), func(t *testing.T) {
			r := newEngineRig(t, &stubModel{answers: []chat.Answer{
				says("", call("request_approval", `{"action":"Delete it all?","reason":"the task does not say"}`), call("ask_user", `{"question":"Which?"}`),
					call("bash", `{"command":"touch after"}`)), says("done"),
			}}, gates)
			r.startEngine("worker-1", nil)
			p := r.pendingApproval("a1-s1-c0")
			if p.Title != "Approve Delete it all?" || p.Action.Reason != "the model is in doubt: the task does not say" {
				t.Errorf("it asks %+v", p)
			}
			if _, err := os.Stat(filepath.Join(r.workspace, "after")); err == nil {
				t.Error("the call after it did not wait")
			}
			r.decideCall(p, d)
			r.steps(func(s []v1alpha1.MotorStep) bool { return len(s[0].Status.Results) == 2 })
			respond(r.ctx, t, r.run, r.pending().ID, "this")
			st := r.ended(1)[0].Status
			if resultIn(t, st.Results, 0).OK != (code == "") || resultIn(t, st.Results, 0).ErrorCode != code || !resultIn(t, st.Results, 2).OK {
				t.Errorf("the results are %+v", st.Results)
			}
		})
	}
}

// What the run may not run is told to the model, and nobody is asked.
func TestEngineRefusesCommands(t *testing.T) {
	r := newEngineRig(t, &stubModel{answers: []chat.Answer{
		says("", call("bash", `{"command":"touch a | echo effect >> effects"}`), call("bash", `{"command":"$X effects"}`), call("bash", `{"command":"touch a"}`)), says("done"),
	}}, gates, func(run *v1alpha1.MotorRun) {
		run.Spec.Bash = &v1alpha1.BashRules{AllowedCommands: []v1alpha1.CommandPattern{"touch *"}}
	})
	r.startEngine("worker-1", nil)
	st := r.ended(1)[0].Status
	for i, want := range []string{toolapi.CodeCommandNotAllowed, toolapi.CodeCommandNotAllowed, ""} {
		if res := resultIn(t, st.Results, i); res.ErrorCode != want || res.OK != (want == "") {
			t.Errorf("call %d: %+v", i, res)
		}
	}
	if len(st.Asks) > 0 || r.effects() != "" {
		t.Errorf("asked %+v, the side effects are %q", st.Asks, r.effects())
	}
}

// An effect is brought about once: not again in the next turn, and not in the next attempt, in another sandbox.
func TestEngineDoesNothingTwice(t *testing.T) {
	const once = `{"command":"echo ${IDEMPOTENCY_KEY%%:*} >> effects","idempotencyKey":"the-one"}`
	r := newEngineRig(t, &stubModel{
		answers: []chat.Answer{says("", call("bash", once)), says("", call("bash", once)), says("", call("bash", `{"command":"exit 3"}`))},
		retry:   []chat.Answer{says("", call("bash", once)), says("done")},
	}, func(run *v1alpha1.MotorRun) { run.Spec.Limits.MaxIterations = 3 })
	r.startEngine("worker-1", nil)
	steps := r.ended(2)
	if res := resultAt(t, steps, 1, 0); res.ErrorCode != toolapi.CodeAlreadyDone || !strings.HasPrefix(res.Output, toolapi.AlreadyDoneText("a1-s1-c0")) {
		t.Errorf("the second call: %+v", res)
	}
	r.changeStatus(func(st *v1alpha1.MotorRunStatus) {
		st.Attempts = append(st.Attempts, v1alpha1.AttemptStatus{Index: 2, Cause: v1alpha1.CauseRetry, RecoveryContext: "the attempt before failed"})
	})
	steps = r.steps(func(s []v1alpha1.MotorStep) bool { return journalEnded(s) && s[len(s)-1].Spec.Attempt == 2 })
	for _, s := range steps {
		if s.Spec.Attempt == 2 && s.Spec.Index == 1 && !strings.HasPrefix(resultIn(t, s.Status.Results, 0).Output, toolapi.AlreadyDoneText("a1-s1-c0")) {
			t.Errorf("the call of the next attempt: %+v", resultIn(t, s.Status.Results, 0))
		}
	}
	if got := r.effects(); got != "user\n" {
		t.Errorf("the side effects are %q", got)
	}
}
