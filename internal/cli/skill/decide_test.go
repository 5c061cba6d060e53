// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

func TestApprove(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	policyHash := skill.PolicyHash(&r.skill().Spec.Policy)
	r.want(0, []string{"approve", "weather", "--note", "looked at"},
		"revision:    "+r.second.Name, "contentHash: "+r.second.Spec.ContentHash, "policyHash:  "+policyHash, "approvedBy:  alice", "state:       Approved", "It is as it<U+202E> should be.")
	want := &v1alpha1.SkillApproval{
		Decision: v1alpha1.SkillDecisionApproved, ContentHash: r.second.Spec.ContentHash, PolicyHash: policyHash, ApprovedBy: "alice", Account: "alice", Note: "looked at",
	}
	if diff := cmp.Diff(want, r.skill().Spec.Approval); diff != "" {
		t.Error(diff)
	}
	if len(r.patches) != 1 || strings.Contains(r.patches[0], "/spec/policy") {
		t.Errorf("sent are %s", r.patches)
	}
	// A later approval leaves nothing of an earlier one.
	r.user = "bob"
	r.want(0, []string{"approve", "weather", "--revision", r.first.Name, "--expires", "2d"}, r.first.Name, "approvedBy:  bob")
	got := r.skill().Spec.Approval
	if got.ExpirationTime == nil || got.ExpirationTime.Sub(time.Now().Add(48*time.Hour)).Abs() > time.Minute {
		t.Errorf("it ends at %s", got.ExpirationTime)
	}
	want = &v1alpha1.SkillApproval{
		Decision: v1alpha1.SkillDecisionApproved, ContentHash: r.first.Spec.ContentHash, PolicyHash: policyHash, ApprovedBy: "bob", Account: "bob", ExpirationTime: got.ExpirationTime,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A domain and its approval are one change.
func TestApproveWithADomain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.want(0, []string{"approve", "weather", "--add-domain", "b.example.org", "--add-domain", "api.example.org"})
	spec := r.skill().Spec
	if spec.Approval.ContentHash != r.first.Spec.ContentHash {
		t.Errorf("with a domain, the content %s is approved that was not before", spec.Approval.ContentHash)
	}
	if diff := cmp.Diff([]v1alpha1.Domain{"api.example.org", "b.example.org"}, spec.Policy.Domains); diff != "" {
		t.Error(diff)
	}
	if got := skill.PolicyHash(&spec.Policy); spec.Approval.PolicyHash != got {
		t.Errorf("approved is the policy %s, and it is %s", spec.Approval.PolicyHash, got)
	}
	if len(r.patches) != 1 {
		t.Errorf("sent are %s", r.patches)
	}
}

// A proposal of a run may have come after the person looked: it must be named.
func TestApproveAProposal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.second.Spec.ExtractedFrom = &v1alpha1.ExtractedFrom{RunName: "fix-1"}
	if err := r.Update(t.Context(), r.second); err != nil {
		t.Fatal(err)
	}
	r.want(1, []string{"approve", "weather"}, "proposed by the run fix-1", "--revision")
	if a := r.skill().Spec.Approval; a != nil {
		t.Errorf("approved is %+v", a)
	}
	r.want(0, []string{"approve", "weather", "--revision", r.second.Name}, r.second.Name)
}

// The skill of a run has nothing in its spec.
func TestApproveWithoutASpec(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *v1alpha1.Skill) { s.Spec = v1alpha1.SkillSpec{} })
	r.want(0, []string{"approve", "weather"}, "policyHash:  "+skill.PolicyHash(nil))
	if a := r.skill().Spec.Approval; a == nil || a.ContentHash != r.second.Spec.ContentHash {
		t.Errorf("the approval is %v", a)
	}
	r = newRig(t, func(s *v1alpha1.Skill) { s.Spec = v1alpha1.SkillSpec{} })
	r.want(0, []string{"reject", "weather"})
	if got := r.skill().Spec.Rejections; len(got) != 1 {
		t.Errorf("the rejections are %v", got)
	}
}

// The name of a revision has the beginning of the hash alone: other files that collide in it are not approved or rejected along.
func TestDecideAboutWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"approve", "reject"} {
		r := newRig(t)
		looked := r.second.Spec.ContentHash
		r.second.Spec.ContentHash = looked[:len("sha256:")+12] + strings.Repeat("0", 52)
		if err := r.Update(t.Context(), r.second); err != nil {
			t.Fatal(err)
		}
		args := []string{verb, "weather", "--revision", r.second.Name}
		if verb == "approve" {
			args = append(args, "--policy-hash", skill.PolicyHash(&r.skill().Spec.Policy))
		}
		args = append(args, "--content-hash")
		r.want(1, append(args, looked), "and not the one that you looked at", r.second.Spec.ContentHash, "kubectl motor skill review weather -n ns --revision "+r.second.Name)
		if len(r.patches) > 0 {
			t.Errorf("sent are %s", r.patches)
		}
		r.want(0, append(args, r.second.Spec.ContentHash), "contentHash: "+r.second.Spec.ContentHash)
	}
}

// A change between reading and writing is not approved along.
func TestApproveWhatWasRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.skill()
	s.UID = "another"
	if err := r.Delete(t.Context(), r.skill()); err != nil {
		t.Fatal(err)
	}
	s.ResourceVersion = ""
	if err := r.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	err := r.Patch(t.Context(), s.DeepCopy(), client.RawPatch("application/json-patch+json",
		[]byte(`[{"op":"test","path":"/metadata/uid","value":"skill-uid"},{"op":"add","path":"/spec/approval","value":{}}]`)))
	if err == nil {
		t.Fatal("the API of this test takes any patch")
	}
	newRig(t).want(0, []string{"approve", "weather"})
	for _, part := range []string{`{"op":"test","path":"/metadata/uid","value":"skill-uid"}`, `{"op":"test","path":"/metadata/generation","value":3}`} {
		r := newRig(t)
		r.want(0, []string{"approve", "weather"})
		if !strings.Contains(r.patches[0], part) {
			t.Errorf("the patch does not have %s: %s", part, r.patches[0])
		}
	}
}

