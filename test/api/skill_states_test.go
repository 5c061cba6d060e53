// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const readyToUse = "Ready True SkillReady"

// approvedSkill brings a skill of one inline file to its approval.
func approvedSkill(t *testing.T, labels ...string) *skillRig {
	t.Helper()
	r := newSkillRig(t, labels...)
	r.create("send", v1alpha1.SkillSpec{
		Source: inline("SKILL.md", skillMD("send", "One."), "references/api.md", "GET https://api.motorcortex.dev/v1\n"),
		Policy: v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"fetch"}, Domains: []v1alpha1.Domain{"api.motorcortex.dev"}},
	})
	r.step()
	r.approve()
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
	return r
}

func TestSkillIsApprovedAndItsPolicyChanges(t *testing.T) {
	r := newSkillRig(t)
	r.create("send", v1alpha1.SkillSpec{
		Source: inline("SKILL.md", skillMD("send", "See https://docs.motorcortex.dev/ and references/api.md."), "scripts/send.sh", "#!/bin/sh\ncurl https://api.motorcortex.dev/\n"),
		Policy: v1alpha1.SkillPolicy{Domains: []v1alpha1.Domain{"api.motorcortex.dev"}},
	})
	r.step()
	sk := r.want(v1alpha1.SkillAwaitingApproval, "AwaitingApproval")
	r.wantConditions("SourceReady True SourceRead", "PolicyValid True PolicyValid", "Reviewed True FactsGathered", "Ready False AwaitingApproval", "Stalled", "Reconciling")
	st := sk.Status
	rev := r.revision(st.RevisionName)
	if st.Description != "Sends a message." || rev.Spec.ContentHash != st.ContentHash || len(st.Revisions) != 1 || st.Revisions[0].Name != st.RevisionName || st.Revisions[0].RunName != "" {
		t.Errorf("the status is %+v", st)
	}
	if st.Source == nil || st.Source.ContentHash != st.ContentHash || st.Source.ReadTime != nil {
		t.Errorf("the source is %+v", st.Source)
	}
	if len(rev.Spec.Files) != 2 || !rev.Spec.Files[1].Executable || rev.Status.ReviewTime == nil || len(rev.Status.Domains) == 0 {
		t.Errorf("the revision is %+v", rev)
	}
	if st.Review == nil || len(st.Review.MissingDomains) != 1 || st.Review.MissingDomains[0] != "docs.motorcortex.dev" {
		t.Errorf("the review is %+v", st.Review)
	}
	r.wantEvents("Normal RevisionStored", "Normal SourceRead", "Normal AwaitingApproval")

	r.approve(func(a *v1alpha1.SkillApproval) { a.Note = "read it all" })
	r.step()
	sk = r.want(v1alpha1.SkillApproved, "Approved")
	r.wantConditions(readyToUse, "Stalled", "Reconciling")
	a := sk.Status.Approved
	if a == nil || a.RevisionName != rev.Name || a.ContentHash != st.ContentHash || a.PolicyHash != st.PolicyHash || a.SourceHash != st.ContentHash || a.ObservedTime.IsZero() || a.ApprovedBy == "" {
		t.Errorf("the record of the approval is %+v", a)
	}
	r.wantEvents("Normal Approved")

	r.patch(`{"policy":{"domains":["api.motorcortex.dev","cdn.motorcortex.dev"]}}`)
	r.step()
	sk = r.want(v1alpha1.SkillNeedsReapproval, "PolicyChanged", st.PolicyHash, r.skill().Status.PolicyHash)
	if sk.Status.PolicyHash == st.PolicyHash {
		t.Error("another policy has the same hash")
	}
	r.wantConditions("Ready False PolicyChanged", "Stalled")
	r.wantEvents("Warning PolicyChanged")
	r.approve()
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
	r.wantConditions(readyToUse)
}

