// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A manager of 0.1.0 recorded requests for approval in a list of their own, and other asks not at all. A run that was updated in between retains
// the questions to people and their responses.

// decisionApproveOf010 is the decision of a person in the format of a manager of 0.1.0.
const decisionApproveOf010 v1alpha1.Decision = "Approve"

// AsksOf returns the asks of a step, with the requests for approval that a manager of 0.1.0 recorded.
func AsksOf(s *v1alpha1.MotorStep) []v1alpha1.StepAsk {
	asks := s.Status.Asks
	for _, a := range s.Status.Approvals {
		id := AskID(s, v1alpha1.InputApproval, a.Execution)
		if slices.ContainsFunc(asks, func(b v1alpha1.StepAsk) bool { return b.ID == id }) {
			continue
		}
		asks = append(slices.Clip(asks), v1alpha1.StepAsk{
			ID: id, Kind: v1alpha1.InputApproval, CallID: a.CallID, Execution: a.Execution, Digest: a.ArgsDigest, AskedAt: a.AskedAt,
			OnTimeout: v1alpha1.OnTimeoutDeny, Outcome: v1alpha1.AskOutcome(a.Outcome), By: a.By, Reason: a.Reason, ClosedAt: a.DecidedAt,
		})
	}
	return asks
}

// answeredBefore returns the asks of a step that only the responses of the run show: those which a manager of 0.1.0 did not record. The time that
// people took for them is in the results.
func answeredBefore(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep) []v1alpha1.StepAsk {
	if len(run.Spec.Responses) == 0 {
		return nil
	}
	var asks []v1alpha1.StepAsk
	add := func(kind v1alpha1.InputKind, callID, execution string, domain v1alpha1.Domain) {
		a := v1alpha1.StepAsk{
			ID: AskID(s, kind, execution), Kind: kind, CallID: callID, Execution: execution, Domain: domain,
			AskedAt: s.CreationTimestamp, Outcome: v1alpha1.AskAnswered, ClosedAt: s.CreationTimestamp,
		}
		recorded := slices.ContainsFunc(s.Status.Asks, func(b v1alpha1.StepAsk) bool { return b.ID == a.ID })
		if !recorded && slices.ContainsFunc(run.Spec.Responses, func(r v1alpha1.Response) bool { return r.ID == a.ID }) {
			asks = append(asks, a)
		}
	}
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		r := resultOf(s, c.ID)
		switch {
		case r == nil || !r.OK && r.ErrorCode != toolapi.CodeDomainDenied:
		case c.Tool == toolapi.ToolAskUser:
			add(v1alpha1.InputQuestion, c.ID, c.ID, "")
		case c.Tool == toolapi.ToolRequestDomain:
			if rule, _, err := ParseDomainRequest(c.Arguments); err == nil {
				add(v1alpha1.InputDomainRequest, c.ID, c.ID, v1alpha1.Domain(rule.String()))
			}
		}
	}
	for _, u := range s.Status.Unknown {
		if u.Policy == string(v1alpha1.UnknownAskPerson) {
			add(v1alpha1.InputOutcomeUnknown, u.CallID, u.Execution, "")
		}
	}
	return asks
}

// shownBefore returns the ask that a manager of 0.1.0 shows for the step, nil if there is none, or if it is recorded by now. It does not state what
// happens at the end of its time.
func shownBefore(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep) *v1alpha1.PendingInput {
	p := run.Status.PendingInput
	if p == nil || p.Kind == v1alpha1.InputRetry || p.OnTimeout != "" || p.Step != s.Name ||
		slices.ContainsFunc(s.Status.Asks, func(a v1alpha1.StepAsk) bool { return a.ID == p.ID }) {
		return nil
	}
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		executions := []string{c.ID}
		for _, u := range s.Status.Unknown {
			if u.CallID == c.ID {
				executions = append(executions, u.Execution)
			}
		}
		if resultOf(s, c.ID) == nil && slices.ContainsFunc(executions, func(e string) bool { return AskID(s, p.Kind, e) == p.ID }) {
			return p.DeepCopy()
		}
	}
	return nil
}