// A change that the operator sees during an approval is not approved along: an approval counts as given in view of the status.
func TestApproveWhatWasShown(t *testing.T) {
	t.Parallel()
	source := func(hash string) func(*v1alpha1.SkillStatus) {
		return func(st *v1alpha1.SkillStatus) { st.Source = &v1alpha1.SkillSourceStatus{ContentHash: hash} }
	}
	for name, tt := range map[string]struct {
		meanwhile func(*v1alpha1.SkillStatus)
		code      int
	}{
		"nothing happens":               {source("old"), 0},
		"there is another revision":     {func(st *v1alpha1.SkillStatus) { st.RevisionName = "weather-0123456789ab" }, 1},
		"the source gives another":      {source("new"), 1},
		"the source goes away":          {func(st *v1alpha1.SkillStatus) { st.Source = nil }, 1},
		"something else is found again": {func(st *v1alpha1.SkillStatus) { st.Message = "again" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(s *v1alpha1.Skill) { source("old")(&s.Status) })
			r.meanwhile = func() {
				s := r.skill()
				tt.meanwhile(&s.Status)
				if err := r.Status().Update(t.Context(), s); err != nil {
					t.Error(err)
				}
			}
			says := "state:"
			if tt.code != 0 {
				says = "it has changed since it was read"
			}
			r.want(tt.code, []string{"approve", "weather", "--revision", r.first.Name, "--note", "keep"}, says)
			if got := r.skill().Spec.Approval; (got != nil) != (tt.code == 0) {
				t.Errorf("the approval is %+v", got)
			}
		})
	}
}

func TestNobodyLooks(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *v1alpha1.Skill) { s.Status.ObservedGeneration = 2 })
	r.asleep = true
	r.want(0, []string{"approve", "weather"}, "contentHash:", "has not looked at it yet: see kubectl get skill weather -n ns")
	r.user = ""
	r.want(1, []string{"approve", "weather"}, "does not say who you are")
}

func TestReject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.want(0, []string{"reject", "weather", "--note", "no"}, "rejectedBy:  alice", "contentHash: "+r.second.Spec.ContentHash)
	want := []v1alpha1.SkillRejection{{ContentHash: r.second.Spec.ContentHash, RejectedBy: "alice", Note: "no"}}
	if diff := cmp.Diff(want, r.skill().Spec.Rejections); diff != "" {
		t.Error(diff)
	}
	r.want(1, []string{"reject", "weather"}, "is rejected already")
	r.want(0, []string{"reject", "weather", "--revision", r.first.Name})
	if got := r.skill().Spec.Rejections; len(got) != 2 || got[0] != want[0] || got[1].ContentHash != r.first.Spec.ContentHash {
		t.Errorf("the rejections are %v", got)
	}
}

func TestRejectWhatIsApproved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.want(1, []string{"revoke", "weather"}, "has no approval")
	r.want(0, []string{"approve", "weather"})
	r.want(0, []string{"reject", "weather"}, "this content is approved, and stays so: kubectl motor skill revoke weather -n ns")
	r.user = "bob"
	approved := r.skill().Spec.Approval
	r.want(0, []string{"revoke", "weather", "--note", "it sends too much"}, "revokedBy:   bob")
	want := &v1alpha1.SkillApproval{
		Decision: v1alpha1.SkillDecisionRevoked, ContentHash: approved.ContentHash, PolicyHash: approved.PolicyHash, ApprovedBy: "bob", Account: "bob", Note: "it sends too much",
	}
	if diff := cmp.Diff(want, r.skill().Spec.Approval); diff != "" {
		t.Error(diff)
	}
}

// There is room for a rejection as long as one is of a content that is not there any more.
func TestRejectOnceMore(t *testing.T) {
	t.Parallel()
	full := func(s *v1alpha1.Skill) {
		for i := range 16 {
			s.Spec.Rejections = append(s.Spec.Rejections, v1alpha1.SkillRejection{ContentHash: fmt.Sprintf("sha256:%064d", i)})
		}
		s.Status.Revisions = nil
		for _, r := range s.Spec.Rejections[:3] {
			s.Status.Revisions = append(s.Status.Revisions, v1alpha1.RevisionSummary{Name: r.ContentHash, ContentHash: r.ContentHash})
		}
	}
	r := newRig(t, full)
	r.want(0, []string{"reject", "weather"})
	got := r.skill().Spec.Rejections
	if len(got) != 16 || got[2].ContentHash != fmt.Sprintf("sha256:%064d", 2) || got[3].ContentHash != fmt.Sprintf("sha256:%064d", 4) || got[15].ContentHash != r.second.Spec.ContentHash {
		t.Errorf("the rejections are %v", got)
	}
	r = newRig(t, full, func(s *v1alpha1.Skill) {
		for _, r := range s.Spec.Rejections[3:] {
			s.Status.Revisions = append(s.Status.Revisions, v1alpha1.RevisionSummary{Name: r.ContentHash, ContentHash: r.ContentHash})
		}
	})
	r.want(1, []string{"reject", "weather"}, "take one out of spec.rejections")
}