// The approved files are kept although the source has others, if somebody says so: in the note of the same approval.
func TestApprovedFilesAreKept(t *testing.T) {
	r := approvedSkill(t)
	old := r.skill().Status.ContentHash
	keep := func(note string) {
		r.approve(func(a *v1alpha1.SkillApproval) { a.ContentHash, a.Note = old, note })
		r.step()
	}
	r.use(inline("SKILL.md", skillMD("send", "Two.")))
	r.step()
	r.want(v1alpha1.SkillNeedsReapproval, "ContentChanged")
	keep("")
	sk := r.want(v1alpha1.SkillNeedsReapproval, "ContentChanged", "another note")
	if note := sk.Status.Approved.Note; note == nil || *note != "" {
		t.Errorf("the status has not kept that there was no note: %v", note)
	}
	keep("the new ones are broken")
	sk = r.want(v1alpha1.SkillApproved, "Approved")
	if a := sk.Status.Approved; a.ContentHash != old || a.SourceHash != sk.Status.Source.ContentHash || a.Note == nil || *a.Note != "the new ones are broken" {
		t.Errorf("approved is %+v", a)
	}
	r.use(inline("SKILL.md", skillMD("send", "Three.")))
	r.step()
	r.want(v1alpha1.SkillNeedsReapproval, "ContentChanged")
}

// A patch of the spec can test what the status shows, as that of the plugin does, and what was once decided stays so.
func TestApprovalOfWhatTheStatusShows(t *testing.T) {
	r := approvedSkill(t)
	st := r.skill().Status
	decide := func(revision, approval string) error {
		patch := fmt.Sprintf(`[{"op":"test","path":"/status/revisionName","value":%q},{"op":"test","path":"/status/source/contentHash","value":%q},%s]`,
			revision, st.Source.ContentHash, approval)
		return admin.Patch(r.ctx, &v1alpha1.Skill{ObjectMeta: meta(r.key.Namespace, r.key.Name)}, client.RawPatch(types.JSONPatchType, []byte(patch)))
	}
	const withdrawn = `{"op":"remove","path":"/spec/approval"}`
	if err := decide("another", withdrawn); err == nil || r.skill().Spec.Approval == nil {
		t.Errorf("it is taken although the status shows something else: %v", err)
	}
	must(t, decide(st.RevisionName, withdrawn))
	r.step()
	sk := r.want(v1alpha1.SkillAwaitingApproval, "AwaitingApproval")
	if d := sk.Status.NewestDecided; d == nil || d.Name != st.RevisionName || d.CreationTime.IsZero() {
		t.Errorf("the newest that was decided about is %+v", d)
	}
}

func TestSkillPolicyIsChangedAndApprovedInOnePatch(t *testing.T) {
	r := approvedSkill(t)
	was := r.skill().Status.PolicyHash
	r.patch(`{"policy":{"tools":["fetch","bash"]}}`)
	r.step()
	now := r.skill().Status.PolicyHash
	r.patch(`{"policy":{"tools":["fetch"]}}`)
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
	r.patch(`{"policy":{"tools":["fetch","bash"]},"approval":{"policyHash":"` + now + `"}}`)
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
	if got := r.skill().Status.Approved.PolicyHash; got != now || got == was {
		t.Errorf("approved is the policy %s", got)
	}
}

func TestSkillConfigMapIsEdited(t *testing.T) {
	r := newSkillRig(t)
	r.put("front", "SKILL.md", skillMD("send", "One."))
	r.put("more", "references__api.md", "v1\n", "references__limits.md", "none\n")
	r.create("send", v1alpha1.SkillSpec{Source: fromConfigMaps("front", "more")})
	r.step()
	r.approve()
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
	approved := r.skill().Status.RevisionName
	reads := r.source.reads
	r.step()
	if r.source.reads != reads {
		t.Error("a pass read a source that nobody changed")
	}

	r.put("more", "references__api.md", "v2\n", "references__limits.md", "none\n")
	r.step()
	sk := r.want(v1alpha1.SkillNeedsReapproval, "ContentChanged", "references/api.md")
	if sk.Status.RevisionName == approved || len(sk.Status.Revisions) != 2 || sk.Status.Approved.RevisionName != approved {
		t.Errorf("the status is %+v", sk.Status)
	}
	if a := r.condition("Approved"); strings.Contains(a.Message, "limits.md") {
		t.Errorf("the message names a file that is the same: %s", a.Message)
	}
	// A restarted manager finds the same out.
	r.restart()
	r.step()
	r.want(v1alpha1.SkillNeedsReapproval, "ContentChanged", "references/api.md")

	r.put("more", "references__api.md", "v1\n", "references__limits.md", "none\n")
	r.step()
	if sk := r.want(v1alpha1.SkillApproved, "Approved"); sk.Status.RevisionName != approved {
		t.Errorf("the approved revision is %s, was %s", sk.Status.RevisionName, approved)
	}
}

