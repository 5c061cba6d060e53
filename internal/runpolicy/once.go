// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A domain that a person allows once is for one call: the first one after the decision that can use the way out. The permission ends when that call
// has its result, at the latest with its turn. It does not count while the run stands still, because nothing but the background could use it.

// OncePending reports whether a person has just allowed, once, the domain that status.pendingInputs asks for, and the proxy does not let the sandbox
// reach it yet. The proxy will when no program of the run is in the background.
func OncePending(run *v1alpha1.MotorRun) bool {
	return GrantPending(run) && decisionOf(run, run.Status.Pending().ID) == v1alpha1.DecisionAllowOnce
}

// usedOnce reports whether a call of a step has run that could use a domain allowed before the step.
func usedOnce(s *v1alpha1.MotorStep) bool {
	return slices.ContainsFunc(s.Spec.ToolCalls, func(c v1alpha1.ToolCall) bool {
		if !toolapi.ReachesOut(c.Tool) {
			return false
		}
		r := calls.ResultOf(s, c.ID)
		return calls.LastUnknown(s, c.ID) != nil || r != nil && !notMade(r)
	})
}

// notMade reports whether a result means that its call was not made.
func notMade(r *v1alpha1.ToolResult) bool {
	switch r.ErrorCode {
	case toolapi.CodeCommandNotAllowed, toolapi.CodeApprovalDenied, toolapi.CodeApprovalExpired, toolapi.CodeToolNotGranted, toolapi.CodeUnknownTool,
		toolapi.CodeAlreadyDone, toolapi.CodeStillRunning, toolapi.CodeInvalidArguments, toolapi.CodeTooManyCalls, toolapi.CodeRepeatedCall:
		return true
	}
	return false
}

// standsStill reports whether no call of the run can be made now: it is suspended, or waits for a person.
func standsStill(run *v1alpha1.MotorRun, p Progress) bool {
	return run.Spec.Suspend || p.Pending != nil && !Answered(run, p.Pending)
}

// awake returns the run without its suspension, to determine its domains when it goes on.
func awake(run *v1alpha1.MotorRun) *v1alpha1.MotorRun {
	a := *run
	a.Spec.Suspend = false
	return &a
}

// Once reports whether any domain that a person allowed once counts now, and whether the proxy knows. Before the proxy knows, no call may be made
// that could use a domain which no longer counts, or that needs one which counts again. run.Status.Egress shows what the proxy knows.
func Once(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) (counts, known bool) {
	e, granted := effective(run, p, bounds), reach.RulesOf(reach.Granted(run))
	lasting := e.Rules[:e.Lasting]
	known = true
	for i := range p.DomainRequests {
		q := &p.DomainRequests[i]
		rule, err := allowlist.ParseRule(string(q.Domain))
		if err != nil || q.decision(run) != v1alpha1.DecisionAllowOnce || lasting.Covers(rule) {
			continue
		}
		wanted := e.Rules.Covers(rule)
		counts = counts || wanted
		known = known && wanted == granted.Covers(rule)
	}
	return counts, known
}
