// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// What a person allows once is for one call: the first one after the decision that can use the way out. It ends when that call has its
// result, at the latest with its turn; and it does not count while the run stands still, because nothing but the background could use it.

// OncePending reports whether a person has just allowed the domain that status.pendingInput asks for, once, and the proxy does not let the
// sandbox reach it yet. It will when no program of the run is in the background.
func OncePending(run *v1alpha1.MotorRun) bool {
	return GrantPending(run) && decisionOf(run, run.Status.PendingInput.ID) == v1alpha1.DecisionAllowOnce
}

// usedOnce reports whether a call of a step has run that could use what was allowed before the step.
func usedOnce(s *v1alpha1.MotorStep) bool {
	return slices.ContainsFunc(s.Spec.ToolCalls, func(c v1alpha1.ToolCall) bool {
		if !toolapi.ReachesOut(c.Tool) {
			return false
		}
		r := resultOf(s, c.ID)
		return lastUnknown(s, c.ID) != nil || r != nil && !notMade(r)
	})
}

// notMade says of a result that its call was not made.
func notMade(r *v1alpha1.ToolResult) bool {
	switch r.ErrorCode {
	case toolapi.CodeCommandNotAllowed, toolapi.CodeApprovalDenied, toolapi.CodeApprovalExpired, toolapi.CodeToolNotGranted, toolapi.CodeUnknownTool,
		toolapi.CodeAlreadyDone, toolapi.CodeStillRunning, toolapi.CodeInvalidArguments:
		return true
	}
	return false
}

// standsStill reports whether no call of the run can be made now: it is suspended, or waits for a person.
func standsStill(run *v1alpha1.MotorRun, p Progress) bool {
	return run.Spec.Suspend || p.Pending != nil && !Answered(run, p.Pending)
}

// awake is a run that is not suspended, for what it will have when it goes on.
func awake(run *v1alpha1.MotorRun) *v1alpha1.MotorRun {
	a := *run
	a.Spec.Suspend = false
	return &a
}

// Once says of what a person allowed the run once whether any of it counts now, and whether the proxy knows: before it does, no call may be
// made that could use what does not count any more, or needs what counts again. run.Status.Egress says what the proxy knows.
func Once(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) (counts, known bool) {
	e, granted := effective(run, p, bounds), rulesOf(Granted(run))
	lasting := e.rules[:e.lasting]
	known = true
	for i := range p.DomainRequests {
		q := &p.DomainRequests[i]
		rule, err := allowlist.ParseRule(string(q.Domain))
		if err != nil || q.decision(run) != v1alpha1.DecisionAllowOnce || lasting.Covers(rule) {
			continue
		}
		wanted := e.rules.Covers(rule)
		counts = counts || wanted
		known = known && wanted == granted.Covers(rule)
	}
	return counts, known
}
