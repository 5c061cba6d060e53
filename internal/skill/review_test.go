// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func mentioned(names ...string) (list []v1alpha1.Mention) {
	for _, n := range names {
		list = append(list, v1alpha1.Mention{Name: n, Paths: []string{ManifestName}})
	}
	return list
}

func TestReviewPolicy(t *testing.T) {
	t.Parallel()
	rev := &v1alpha1.SkillRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "mail-1"},
		Status: v1alpha1.SkillRevisionStatus{
			Domains:   mentioned("169.254.169.254", "a.wide.dev", "api.mail.dev", "api.mail.dev:8443", "github.io", "wide.dev"),
			Variables: mentioned("MAIL_KEY", "OTHER", "VAULT_SECOND_KEY", "vault_third"),
			Findings:  make([]v1alpha1.Finding, 3),
		},
	}
	policy := &v1alpha1.SkillPolicy{
		Domains:     []v1alpha1.Domain{"api.mail.dev", "*.wide.dev", "unused.dev", "api.mail.dev:9000", "no domain"},
		Credentials: []v1alpha1.SkillCredential{{Name: "mail_key"}, {Name: "second_key"}, {Name: "vault_third"}, {Name: "unused_key"}},
	}
	want := &v1alpha1.PolicyReview{
		RevisionName: "mail-1", MissingDomains: []string{"169.254.169.254", "api.mail.dev:8443", "github.io", "wide.dev"},
		UnusedDomains: []string{"unused.dev", "api.mail.dev:9000", "no domain"}, MissingCredentials: []string{"OTHER"}, UnusedCredentials: []string{"unused_key"}, Findings: 3,
	}
	if diff := cmp.Diff(want, ReviewPolicy(rev, policy)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i := range 64 {
		rev.Status.Domains = append(rev.Status.Domains, mentioned(fmt.Sprintf("h%d.dev", i))...)
		rev.Status.Variables = append(rev.Status.Variables, mentioned(fmt.Sprintf("V%d", i))...)
	}
	if r := ReviewPolicy(rev, &v1alpha1.SkillPolicy{}); len(r.MissingDomains) != 32 || len(r.MissingCredentials) != 32 || r.UnusedDomains != nil {
		t.Errorf("%+v", r)
	}
}

// Times have no fractions of seconds: a proposal of a run counts as later than the content of the source in the same second.
func TestDecideOrdersProposalsOfTheSameSecond(t *testing.T) {
	t.Parallel()
	w := newWorld()
	does(gives("z"), proposes("a"))(w)
	w.Revisions[1].CreationTimestamp = w.Revisions[0].CreationTimestamp
	w.look()
	if nameOf(w.verdict.Revision) != "a" {
		t.Errorf("an approval is asked for %s", w.verdict.Revision.Name)
	}
	w.check(t)
}
