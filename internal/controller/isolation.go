// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

const lostMessage = "A NetworkPolicy of the sandbox was changed or deleted. It is put right, and nothing more runs in the sandbox before its isolation is proved again."

// showIsolation says what the last proof of the sandbox's isolation came to.
func showIsolation(s *scope) {
	sb := s.progress.Sandbox
	switch f := s.progress.Failure; {
	case runpolicy.IsolationLost(s.run, s.progress):
		s.set(v1alpha1.ConditionIsolationVerified, metav1.ConditionFalse, v1alpha1.ReasonIsolationLost, lostMessage)
	case sb != nil && len(sb.Open) > 0:
		s.set(v1alpha1.ConditionIsolationVerified, metav1.ConditionFalse, v1alpha1.ReasonUnenforcedAllowed, fmt.Sprintf(
			"The sandbox is not isolated: it reaches %s. The manager goes on because of --allow-unenforced-isolation.", strings.Join(sb.Open, ", ")))
	case sb != nil:
		s.set(v1alpha1.ConditionIsolationVerified, metav1.ConditionTrue, v1alpha1.ReasonIsolationVerified, fmt.Sprintf(
			"Every forbidden address was blocked %d times in a row, from %d ms after the first try on.", sb.IsolationTries, sb.IsolationMs))
	case f != nil && f.Reason == v1alpha1.ReasonIsolationRefused:
		s.set(v1alpha1.ConditionIsolationVerified, metav1.ConditionFalse, v1alpha1.ReasonIsolationUnverified, f.Message)
	default:
		s.set(v1alpha1.ConditionIsolationVerified, metav1.ConditionUnknown, v1alpha1.ReasonIsolationPending,
			"The sandbox was not tried yet, and nothing that the model asked for has run in it.")
	}
}

// identity names a NetworkPolicy and what it says: the API server counts the changes of its spec. It is "" for none.
func identity(p *networkingv1.NetworkPolicy) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%s/%d", p.UID, p.Generation)
}

// look compares a wall of the sandbox, as it was found, with what this process saw of it last. A wall that somebody
// changed and changed back, or that another run's pass has put right, counts as changed too: it was open in between.
func (st *runState) look(wall, found string) (changed, known bool) {
	last, known := st.walls[wall]
	st.build(wall, found)
	return known && last != found, known
}

// build notes a wall as this process made it.
func (st *runState) build(wall, made string) {
	if st.walls == nil {
		st.walls = map[string]string{}
	}
	st.walls[wall] = made
}

// hasSandbox says whether there is a sandbox that a hole in a wall concerns.
func (s *scope) hasSandbox() bool {
	sb := s.run.Status.Sandbox
	return s.pod != nil && sb != nil && !runpolicy.Replaced(sb) && sb.PodUID == string(s.pod.UID)
}

// noteFall notes that a wall of the sandbox was open, and says whether the pass has to end with that: the wall is put right by the
// next one, when the status says that it was open. A manager that ended in between would leave a whole wall, and nobody would
// know that it was not. The write may fail, too, so it is remembered until the status says so.
func (r *MotorRunReconciler) noteFall(s *scope, fell bool) (first bool) {
	st := r.states.of(s.run)
	st.fell = st.fell || fell
	if !st.fell || s.fell || !s.hasSandbox() {
		return false
	}
	s.fell = true
	s.lose()
	s.wake(s.now)
	return true
}

// lose notes that the sandbox's isolation has to be proved again. Each loss has an instant of its own, or the engine would
// take a loss in the same second as one that it knows of for that one.
func (s *scope) lose() {
	sb := s.run.Status.Sandbox
	at := runpolicy.LostAt(s.progress, s.now)
	if sb.IsolationLostAt != nil && !at.After(sb.IsolationLostAt.Time) {
		at = metav1.NewTime(sb.IsolationLostAt.Add(time.Second))
	}
	sb.IsolationLostAt = &at
	showIsolation(s)
}
