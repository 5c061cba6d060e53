// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// isProof reports whether a step shows a test of what the run's present sandbox can reach.
func isProof(run *v1alpha1.MotorRun, b *v1alpha1.StepSandbox) bool {
	if b == nil || b.IsolationTries == 0 && len(b.Open) == 0 {
		return false
	}
	present := run.Status.Sandbox
	return present == nil || !Replaced(present) && present.PodUID == b.PodUID
}

// IsolationLost reports whether a NetworkPolicy of the run's sandbox was found changed or gone, and its isolation was not
// proved again since. Controller and engine both ask here.
func IsolationLost(run *v1alpha1.MotorRun, p Progress) bool {
	sb := run.Status.Sandbox
	if sb == nil || sb.IsolationLossTime == nil {
		return false
	}
	return p.Sandbox == nil || p.Sandbox.ProofTime == nil || !p.Sandbox.ProofTime.After(sb.IsolationLossTime.Time)
}

// LostAt returns the value of status.sandbox.isolationLossTime for a loss that was found now. It is never before a proof in the journal: the clocks
// of two replicas differ, and the proof must not seem to be the later one.
func LostAt(p Progress, now time.Time) metav1.Time {
	at := now.Truncate(time.Second)
	if p.Sandbox != nil && p.Sandbox.ProofTime != nil && p.Sandbox.ProofTime.After(at) {
		at = p.Sandbox.ProofTime.Time
	}
	return metav1.NewTime(at)
}

// ProvedAt returns the time that a step records for a proof that began at the given time, by a loop that was started with this run. It is after the
// loss that the run knows of, because the proof was, whatever the clocks of two replicas show. A proof counts from its beginning: a wall that fell
// while it was under way may have fallen after it was tried.
func ProvedAt(run *v1alpha1.MotorRun, began time.Time) metav1.Time {
	at := began.Truncate(time.Second)
	if sb := run.Status.Sandbox; sb != nil && sb.IsolationLossTime != nil && !at.After(sb.IsolationLossTime.Time) {
		at = sb.IsolationLossTime.Add(time.Second)
	}
	return metav1.NewTime(at)
}
