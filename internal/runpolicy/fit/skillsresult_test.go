// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// manySkills returns as many skills as are proposed, and as many folders that are not taken, each as large as it can be.
func manySkills() *v1alpha1.SkillsResult {
	r := &v1alpha1.SkillsResult{}
	for i := range 16 {
		name := fmt.Sprintf("%s%02d", strings.Repeat("s", 62), i)
		r.Updated = append(r.Updated, v1alpha1.ProposedSkill{Name: name, RevisionName: name + "-0123456789ab", ChangedFiles: 256, DeletedFiles: 256})
		r.Rejected = append(r.Rejected, v1alpha1.RejectedSkill{Path: fmt.Sprintf("skills/%02d%s", i, strings.Repeat("<", 247)), Message: strings.Repeat("\"", 512)})
	}
	return r
}

func TestShowSkills(t *testing.T) {
	t.Parallel()
	if r := ShowSkills(nil); r != nil {
		t.Errorf("of nothing it shows %+v", r)
	}
	few := &v1alpha1.SkillsResult{
		Created:  []v1alpha1.ProposedSkill{{Name: "a", RevisionName: "a-1"}},
		Rejected: []v1alpha1.RejectedSkill{{Path: ".", Message: strings.Repeat("m", 512)}},
	}
	if diff := cmp.Diff(few, ShowSkills(few)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	full := manySkills()
	shown := ShowSkills(full)
	if diff := cmp.Diff(full.Updated, shown.Updated); diff != "" {
		t.Errorf("what was proposed is not all there:\n%s", diff)
	}
	b, err := json.Marshal(shown.Rejected)
	if err != nil || len(b) > maxRejectedBytes || len(shown.Rejected) == 0 || shown.Rejected[0].Path != full.Rejected[0].Path {
		t.Errorf("%d of the others, with %d bytes (%v)", len(shown.Rejected), len(b), err)
	}
	if len(full.Rejected) != 16 || len(full.Rejected[15].Message) != 512 {
		t.Error("what was given is changed")
	}
}
