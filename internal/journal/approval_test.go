// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// What is recorded stays, and an open request gets an outcome once.
func TestApprovals(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	recorded := func(outcome v1alpha1.ApprovalOutcome) v1alpha1.StepApproval {
		a := v1alpha1.StepApproval{Execution: "c0", CallID: "c0", ArgsDigest: "sha256:0", AskedAt: metav1.NewTime(noon), Outcome: outcome}
		if outcome != "" {
			a.By, a.DecidedAt = "first", metav1.NewTime(noon.Add(time.Second))
		}
		return a
	}
	found := func(outcome motorloop.ApprovalOutcome) motorloop.Approval {
		a := motorloop.Approval{Execution: "c0", CallID: "c0", ArgsDigest: "sha256:0", AskedAt: noon.Add(time.Minute), Outcome: outcome}
		if outcome != "" {
			a.By, a.Reason, a.DecidedAt = "second", "because", noon.Add(2*time.Minute)
		}
		return a
	}
	late := recorded(v1alpha1.ApprovalDenied)
	late.By, late.Reason, late.DecidedAt = "second", "because", metav1.NewTime(noon.Add(2*time.Minute))
	asked := recorded("")
	asked.AskedAt = metav1.NewTime(noon.Add(time.Minute))
	for name, tt := range map[string]struct {
		recorded []v1alpha1.StepApproval
		found    []motorloop.Approval
		want     []v1alpha1.StepApproval
	}{
		"nothing":             {nil, nil, nil},
		"a request":           {nil, []motorloop.Approval{found("")}, []v1alpha1.StepApproval{asked}},
		"is recorded already": {[]v1alpha1.StepApproval{recorded("")}, []motorloop.Approval{found("")}, []v1alpha1.StepApproval{recorded("")}},
		"gets its outcome":    {[]v1alpha1.StepApproval{recorded("")}, []motorloop.Approval{found(motorloop.ApprovalDenied)}, []v1alpha1.StepApproval{late}},
		"has its outcome":     {[]v1alpha1.StepApproval{recorded(v1alpha1.ApprovalExpired)}, []motorloop.Approval{found(motorloop.ApprovalApproved)}, []v1alpha1.StepApproval{recorded(v1alpha1.ApprovalExpired)}},
		"stays":               {[]v1alpha1.StepApproval{recorded(v1alpha1.ApprovalApproved)}, nil, []v1alpha1.StepApproval{recorded(v1alpha1.ApprovalApproved)}},
		"is not taken back":   {[]v1alpha1.StepApproval{recorded(v1alpha1.ApprovalDenied)}, []motorloop.Approval{found("")}, []v1alpha1.StepApproval{recorded(v1alpha1.ApprovalDenied)}},
	} {
		before := append([]v1alpha1.StepApproval(nil), tt.recorded...)
		if diff := cmp.Diff(tt.want, approvals(tt.recorded, tt.found)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, tt.recorded); diff != "" {
			t.Errorf("%s: what was given was changed:\n%s", name, diff)
		}
	}
}
