// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// scope is one pass over one run: what was observed, what is to be written, when to come back.
type scope struct {
	pass

	before *v1alpha1.MotorRun
	run    *v1alpha1.MotorRun

	progress    runpolicy.Progress
	observed    runpolicy.Observed
	pod         *corev1.Pod
	podState    *sandbox.State
	sandboxGone bool
	// former are the Pods of earlier attempts, which have to go.
	former []*corev1.Pod
	// orphans is how many steps under the run's name belong to no run.
	orphans int
	// bounds are what the namespace allows its runs to reach, see runpolicy.Bounds.
	bounds []v1alpha1.Domain
	// classes are the StorageClasses that the namespace allows the workspaces of its runs.
	classes []string
	// concluded says that the run goes on, as far as the pass knows: status.pendingInput is up to date.
	concluded bool
	// domains are what the run may reach now, leftOut what it asks for and is not given.
	domains, leftOut []v1alpha1.Domain
	// policyChanged says that a NetworkPolicy of the sandbox was found changed or deleted.
	policyChanged bool
	// blocked is the condition that keeps the run from going on, for the message.
	blocked string
	// stalled says that somebody must change something before the run can go on.
	stalled bool
	// setAside says that no worker carries the run on.
	setAside bool
	// unseen says that the run ends without the last look at its sandbox.
	unseen bool
	// message is the status message if no condition says what the run waits for.
	message string
	// unlock are called when the pass is over and the status is written.
	unlock []func()
}

func newScope(run *v1alpha1.MotorRun, now time.Time) *scope {
	return &scope{pass: pass{now: now}, before: run.DeepCopy(), run: run}
}

// release gives back what the pass holds.
func (s *scope) release() {
	for _, f := range s.unlock {
		f()
	}
}

// set sets a condition of the run.
func (s *scope) set(conditionType string, status metav1.ConditionStatus, reason, message string) {
	s.setCondition(&s.run.Status.Conditions, s.run.Generation, conditionType, status, reason, message)
}

// block sets a condition False and notes it as what the run waits for.
func (s *scope) block(conditionType, reason, message string, stalled bool) {
	s.set(conditionType, metav1.ConditionFalse, reason, message)
	s.blocked, s.stalled = conditionType, stalled
}

// pause is how soon what nobody tells of is looked at again. It grows with the run's age, so that thousands of runs that
// wait for somebody do not keep the API server busy, and ends where a person would think that nothing happens.
func (s *scope) pause() time.Duration {
	return min(max(s.now.Sub(s.run.CreationTimestamp.Time)/10, minPause), maxPause)
}

func (s *scope) changed() bool {
	return !equality.Semantic.DeepEqual(s.before.Status, s.run.Status)
}

// hasSandbox reports whether there is a sandbox that a hole in a wall concerns.
func (s *scope) hasSandbox() bool {
	sb := s.run.Status.Sandbox
	return s.pod != nil && sb != nil && !runpolicy.Replaced(sb) && sb.PodUID == string(s.pod.UID)
}
