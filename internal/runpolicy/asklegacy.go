// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// asksOf are the asks of a step, with those that a manager of 0.1.0 recorded otherwise: approvals in a list of their own, and of requests for
// domains only the results. A run that was updated in between keeps what people decided.
func asksOf(s *v1alpha1.MotorStep) []v1alpha1.StepAsk {
	asks := s.Status.Asks
	add := func(a v1alpha1.StepAsk) {
		if !slices.ContainsFunc(asks, func(b v1alpha1.StepAsk) bool { return b.ID == a.ID }) {
			asks = append(slices.Clip(asks), a)
		}
	}
	for _, a := range s.Status.Approvals {
		add(v1alpha1.StepAsk{
			ID: AskID(s, v1alpha1.InputApproval, a.Execution), Kind: v1alpha1.InputApproval, CallID: a.CallID, Execution: a.Execution, Digest: a.ArgsDigest,
			AskedAt: a.AskedAt, OnTimeout: v1alpha1.OnTimeoutDeny, Outcome: v1alpha1.AskOutcome(a.Outcome), By: a.By, Reason: a.Reason, ClosedAt: a.DecidedAt,
		})
	}
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		if c.Tool != toolapi.ToolRequestDomain {
			continue
		}
		r := resultOf(s, c.ID)
		rule, _, err := ParseDomainRequest(c.Arguments)
		if err != nil || r == nil || !r.OK && r.ErrorCode != toolapi.CodeDomainDenied {
			continue
		}
		add(v1alpha1.StepAsk{
			ID: AskID(s, v1alpha1.InputDomainRequest, c.ID), Kind: v1alpha1.InputDomainRequest, CallID: c.ID, Execution: c.ID,
			Domain: v1alpha1.Domain(rule.String()), AskedAt: s.CreationTimestamp, Outcome: v1alpha1.AskAnswered, ClosedAt: s.CreationTimestamp,
		})
	}
	return asks
}
