// SPDX-License-Identifier: Apache-2.0

package waits_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/skill/waits"
)

// A correction is for who writes the skill, and no decision of who approves it.
func TestACorrectionIsNoDecision(t *testing.T) {
	t.Parallel()
	s := &v1alpha1.Skill{Status: v1alpha1.SkillStatus{RevisionName: "a", Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionApproved, Reason: v1alpha1.ReasonAwaitingApproval, Status: metav1.ConditionFalse},
		{Type: v1alpha1.ConditionStalled, Reason: "SourceNotFound", Status: metav1.ConditionTrue},
	}}}
	if diff := cmp.Diff([]string{"an approval of a", "a correction (SourceNotFound)"}, waits.Of(s)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"an approval of a"}, waits.Decisions(s)); diff != "" {
		t.Error(diff)
	}
	s.Status.Conditions[0].Status = metav1.ConditionTrue
	if got := waits.Decisions(s); len(got) > 0 {
		t.Errorf("an approved skill waits for %q", got)
	}
}
