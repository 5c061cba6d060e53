// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// Run is one pass over one run: what was observed, what is to be written, when to come back.
type Run struct {
	Pass

	Before *v1alpha1.MotorRun
	Run    *v1alpha1.MotorRun

	Progress    runpolicy.Progress
	Observed    runpolicy.Observed
	Pod         *corev1.Pod
	PodState    *sandbox.State
	SandboxGone bool
	// Former are the Pods of earlier attempts, which must go.
	Former []*corev1.Pod
	// Orphans is how many steps under the run's name belong to no run.
	Orphans int
	// Bounds are what the namespace allows its runs to reach, see runpolicy.Bounds.
	Bounds []v1alpha1.Domain
	// Classes are the StorageClasses that the namespace allows the workspaces of its runs.
	Classes []string
	// Concluded says that the run goes on, as far as the pass knows: status.pendingInput is up to date.
	Concluded bool
	// Domains are what the run may reach now, LeftOut what it asks for and does not get.
	Domains, LeftOut []v1alpha1.Domain
	// PolicyChanged says that a NetworkPolicy of the sandbox was found changed or deleted.
	PolicyChanged bool
	// Blocked is the condition that keeps the run from going on, for the message.
	Blocked string
	// Stalled says that a person must change something before the run can go on.
	Stalled bool
	// SetAside says that no worker carries the run on.
	SetAside bool
	// Unseen says that the run ends without the last look at its sandbox.
	Unseen bool
	// Message is the status message if no condition says what the run waits for.
	Message string
	// Unlock are called when the pass is over and the status is written.
	Unlock []func()
}

// NewRun begins a pass over a run.
func NewRun(run *v1alpha1.MotorRun, now time.Time) *Run {
	return &Run{Pass: Pass{Now: now}, Before: run.DeepCopy(), Run: run}
}

// Release unlocks what the pass has locked.
func (s *Run) Release() {
	for _, f := range s.Unlock {
		f()
	}
}

// Set sets a condition of the run.
func (s *Run) Set(conditionType string, status metav1.ConditionStatus, reason, message string) {
	s.SetCondition(&s.Run.Status.Conditions, s.Run.Generation, conditionType, status, reason, message)
}

// Block sets a condition False and notes it as what the run waits for.
func (s *Run) Block(conditionType, reason, message string, stalled bool) {
	s.Set(conditionType, metav1.ConditionFalse, reason, message)
	s.Blocked, s.Stalled = conditionType, stalled
}

// Pause returns how soon the pass looks again at what no watch reports. It grows with the run's age, so that thousands of runs that
// wait for a person do not keep the API server busy, and ends where a person would think that nothing happens.
func (s *Run) Pause() time.Duration {
	return min(max(s.Now.Sub(s.Run.CreationTimestamp.Time)/10, MinPause), MaxPause)
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
