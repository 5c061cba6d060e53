// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// manyRevisions returns a skill whose revisions were made one minute after the other, from the names first to last, the newest first.
func manyRevisions(from *v1alpha1.ExtractedFrom, count int) *scope {
	start := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	s := newScope(&v1alpha1.Skill{}, &memory{}, start.Add(24*time.Hour))
	for i := range count {
		s.revisions = append(s.revisions, v1alpha1.SkillRevision{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("r%02d", i), CreationTimestamp: metav1.NewTime(start.Add(time.Duration(i) * time.Minute)),
			},
			Spec: v1alpha1.SkillRevisionSpec{ContentHash: fmt.Sprintf("hash-%02d", i), ExtractedFrom: from},
		})
	}
	s.sort()
	return s
}

// dropped returns the names of the revisions that retain has deleted.
func (s *scope) dropped() []string {
	s.retain()
	var names []string
	for i := range s.surplus {
		names = append(names, s.surplus[i].Name)
	}
	slices.Sort(names)
	return names
}

// However much runs propose, what waited first is still there to be decided about.
func TestProposalsPushOutNoneThatWaits(t *testing.T) {
	t.Parallel()
	ofRun := &v1alpha1.ExtractedFrom{RunName: "run"}
	for name, tt := range map[string]struct {
		from   *v1alpha1.ExtractedFrom
		count  int
		change func(*scope)
		// first and last are the only ones that go: all from first to last.
		first, last int
	}{
		"as many as are kept":        {ofRun, maxRevisions, nil, 0, -1},
		"a flood of proposals":       {ofRun, 40, nil, skill.MaxProposals, 29},
		"the source changes often":   {nil, 40, nil, 0, 19},
		"proposals that were passed": {ofRun, 40, func(s *scope) { s.skill.Spec.Approval = &v1alpha1.SkillApproval{ContentHash: "hash-30"} }, 0, 19},
		"passed, and back to an older one": {ofRun, 40, func(s *scope) {
			s.skill.Spec.Approval = &v1alpha1.SkillApproval{ContentHash: "hash-00"}
			s.skill.Status.NewestDecided = new(skill.Summary(&s.revisions[9]))
		}, 1, 20},
		"proposals, then the source": {nil, 40, func(s *scope) {
			for i := range s.revisions {
				if s.revisions[i].Name < "r05" {
					s.revisions[i].Spec.ExtractedFrom = ofRun
				}
			}
		}, 5, 24},
		"one is rejected": {ofRun, 21, func(s *scope) { s.skill.Spec.Rejections = []v1alpha1.SkillRejection{{ContentHash: "hash-03"}} }, 3, 3},
		"one is in use": {ofRun, 21, func(s *scope) {
			i := slices.IndexFunc(s.revisions, func(r v1alpha1.SkillRevision) bool { return r.Name == "r10" })
			s.inUse = map[string]bool{s.revisions[i].Name: true}
		}, 11, 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := manyRevisions(tt.from, tt.count)
			if tt.change != nil {
				tt.change(s)
			}
			var want []string
			for i := tt.first; i <= tt.last; i++ {
				want = append(want, fmt.Sprintf("r%02d", i))
			}
			if got := s.dropped(); !slices.Equal(got, want) {
				t.Errorf("deleted are %s, want %s", got, want)
			}
			for i := range s.skill.Status.Revisions {
				if slices.Contains(want, s.skill.Status.Revisions[i].Name) {
					t.Errorf("the status names %s", s.skill.Status.Revisions[i].Name)
				}
			}
			if n := len(s.skill.Status.Revisions); n != maxRevisions {
				t.Errorf("the status names %d", n)
			}
		})
	}
}
