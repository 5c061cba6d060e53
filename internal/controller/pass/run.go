// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// Run is one pass over one run: the observations, the status to write, and the time of its return.
type Run struct {
	Pass

	Before *v1alpha1.MotorRun
	Run    *v1alpha1.MotorRun

	Progress    runpolicy.Progress
	Observed    observed.Time
	Pod         *corev1.Pod
	PodState    *sandbox.State
	SandboxGone bool
	// Former are the Pods of earlier attempts, which must go.
	Former []*corev1.Pod
	// Strays are Pods that were taken from a pool for the current attempt, and are not its sandbox.
	Strays []*corev1.Pod
	// Orphans is the number of steps under the run's name that belong to no run.
	Orphans int
	// Bounds are the domains that the namespace allows its runs to reach, see runpolicy.Bounds.
	Bounds []v1alpha1.Domain
	// Classes are the StorageClasses that the namespace allows the workspaces of its runs.
	Classes []string
	// Pools are the pools that the namespace's sandboxes come from.
	Pools []string
	// Decision is whether the run or its attempt is over.
	Decision runpolicy.Decision
	// Concluded is true if the run goes on, as far as the pass knows: status.pendingInputs is up to date.
	Concluded bool
	// Domains are the domains that the run may reach now, LeftOut those that it asks for and does not get.
	Domains, LeftOut []v1alpha1.Domain
	// PolicyChanged is true if a NetworkPolicy of the sandbox was found changed or deleted.
	PolicyChanged bool
	// Blocked is the condition that prevents the run from going on, for the message.
	Blocked string
	// Stalled is true if a person must change something before the run can go on.
	Stalled bool
	// SetAside is true if no worker carries the run on.
	SetAside bool
	// Unseen is true if the run ends without the last look at its sandbox.
	Unseen bool
	// EndsIn is how long a status that only shows something must wait, because the end of the run is about to be written.
	EndsIn time.Duration
	// Message is the status message if no condition shows what the run waits for.
	Message string
}

// NewRun begins a pass over a run.
func NewRun(run *v1alpha1.MotorRun, now time.Time) *Run {
	return &Run{Pass: Pass{Now: now}, Before: run.DeepCopy(), Run: run}
}

// Set sets a condition of the run.
func (s *Run) Set(conditionType string, status metav1.ConditionStatus, reason, message string) {
	s.SetCondition(&s.Run.Status.Conditions, s.Run.Generation, conditionType, status, reason, message)
}

// Block sets a condition False and records it as the one that the run waits for.
func (s *Run) Block(conditionType, reason, message string, stalled bool) {
	s.Set(conditionType, metav1.ConditionFalse, reason, message)
	s.Blocked, s.Stalled = conditionType, stalled
}

// Pause returns how soon the pass checks again any state that no watch reports. It grows with the run's age, so that thousands of runs that wait
// for a person do not keep the API server busy. It is bounded, because a person would think that nothing happens.
func (s *Run) Pause() time.Duration {
	return min(max(s.Now.Sub(s.Run.CreationTimestamp.Time)/10, MinPause), MaxPause)
}

// Age returns how old an answer of the API server may be that is shared among runs. A run that was never looked at takes none: its creator may have made just
// now what it needs. One that waits for such an object looks again after a pause, and an answer may be half as old as that pause.
func (s *Run) Age() time.Duration {
	if apimeta.FindStatusCondition(s.Before.Status.Conditions, v1alpha1.ConditionAccepted) == nil {
		return 0
	}
	return s.Pause() / 2
}

// Changed reports whether there is a status to write.
func (s *Run) Changed() bool {
	return !equality.Semantic.DeepEqual(s.Before.Status, s.Run.Status)
}

// HasSandbox reports whether the run has the sandbox that its status names.
func (s *Run) HasSandbox() bool {
	sb := s.Run.Status.Sandbox
	return s.Pod != nil && sb != nil && !runpolicy.Replaced(sb) && sb.PodUID == string(s.Pod.UID)
}
