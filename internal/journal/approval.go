// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// approvals is what is recorded, with what the turn has beyond that: further requests, and outcomes of those that have none.
// Another loop may have asked for the same, or decided about it; what was recorded first counts.
func approvals(recorded []v1alpha1.StepApproval, found []motorloop.Approval) []v1alpha1.StepApproval {
	all := slices.Clone(recorded)
	for _, a := range found {
		i := slices.IndexFunc(all, func(r v1alpha1.StepApproval) bool { return r.Execution == a.Execution })
		if i < 0 {
			i = len(all)
			all = append(all, v1alpha1.StepApproval{
				Execution: a.Execution, CallID: a.CallID, ArgsDigest: a.ArgsDigest, AskedAt: metav1.NewTime(a.AskedAt),
			})
		}
		if r := &all[i]; r.Outcome == "" && a.Outcome != "" {
			r.Outcome, r.By, r.Reason, r.DecidedAt = v1alpha1.ApprovalOutcome(a.Outcome), a.By, a.Reason, metav1.NewTime(a.DecidedAt)
		}
	}
	return all
}

// approvalTime is how long the request to approve the first execution of a call was open. What a person was asked about
// the call after that is in waited.
func approvalTime(all []v1alpha1.StepApproval, callID string) time.Duration {
	for _, a := range all {
		if a.Execution == callID && a.Outcome != "" {
			return max(0, a.DecidedAt.Sub(a.AskedAt.Time))
		}
	}
	return 0
}
