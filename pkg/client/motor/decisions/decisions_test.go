// SPDX-License-Identifier: Apache-2.0

package decisions_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/decisions"
)

// mail is a skill as a person read it.
func mail(change ...func(*v1alpha1.Skill)) *v1alpha1.Skill {
	s := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{Name: "mail", UID: "uid", Generation: 3}}
	s.Spec.Policy.Tools = []v1alpha1.ToolName{"bash"}
	s.Status.RevisionName = "mail-1"
	for _, c := range change {
		c(s)
	}
	return s
}

// rejected has rejections of the contents a, aa and so on. Those whose number is in gone have no revision.
func rejected(n int, gone ...int) func(*v1alpha1.Skill) {
	return func(s *v1alpha1.Skill) {
		for i := range n {
			hash := strings.Repeat("a", i+1)
			s.Spec.Rejections = append(s.Spec.Rejections, v1alpha1.SkillRejection{ContentHash: hash})
			if len(gone) == 0 || gone[0] != i {
				s.Status.Revisions = append(s.Status.Revisions, v1alpha1.RevisionSummary{ContentHash: hash})
			}
		}
	}
}

func TestPatches(t *testing.T) {
	t.Parallel()
	const (
		read = `[{"op":"test","path":"/metadata/uid","value":"uid"},{"op":"test","path":"/metadata/generation","value":3},`
		seen = `{"op":"test","path":"/status/revisionName","value":"mail-1"},`
	)
	approval := &v1alpha1.SkillApproval{Decision: v1alpha1.SkillDecisionApproved, ContentHash: "c", PolicyHash: "p", ApprovedBy: "dana", Account: "dana"}
	const written = `{"decision":"Approved","contentHash":"c","policyHash":"p","approvedBy":"dana","account":"dana"}`
	revoked := strings.Replace(written, "Approved", "Revoked", 1)
	no := v1alpha1.SkillRejection{ContentHash: "x", RejectedBy: "dana"}
	for name, tt := range map[string]struct {
		of         *v1alpha1.Skill
		make       func(s *v1alpha1.Skill) ([]byte, error)
		want, says string
	}{
		"an approval": {mail(), func(s *v1alpha1.Skill) ([]byte, error) { return decisions.Approve(s, &s.Spec.Policy, approval) },
			read + seen + `{"op":"add","path":"/spec/approval","value":` + written + `}]`, ""},
		"an approval of another policy": {mail(), func(s *v1alpha1.Skill) ([]byte, error) {
			return decisions.Approve(s, &v1alpha1.SkillPolicy{Domains: []v1alpha1.Domain{"example.org"}}, approval)
		}, read + seen + `{"op":"add","path":"/spec/approval","value":` + written + `},{"op":"add","path":"/spec/policy","value":{"domains":["example.org"]}}]`, ""},
		"an approval of what a source has": {mail(func(s *v1alpha1.Skill) { s.Status.Source = &v1alpha1.SkillSourceStatus{ContentHash: "s"} }), func(s *v1alpha1.Skill) ([]byte, error) {
			return decisions.Approve(s, &s.Spec.Policy, approval)
		}, read + seen + `{"op":"test","path":"/status/source/contentHash","value":"s"},{"op":"add","path":"/spec/approval","value":` + written + `}]`, ""},
		"an approval where no spec is": {mail(func(s *v1alpha1.Skill) { s.Spec = v1alpha1.SkillSpec{} }), func(s *v1alpha1.Skill) ([]byte, error) {
			return decisions.Approve(s, &s.Spec.Policy, approval)
		}, read + seen + `{"op":"add","path":"/spec","value":{"approval":` + written + `}}]`, ""},
		"a first rejection": {mail(), func(s *v1alpha1.Skill) ([]byte, error) { return decisions.Reject(s, no) },
			read + `{"op":"add","path":"/spec/rejections","value":[{"contentHash":"x","rejectedBy":"dana"}]}]`, ""},
		"one rejection more": {mail(rejected(15)), func(s *v1alpha1.Skill) ([]byte, error) { return decisions.Reject(s, no) },
			read + `{"op":"add","path":"/spec/rejections/-","value":{"contentHash":"x","rejectedBy":"dana"}}]`, ""},
		"a rejection in the place of one without a content": {mail(rejected(16, 4)), func(s *v1alpha1.Skill) ([]byte, error) { return decisions.Reject(s, no) },
			read + `{"op":"remove","path":"/spec/rejections/4"},{"op":"add","path":"/spec/rejections/-","value":{"contentHash":"x","rejectedBy":"dana"}}]`, ""},
		"too many rejections": {mail(rejected(16)), func(s *v1alpha1.Skill) ([]byte, error) { return decisions.Reject(s, no) }, "", "there are 16 rejections already"},
		"a revocation": {mail(func(s *v1alpha1.Skill) { s.Spec.Approval = approval }), func(s *v1alpha1.Skill) ([]byte, error) { return decisions.Revoke(s, "dana", "") },
			read + `{"op":"add","path":"/spec/approval","value":` + revoked + `}]`, ""},
		"a revocation of nothing": {mail(), func(s *v1alpha1.Skill) ([]byte, error) { return decisions.Revoke(s, "dana", "") }, "", "no approval that could be taken back"},
		"another source": {mail(), func(s *v1alpha1.Skill) ([]byte, error) {
			spec := s.Spec.DeepCopy()
			spec.Source, spec.Approval = &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{{Path: "f", Content: "c"}}}, approval
			return decisions.Replace(s, spec)
		}, read + `{"op":"add","path":"/spec/source","value":{"files":[{"path":"f","content":"c"}]}}]`, ""},
		"the same": {mail(), func(s *v1alpha1.Skill) ([]byte, error) { return decisions.Replace(s, s.Spec.DeepCopy()) }, "", ""},
	} {
		body, err := tt.make(tt.of)
		if string(body) != tt.want {
			t.Errorf("%s is %s, want %s", name, body, tt.want)
		}
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// What was read stays as it is: a caller shows it if the patch is refused.
func TestAPatchChangesNothingThatWasRead(t *testing.T) {
	t.Parallel()
	s := mail(rejected(3), func(s *v1alpha1.Skill) {
		s.Spec.Approval = &v1alpha1.SkillApproval{Decision: v1alpha1.SkillDecisionApproved}
	})
	if _, err := decisions.Revoke(s, "dana", "no"); err != nil || s.Spec.Approval.Decision != v1alpha1.SkillDecisionApproved {
		t.Errorf("%+v, %v", s.Spec.Approval, err)
	}
	if _, err := decisions.Reject(s, v1alpha1.SkillRejection{}); err != nil || len(s.Spec.Rejections) != 3 {
		t.Errorf("%+v, %v", s.Spec.Rejections, err)
	}
}

func TestARefusedPatch(t *testing.T) {
	t.Parallel()
	cause := errors.New("the server rejected our request")
	for name, tt := range map[string]struct {
		now     *v1alpha1.Skill
		changed bool
	}{
		"the same":         {mail(), false},
		"another skill":    {mail(func(s *v1alpha1.Skill) { s.UID = "other" }), true},
		"another spec":     {mail(func(s *v1alpha1.Skill) { s.Generation++ }), true},
		"another revision": {mail(func(s *v1alpha1.Skill) { s.Status.RevisionName = "mail-2" }), true},
		"another source":   {mail(func(s *v1alpha1.Skill) { s.Status.Source = &v1alpha1.SkillSourceStatus{ContentHash: "s"} }), true},
	} {
		if err := decisions.Refused(cause, mail(), tt.now); !errors.Is(err, cause) || errors.Is(err, decisions.ErrChanged) != tt.changed {
			t.Errorf("%s: %v", name, err)
		}
	}
}
