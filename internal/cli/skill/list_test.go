// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestTheListSaysWhatWaitsForADecision(t *testing.T) {
	t.Parallel()
	condition := func(kind, reason string, is metav1.ConditionStatus) func(*v1alpha1.Skill) {
		return func(s *v1alpha1.Skill) {
			s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{Type: kind, Reason: reason, Status: is})
		}
	}
	proposed := func(names ...string) func(*v1alpha1.Skill) {
		return func(s *v1alpha1.Skill) {
			for i, name := range names {
				s.Status.Revisions = append(s.Status.Revisions, v1alpha1.RevisionSummary{
					Name: name, ContentHash: "hash of " + name, RunName: "fix-" + name, CreationTime: metav1.NewTime(time.Unix(int64(i), 0)),
				})
			}
		}
	}
	state := func(is v1alpha1.SkillState) func(*v1alpha1.Skill) {
		return func(s *v1alpha1.Skill) { s.Status.State = is }
	}
	rejected := func(s *v1alpha1.Skill) { s.Spec.Rejections = []v1alpha1.SkillRejection{{ContentHash: "hash of a"}} }
	newest := func(s *v1alpha1.Skill) { s.Status.RevisionName = "a" }
	const approved = v1alpha1.ConditionApproved
	for name, tt := range map[string]struct {
		with []func(*v1alpha1.Skill)
		want string
	}{
		"nothing is known":         {nil, ""},
		"the first approval":       {[]func(*v1alpha1.Skill){condition(approved, "AwaitingApproval", "False"), proposed("a"), newest}, "an approval of a"},
		"an approved one":          {[]func(*v1alpha1.Skill){condition(approved, "Approved", "True")}, ""},
		"a proposal":               {[]func(*v1alpha1.Skill){condition(approved, "Approved", "True"), proposed("a"), newest}, "a decision about a of the run fix-a"},
		"proposals":                {[]func(*v1alpha1.Skill){condition(approved, "Approved", "True"), proposed("a", "b")}, "decisions about 2 proposals of runs"},
		"one that was rejected":    {[]func(*v1alpha1.Skill){condition(approved, "Rejected", "False"), proposed("a"), rejected}, ""},
		"other files":              {[]func(*v1alpha1.Skill){condition(approved, "ContentChanged", "False")}, "an approval of the changed files"},
		"another policy":           {[]func(*v1alpha1.Skill){condition(approved, "PolicyChanged", "False")}, "an approval of the changed policy"},
		"the end of an approval":   {[]func(*v1alpha1.Skill){condition(approved, "ApprovalExpired", "False")}, "another approval, the last one ended"},
		"files that are gone":      {[]func(*v1alpha1.Skill){condition(approved, "ContentUnknown", "False"), state(v1alpha1.SkillNeedsReapproval)}, "an approval of files that are there"},
		"files that come yet":      {[]func(*v1alpha1.Skill){condition(approved, "ContentUnknown", "False"), state(v1alpha1.SkillPendingReview)}, ""},
		"a source that is missing": {[]func(*v1alpha1.Skill){condition(approved, "Approved", "True"), condition("Stalled", "SourceNotFound", "True")}, "a correction (SourceNotFound)"},
		"files nobody looked at":   {[]func(*v1alpha1.Skill){condition(approved, "ReviewSetAside", "False"), condition("Stalled", "ReviewSetAside", "True")}, "a person who reads the files, which the operator could not look through"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, append([]func(*v1alpha1.Skill){func(s *v1alpha1.Skill) {
				s.Status = v1alpha1.SkillStatus{State: v1alpha1.SkillApproved, Approved: &v1alpha1.ApprovedRevision{RevisionName: "used"}}
			}}, tt.with...)...)
			state := string(r.skill().Status.State)
			r.want(0, []string{"list"}, "NAME      STATE", "weather   "+state)
			_, out, _ := r.run("list")
			_, line, _ := strings.Cut(out, "\n")
			if _, got, _ := strings.Cut(strings.TrimSpace(line), "used"); strings.TrimSpace(got) != tt.want {
				t.Errorf("it waits for %q, want %q, in\n%s", strings.TrimSpace(got), tt.want, out)
			}
		})
	}
}

func TestListForPrograms(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.want(0, []string{"list", "-A"}, "NAMESPACE   NAME", "ns          weather   NeedsReapproval   "+r.first.Name)
	r.want(0, []string{"list", "-o", "name"}, "skill.motorcortex.dev/weather\n")
	r.want(0, []string{"ls", "-o", "jsonl"}, `{"kind":"Skill","apiVersion":"motorcortex.dev/v1alpha1","metadata":{"name":"weather"`)
	if err := r.Delete(t.Context(), r.skill()); err != nil {
		t.Fatal(err)
	}
	r.want(0, []string{"list"}, "There are no skills.")
	r.want(0, []string{"list", "-o", "json"}, `"items": []`)
}
