// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func skillIn(state v1alpha1.SkillState, revision, reason string, at int) *v1alpha1.Skill {
	s := &v1alpha1.Skill{}
	s.Name, s.Namespace, s.UID = "counting", "ns", "u-2"
	s.Status = v1alpha1.SkillStatus{
		State: state, RevisionName: revision, Description: "Counts words.", ContentHash: "sha256:1", PolicyHash: "sha256:2",
		Conditions: []metav1.Condition{condition(v1alpha1.ConditionApproved, metav1.ConditionFalse, reason, at)},
		Revisions:  []v1alpha1.RevisionSummary{{Name: "r2", RunName: "run"}, {Name: "r1"}},
		Review:     &v1alpha1.PolicyReview{Findings: 3},
	}
	return s
}

func TestEachStateOfASkillIsToldOnce(t *testing.T) {
	t.Parallel()
	var got []string
	c := Cursor{}
	for _, s := range []*v1alpha1.Skill{
		skillIn("", "", "", 1),
		skillIn(v1alpha1.SkillPendingReview, "r1", "Reviewing", 1),
		skillIn(v1alpha1.SkillAwaitingApproval, "r1", "AwaitingApproval", 1),
		skillIn(v1alpha1.SkillRejected, "r1", "Rejected", 1),
		skillIn(v1alpha1.SkillAwaitingApproval, "r2", "AwaitingApproval", 1),
		skillIn(v1alpha1.SkillApproved, "r2", "Approved", 2),
		skillIn(v1alpha1.SkillRevoked, "r2", "Revoked", 3),
		skillIn(v1alpha1.SkillApproved, "r2", "Approved", 4),
		skillIn(v1alpha1.SkillNeedsReapproval, "r2", "PolicyChanged", 5),
	} {
		for range 2 {
			what, next := NextOfSkill(s, c, all)
			if c = next; what != nil {
				got = append(got, what.ID[:len(what.ID)-len("/1767323105")])
			}
		}
	}
	want := []string{
		"u-2/skill.pendingreview/r1", "u-2/skill.awaitingapproval/r1", "u-2/skill.rejected/r1", "u-2/skill.awaitingapproval/r2",
		"u-2/skill.approved/r2", "u-2/skill.revoked/r2", "u-2/skill.approved/r2", "u-2/skill.needsreapproval/r2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAStateOfASkillIsNotToldAgainToPeople(t *testing.T) {
	t.Parallel()
	s := skillIn(v1alpha1.SkillAwaitingApproval, "r1", "AwaitingApproval", 1)
	began := s.Status.Conditions[0].LastTransitionTime.Add(time.Hour)
	for name, tt := range map[string]struct {
		began *metav1.Time
		c     Cursor
		told  bool
	}{
		"of before":             {new(metav1.NewTime(began)), Cursor{From: began.Add(time.Second), Once: true}, false},
		"of since":              {new(metav1.NewTime(began)), Cursor{From: began.Add(-time.Second), Once: true}, true},
		"of an unknown instant": {nil, Cursor{From: began.Add(time.Second), Once: true}, true},
		"to a sink":             {new(metav1.NewTime(began)), Cursor{From: began.Add(time.Second)}, true},
	} {
		s.Status.StateTime = tt.began
		what, next := NextOfSkill(s, tt.c, all)
		if again, _ := NextOfSkill(s, next, all); (what != nil) != tt.told || again != nil {
			t.Errorf("%s: told is %v, and then %v", name, what != nil, again)
		}
	}
}

func TestTheDataOfASkill(t *testing.T) {
	t.Parallel()
	s, _ := NextOfSkill(skillIn(v1alpha1.SkillAwaitingApproval, "r2", "AwaitingApproval", 1), Cursor{}, all)
	again, _ := NextOfSkill(skillIn(v1alpha1.SkillAwaitingApproval, "r2", "AwaitingApproval", 1), Cursor{}, all)
	later, _ := NextOfSkill(skillIn(v1alpha1.SkillAwaitingApproval, "r2", "AwaitingApproval", 7), Cursor{}, all)
	if s.ID != again.ID || s.ID == later.ID {
		t.Errorf("ids %q, again %q, later %q", s.ID, again.ID, later.ID)
	}
	want := &SkillData{
		Kind: "motor_skill", Skill: "counting", Namespace: "ns", UID: "u-2", Status: "awaiting_approval", Reason: "AwaitingApproval",
		Description: "Counts words.", Revision: "r2", ContentHash: "sha256:1", PolicyHash: "sha256:2", RunID: "run", Findings: 3,
	}
	if diff := cmp.Diff(any(want), s.Data); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if s, c := NextOfSkill(skillIn(v1alpha1.SkillApproved, "r2", "Approved", 1), Cursor{}, func(v1alpha1.SignalEvent) bool { return false }); s != nil || c.Skill == "" {
		t.Errorf("not wanted: %+v, %+v", s, c)
	}
}
