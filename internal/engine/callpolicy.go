// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// callPolicy judges the calls of a run by its spec, its journal, and what people said. The sandbox has no say in it.
type callPolicy struct {
	run     *v1alpha1.MotorRun
	entries *journal.Log
	// now is the API server's clock, observed what of its time counts.
	now      func() time.Time
	observed func() runpolicy.Observed
	known    *secrets
}

// maxReason is the most of the reason of a decision that is recorded, in bytes of JSON.
const maxReason = 2048

// Refuse gives the envelope of a call that the run may not make.
func (p callPolicy) Refuse(c motorloop.Call) *toolapi.Result {
	if message := runpolicy.CommandRefused(p.run, c.Tool, c.Arguments); message != "" {
		return refusal(toolapi.CodeCommandNotAllowed, message)
	}
	return nil
}

// NeedsApproval says whether a person must approve the call.
func (p callPolicy) NeedsApproval(c motorloop.Call) bool {
	return runpolicy.ApprovalReason(p.run, c.Tool, c.Arguments) != ""
}

// Decision gives the request to approve an execution, and what became of it. The times are whole seconds, like every time
// that is written to the API, and never make the wait seem shorter than it was.
func (p callPolicy) Decision(c motorloop.Call, execution string) (motorloop.Approval, bool) {
	now := p.now()
	steps := p.entries.Steps()
	step := &steps[len(steps)-1]
	i := slices.IndexFunc(step.Status.Approvals, func(a v1alpha1.StepApproval) bool { return a.Execution == execution })
	asked := v1alpha1.StepApproval{
		Execution: execution, CallID: c.ID, ArgsDigest: runpolicy.ArgsDigest(c.Tool, c.Arguments), AskedAt: metav1.NewTime(now.Truncate(time.Second)),
	}
	if i >= 0 {
		asked = step.Status.Approvals[i]
	}
	a := motorloop.Approval{Execution: execution, CallID: c.ID, ArgsDigest: asked.ArgsDigest, AskedAt: asked.AskedAt.Time}
	outcome, r := runpolicy.DecideApproval(p.run, step, &asked, p.observed().Shifted(asked.AskedAt.Time, now))
	if outcome == "" {
		return a, false
	}
	a.Reason = runpolicy.CutEncoded(p.known.hide(r.Reason), maxReason)
	a.Outcome, a.By, a.DecidedAt = motorloop.ApprovalOutcome(outcome), r.RespondedBy, now.Add(time.Second-1).Truncate(time.Second)
	return a, true
}

// Key names the effect of a call that must not happen twice.
func (p callPolicy) Key(c motorloop.Call) string {
	return runpolicy.IdempotencyKey(c.Tool, c.Arguments)
}

// Done gives the result of a call whose effect was brought about before.
func (p callPolicy) Done(c motorloop.Call) *toolapi.Result {
	return runpolicy.AlreadyDone(p.run, p.entries.AllSteps(), c.ID, c.Tool, c.Arguments)
}

// Risky reports whether the call may do what cannot be undone.
func (p callPolicy) Risky(c motorloop.Call) bool {
	return runpolicy.IsRisky(p.run, c.Tool, c.Arguments)
}

// unattended says that there is nothing to do for a run that waits for an answer, and how long that stays so by itself: 0
// for as long as nobody answers. The time for an approval ends without one.
func unattended(p *v1alpha1.PendingInput, until func(time.Time) time.Duration) (wait time.Duration, idle bool) {
	if p.Kind != v1alpha1.InputApproval {
		return 0, true
	}
	wait = until(p.ExpiresAt.Time)
	return wait, wait > 0
}

// expired says whether the loop goes on although nobody has answered.
func (e *Engine) expired(p *v1alpha1.PendingInput) bool {
	if p.Kind != v1alpha1.InputApproval {
		return false
	}
	_, idle := unattended(p, e.until)
	return !idle
}

// expiry is how soon a run that this replica holds is to be looked at because nobody may have answered by then, 0 for never.
func (e *Engine) expiry(run *v1alpha1.MotorRun) time.Duration {
	p := run.Status.PendingInput
	if p == nil || p.Kind != v1alpha1.InputApproval || run.Status.Worker != e.Config.Worker || run.Spec.Suspend {
		return 0
	}
	wait, _ := unattended(p, e.until)
	return wait
}
