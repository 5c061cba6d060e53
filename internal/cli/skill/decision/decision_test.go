// SPDX-License-Identifier: Apache-2.0

package decision_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/skill/decision"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

// weather is a skill in a cluster, as a person read it.
func weather(t *testing.T, change func(*v1alpha1.Skill)) (*fakecluster.Cluster, *v1alpha1.Skill) {
	t.Helper()
	s := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "weather", UID: "uid", Generation: 3}}
	s.Spec.Policy.Tools = []v1alpha1.ToolName{"bash"}
	s.Status.RevisionName = "weather-1"
	if change != nil {
		change(s)
	}
	c := fakecluster.New(t, s)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		t.Fatal(err)
	}
	return c, s
}

func TestADecisionNamesWhoMadeIt(t *testing.T) {
	t.Parallel()
	c, s := weather(t, nil)
	policy := v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"bash", "read"}}
	approval := &v1alpha1.SkillApproval{Decision: v1alpha1.SkillDecisionApproved, ContentHash: "sha256:1", PolicyHash: "sha256:2"}
	if err := decision.Approve(t.Context(), c, s, &policy, approval); err != nil {
		t.Fatal(err)
	}
	if a := s.Spec.Approval; a == nil || a.ApprovedBy != fakecluster.User || a.Account != fakecluster.User || len(s.Spec.Policy.Tools) != 2 {
		t.Errorf("%+v", s.Spec)
	}
	if err := decision.Reject(t.Context(), c, s, &v1alpha1.SkillRejection{ContentHash: "sha256:3"}); err != nil {
		t.Fatal(err)
	}
	if list := s.Spec.Rejections; len(list) != 1 || list[0].RejectedBy != fakecluster.User {
		t.Errorf("%+v", list)
	}
	if who, err := decision.Revoke(t.Context(), c, s, "no"); err != nil || who != fakecluster.User || s.Spec.Approval.Decision != v1alpha1.SkillDecisionRevoked || s.Spec.Approval.Note != "no" {
		t.Errorf("%s, %v, %+v", who, err, s.Spec.Approval)
	}
}

// An approval of a skill that has changed since is refused: it would count as given in view of what came.
func TestADecisionIsAboutTheSkillThatWasRead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1alpha1.Skill){
		"another skill":    func(s *v1alpha1.Skill) { s.UID = "other" },
		"another spec":     func(s *v1alpha1.Skill) { s.Generation = 2 },
		"another revision": func(s *v1alpha1.Skill) { s.Status.RevisionName = "weather-0" },
	} {
		c, s := weather(t, nil)
		change(s)
		err := decision.Approve(t.Context(), c, s, &s.Spec.Policy, &v1alpha1.SkillApproval{ContentHash: "sha256:1"})
		if err == nil || !strings.Contains(err.Error(), "it has changed since it was read") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
