// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestASkillIsShownWithItsFacts(t *testing.T) {
	t.Parallel()
	c, _, now := weather(t)
	evil := "<b>" + hidden
	now.Status = v1alpha1.SkillRevisionStatus{
		ReviewTime: new(metav1.Now()), Domains: []v1alpha1.Mention{{Name: "evil.example.com"}}, Tools: []string{"fetch"},
		Findings: []v1alpha1.Finding{{Kind: v1alpha1.FindingScript, Path: "scripts/run.sh", Line: 2, Message: evil}},
		Advice:   &v1alpha1.RevisionAdvice{RunName: "review", Text: evil}, Omitted: 3,
	}
	if err := c.Update(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, c)
	r.want(http.StatusOK, http.MethodGet, "/api/skills/ns/weather", "", "evil.example.com", "fetch", `"where":"scripts/run.sh:2"`, `"omitted":3`, "tools:\\n- bash", `"samePolicy":false`)
	each(any(r.shownSkill()), func(s string) {
		if i := strings.IndexAny(s, hidden); i >= 0 {
			t.Errorf("%q", s)
		}
	})
	r.want(http.StatusOK, http.MethodGet, "/api/skills?namespace=ns", "", `"state":"NeedsReapproval"`)
	r.want(http.StatusNotFound, http.MethodGet, "/api/skills/ns/other", "")
	r.want(http.StatusNotFound, http.MethodGet, "/api/skills/ns/weather?revision=other", "")
}

// A revision of another skill is none of this one, whatever its name is.
func TestARevisionOfAnotherSkillIsNotShown(t *testing.T) {
	t.Parallel()
	c, old, _ := weather(t)
	old.OwnerReferences[0].UID = "of-another"
	if err := c.Update(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	newRig(t, c).want(http.StatusNotFound, http.MethodGet, "/api/skills/ns/weather?revision="+old.Name, "", "is not one of the Skill weather")
}
