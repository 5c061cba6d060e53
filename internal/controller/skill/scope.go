// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/skill"
)

// scope is one pass over one skill: the observations, the status to write, and the time of its return.
type scope struct {
	pass.Pass

	before *v1alpha1.Skill
	skill  *v1alpha1.Skill
	memory *memory

	// revisions are the revisions whose files are all there, the newest first. partial are those that lack some.
	revisions, partial []v1alpha1.SkillRevision
	// source is the state of spec.source, nil if there is none or it cannot be read.
	source *skill.SourceState
	// read is the version of the source when it was read, for the memory. It is "" if it has to be read again.
	read string
	// leftOut are files of the source that are no part of the skill, as they may be shown.
	leftOut []string
	verdict skill.Verdict
	// inUse has the names of the revisions that runs use, if that makes a difference.
	inUse map[string]bool
	// surplus are revisions that are deleted when the status does not name them any more.
	surplus []v1alpha1.SkillRevision
}

func newScope(sk *v1alpha1.Skill, memory *memory, now time.Time) *scope {
	return &scope{Pass: pass.Pass{Now: now}, before: sk.DeepCopy(), skill: sk, memory: memory, read: memory.read}
}

// set sets a condition of the skill.
func (s *scope) set(conditionType string, status metav1.ConditionStatus, reason, message string) {
	s.SetCondition(&s.skill.Status.Conditions, s.skill.Generation, conditionType, status, reason, message)
}

func (s *scope) unset(conditionType string) {
	apimeta.RemoveStatusCondition(&s.skill.Status.Conditions, conditionType)
}

func (s *scope) condition(conditionType string) *metav1.Condition {
	return apimeta.FindStatusCondition(s.skill.Status.Conditions, conditionType)
}

func (s *scope) changed() bool {
	return !equality.Semantic.DeepEqual(s.before.Status, s.skill.Status)
}

// revision returns the usable revision with that content, nil if there is none.
func (s *scope) revision(contentHash string) *v1alpha1.SkillRevision {
	for i := range s.revisions {
		if s.revisions[i].Spec.ContentHash == contentHash {
			return &s.revisions[i]
		}
	}
	return nil
}

// summarize derives from the conditions of the steps those that kstatus reads, and the message.
func (s *scope) summarize() {
	st := &s.skill.Status
	st.ObservedGeneration, st.State, st.Message = s.skill.Generation, s.verdict.State, fit.CutEncoded(s.verdict.Message, pass.MaxMessage)
	if was := &s.before.Status; st.StateTime == nil || st.State != was.State || st.RevisionName != was.RevisionName {
		st.StateTime = new(metav1.NewTime(s.Now.Truncate(time.Second)))
	}
	ready := metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSkillReady, Message: "Runs can use the skill."}
	for _, t := range []string{v1alpha1.ConditionApproved, v1alpha1.ConditionPolicyValid, v1alpha1.ConditionPackagesReady} {
		if c := s.condition(t); c != nil && c.Status != metav1.ConditionTrue {
			ready = *c
			break
		}
	}
	s.set(v1alpha1.ConditionReady, ready.Status, ready.Reason, ready.Message)
	s.abnormal()
}

// abnormal sets Stalled while a person must change something, and Reconciling while it is the operator's turn.
func (s *scope) abnormal() {
	var stalled, reconciling *metav1.Condition
	for _, t := range []string{v1alpha1.ConditionSourceReady, v1alpha1.ConditionPolicyValid, v1alpha1.ConditionReviewed, v1alpha1.ConditionPackagesReady} {
		c := s.condition(t)
		if c == nil || c.Status == metav1.ConditionTrue {
			continue
		}
		switch c.Reason {
		case v1alpha1.ReasonNoSource, v1alpha1.ReasonNoRevision:
			// Runs bring revisions, and no person has to wait for one.
		case v1alpha1.ReasonSourceUnavailable, v1alpha1.ReasonReviewing, v1alpha1.ReasonPackagesInstalling:
			reconciling = cmp.Or(reconciling, c)
		default:
			stalled = cmp.Or(stalled, c)
		}
	}
	if stalled != nil {
		reconciling = nil
	}
	s.mirror(v1alpha1.ConditionStalled, stalled)
	s.mirror(v1alpha1.ConditionReconciling, reconciling)
}

// mirror sets a condition for the reason of another, and removes it if there is none.
func (s *scope) mirror(conditionType string, why *metav1.Condition) {
	if why == nil {
		s.unset(conditionType)
		return
	}
	s.skill.Status.Message = why.Message
	s.set(conditionType, metav1.ConditionTrue, why.Reason, why.Message)
}