func TestSkillRollback(t *testing.T) {
	r := approvedSkill(t)
	first := r.skill().Status
	r.use(inline("SKILL.md", skillMD("send", "Two.")))
	r.step()
	r.want(v1alpha1.SkillNeedsReapproval, "ContentChanged", "SKILL.md")
	r.approve()
	r.step()
	second := r.want(v1alpha1.SkillApproved, "Approved").Status
	if second.Approved.RevisionName == first.RevisionName {
		t.Fatal("the second content has the first revision")
	}
	r.approve(func(a *v1alpha1.SkillApproval) { a.ContentHash = first.ContentHash })
	r.step()
	sk := r.want(v1alpha1.SkillApproved, "Approved")
	if a := sk.Status.Approved; a.RevisionName != first.RevisionName || a.ContentHash != first.ContentHash || a.SourceHash != second.ContentHash {
		t.Errorf("the record of the approval is %+v", a)
	}
	// The source still gives the second content, which the approver knew. A third one is news.
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
	r.use(inline("SKILL.md", skillMD("send", "Three.")))
	r.step()
	r.want(v1alpha1.SkillNeedsReapproval, "ContentChanged", "SKILL.md")
}

func TestSkillApprovalOfAnotherSkill(t *testing.T) {
	r := newSkillRig(t, withoutChecks, "")
	r.create("other", v1alpha1.SkillSpec{Source: inline("SKILL.md", skillMD("other", "One."))})
	r.step()
	r.approve()
	r.step()
	other := r.want(v1alpha1.SkillApproved, "Approved").Spec.Approval

	r.create("send", v1alpha1.SkillSpec{Source: inline("SKILL.md", skillMD("send", "One.")), Approval: other})
	r.step()
	r.want(v1alpha1.SkillNeedsReapproval, "ContentUnknown", other.ContentHash)
	r.wantConditions("Ready False ContentUnknown", "Stalled")
	r.approve()
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
	r.approve(func(a *v1alpha1.SkillApproval) { a.ContentHash = other.ContentHash })
	r.step()
	r.want(v1alpha1.SkillNeedsReapproval, "ContentUnknown", other.ContentHash)
}

func TestSkillApprovalExpires(t *testing.T) {
	r := approvedSkill(t)
	end := r.now.Truncate(time.Second).Add(time.Hour)
	r.approve(func(a *v1alpha1.SkillApproval) { a.ExpirationTime = &metav1.Time{Time: end} })
	r.now = end.Add(-time.Minute)
	if res := r.step(); res.RequeueAfter < time.Minute || res.RequeueAfter > time.Minute+time.Second {
		t.Errorf("the next pass is in %s", res.RequeueAfter)
	}
	r.want(v1alpha1.SkillApproved, "Approved")
	r.now = end.Add(time.Second)
	if res := r.step(); res.RequeueAfter != 0 {
		t.Errorf("there is another pass in %s", res.RequeueAfter)
	}
	r.want(v1alpha1.SkillNeedsReapproval, "ApprovalExpired")
	r.approve(func(a *v1alpha1.SkillApproval) { a.ExpirationTime = &metav1.Time{Time: end.Add(time.Hour)} })
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
}

func TestSkillIsRejected(t *testing.T) {
	r := newSkillRig(t)
	r.create("send", v1alpha1.SkillSpec{Source: inline("SKILL.md", skillMD("send", "One."))})
	r.step()
	r.patch(`{"rejections":[{"contentHash":"` + r.skill().Status.ContentHash + `","note":"no"}]}`)
	r.step()
	r.want(v1alpha1.SkillRejected, "Rejected")
	r.wantConditions("Ready False Rejected", "Stalled")
	r.use(inline("SKILL.md", skillMD("send", "Two.")))
	r.step()
	r.want(v1alpha1.SkillAwaitingApproval, "AwaitingApproval")
}

func TestSkillIsRevoked(t *testing.T) {
	r := approvedSkill(t)
	r.events = nil
	r.approve(func(a *v1alpha1.SkillApproval) {
		a.Decision, a.Note = v1alpha1.SkillDecisionRevoked, "it is not needed"
	})
	r.step()
	r.want(v1alpha1.SkillRevoked, "Revoked")
	r.wantConditions("Ready False Revoked", "Stalled")
	r.wantEvents("Normal Revoked")
	r.approve()
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
}

func TestSkillApprovalIsTakenAway(t *testing.T) {
	r := approvedSkill(t)
	r.patch(`{"approval":null}`)
	r.step()
	r.want(v1alpha1.SkillAwaitingApproval, "AwaitingApproval")
	r.wantConditions("Ready False AwaitingApproval")
}
