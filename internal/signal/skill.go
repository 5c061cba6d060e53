// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"strconv"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// SkillData is the data of a signal about a skill.
type SkillData struct {
	Kind      string `json:"kind"`
	Skill     string `json:"skill"`
	Namespace string `json:"namespace"`
	UID       string `json:"uid"`
	// Status is pending_review, awaiting_approval, approved, needs_reapproval, rejected or revoked.
	Status string `json:"status"`
	// Reason is that of the condition Approved.
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
	Description string `json:"description,omitempty"`
	Revision    string `json:"revision,omitempty"`
	ContentHash string `json:"contentHash,omitempty"`
	PolicyHash  string `json:"policyHash,omitempty"`
	// RunID is the name of the run that proposed the revision.
	RunID    string `json:"runId,omitempty"`
	Findings int32  `json:"findings,omitempty"`
}

// skillStates are the events and the words of the states of a skill.
var skillStates = map[v1alpha1.SkillState]struct {
	event v1alpha1.SignalEvent
	word  string
}{
	v1alpha1.SkillPendingReview:    {v1alpha1.SignalSkillPendingReview, "pending_review"},
	v1alpha1.SkillAwaitingApproval: {v1alpha1.SignalSkillAwaitingApproval, "awaiting_approval"},
	v1alpha1.SkillApproved:         {v1alpha1.SignalSkillApproved, "approved"},
	v1alpha1.SkillNeedsReapproval:  {v1alpha1.SignalSkillNeedsReapproval, "needs_reapproval"},
	v1alpha1.SkillRejected:         {v1alpha1.SignalSkillRejected, "rejected"},
	v1alpha1.SkillRevoked:          {v1alpha1.SignalSkillRevoked, "revoked"},
}

// NextOfSkill returns the signal about the state of a skill, nil if the receiver was told it, and the cursor of a receiver that was told it. A
// state is not told that was over before its turn came. A cursor that was lost has each skill told again, unless it is told once: then a state that began
// before the cursor's beginning counts as told.
func NextOfSkill(s *v1alpha1.Skill, c Cursor, wants func(v1alpha1.SignalEvent) bool) (*Signal, Cursor) {
	is, known := skillStates[s.Status.State]
	approved := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionApproved)
	if !known || approved == nil {
		return nil, c
	}
	at := approved.LastTransitionTime.Time
	// With the instant, a second approval of a revision is another signal than the first one.
	key := id(string(s.UID), is.event, s.Status.RevisionName, strconv.FormatInt(at.Unix(), 10))
	if c.Skill == key {
		return nil, c
	}
	c.Skill = key
	if began := s.Status.StateTime; c.Once && began != nil && c.isOld(began.Time) || !wants(is.event) {
		return nil, c
	}
	d := &SkillData{
		Kind: "motor_skill", Skill: s.Name, Namespace: s.Namespace, UID: string(s.UID), Status: is.word, Reason: approved.Reason,
		Message: shown(s.Status.Message, maxMessage), Description: shown(s.Status.Description, maxMessage),
		Revision: s.Status.RevisionName, ContentHash: s.Status.ContentHash, PolicyHash: s.Status.PolicyHash,
	}
	for i := range s.Status.Revisions {
		if s.Status.Revisions[i].Name == s.Status.RevisionName {
			d.RunID = s.Status.Revisions[i].RunName
		}
	}
	if s.Status.Review != nil {
		d.Findings = s.Status.Review.Findings
	}
	return &Signal{Event: is.event, ID: key, Source: source(s.Namespace, "skills"), Subject: s.Name, Time: at, Data: d}, c
}
