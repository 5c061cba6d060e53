// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestType(t *testing.T) {
	t.Parallel()
	for e, want := range map[v1alpha1.SignalEvent]string{
		v1alpha1.SignalRunStarted: "dev.motorcortex.run.started", v1alpha1.SignalRunProgress: "dev.motorcortex.run.progress",
		v1alpha1.SignalRunAwaitingInput: "dev.motorcortex.run.awaitinginput", v1alpha1.SignalRunCompleted: "dev.motorcortex.run.completed",
		v1alpha1.SignalRunFailed: "dev.motorcortex.run.failed", v1alpha1.SignalRunCancelled: "dev.motorcortex.run.cancelled",
		v1alpha1.SignalSkillPendingReview:    "dev.motorcortex.skill.pendingreview",
		v1alpha1.SignalSkillAwaitingApproval: "dev.motorcortex.skill.awaitingapproval",
		v1alpha1.SignalSkillApproved:         "dev.motorcortex.skill.approved", v1alpha1.SignalSkillNeedsReapproval: "dev.motorcortex.skill.needsreapproval",
		v1alpha1.SignalSkillRejected: "dev.motorcortex.skill.rejected", v1alpha1.SignalSkillRevoked: "dev.motorcortex.skill.revoked",
	} {
		if got := Type(e); got != want {
			t.Errorf("%s: %q, want %q", e, got, want)
		}
	}
}
