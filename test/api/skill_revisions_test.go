// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/hold"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// propose stores files as a run does that changed them.
func (r *skillRig) propose(run string, files ...string) *v1alpha1.SkillRevision {
	r.t.Helper()
	store := skillstore.Store{Client: manager, Live: manager}
	spec := v1alpha1.SkillRevisionSpec{
		SkillName: r.key.Name, Description: "Sends a message.",
		ExtractedFrom: &v1alpha1.ExtractedFrom{RunName: run, RunUID: "u", ChangedFiles: []string{"SKILL.md"}},
	}
	_, checked, err := skill.Check(r.key.Name, contents(files...))
	must(r.t, err)
	rev, err := store.Put(r.ctx, r.skill(), spec, checked)
	must(r.t, err)
	return rev
}

// runOf makes a run that uses a revision.
func (r *skillRig) runOf(revision string) *v1alpha1.MotorRun {
	r.t.Helper()
	run := createRun(r.ctx, r.t, r.ns, named("run-of-"+revision), func(run *v1alpha1.MotorRun) { run.Spec.SkillRef = &v1alpha1.SkillRef{Name: r.key.Name} })
	base := run.DeepCopy()
	run.Status.Skill = &v1alpha1.RunSkill{Name: r.key.Name, RevisionName: revision, ContentHash: r.revision(revision).Spec.ContentHash}
	must(r.t, manager.Status().Patch(r.ctx, run, client.MergeFrom(base)))
	return run
}

func revisionsOf(st v1alpha1.SkillStatus) []string {
	var names []string
	for _, rev := range st.Revisions {
		names = append(names, rev.Name)
	}
	return names
}

// A proposal of a run touches no approval. It is there to be looked at, and approving it selects it.
func TestRunProposesARevision(t *testing.T) {
	r := approvedSkill(t)
	r.events, r.notes = nil, nil
	approved := r.skill().Status.Approved.RevisionName
	rev := r.propose("repair", "SKILL.md", skillMD("send", "Repaired."))
	r.step()
	sk := r.want(v1alpha1.SkillApproved, "Approved")
	r.wantConditions(readyToUse, "Reviewed True FactsGathered")
	i := slices.IndexFunc(sk.Status.Revisions, func(s v1alpha1.RevisionSummary) bool { return s.Name == rev.Name })
	if sk.Status.Approved.RevisionName != approved || i < 0 || sk.Status.Revisions[i].RunName != "repair" {
		t.Errorf("the status is %+v", sk.Status)
	}
	if r.revision(rev.Name).Status.ReviewTime == nil {
		t.Error("nobody looked at the proposal")
	}
	r.wantEvents("Normal RevisionProposed")
	r.approve(func(a *v1alpha1.SkillApproval) { a.ContentHash = rev.Spec.ContentHash })
	r.step()
	if sk = r.want(v1alpha1.SkillApproved, "Approved"); sk.Status.Approved.RevisionName != rev.Name {
		t.Errorf("approved is %s", sk.Status.Approved.RevisionName)
	}
	r.restart()
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
}

func TestSkillThatARunWrote(t *testing.T) {
	r := newSkillRig(t)
	r.create("send", v1alpha1.SkillSpec{})
	r.step()
	r.want(v1alpha1.SkillPendingReview, "NoRevision")
	r.wantConditions("SourceReady False NoSource", "Reviewed False NoRevision", "Ready False NoRevision", "Stalled", "Reconciling")
	rev := r.propose("learn", "SKILL.md", skillMD("send", "Learned."))
	r.step()
	if sk := r.want(v1alpha1.SkillAwaitingApproval, "AwaitingApproval"); sk.Status.RevisionName != rev.Name {
		t.Errorf("the revision is %s", sk.Status.RevisionName)
	}
	r.approve()
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
	r.wantConditions(readyToUse)
}

// What is not what it says is as if it were not there, also when an approval names it.
func TestForeignRevisionIsIgnored(t *testing.T) {
	r := approvedSkill(t, withoutChecks, "")
	r.events, r.notes = nil, nil
	whole := r.propose("run", "SKILL.md", skillMD("send", "Forged."))
	r.step()
	r.wantEvents("Normal RevisionProposed")
	tests := map[string]struct {
		says   string
		change func(*v1alpha1.SkillRevision)
	}{
		"no owner":      {"controller", func(rev *v1alpha1.SkillRevision) { rev.OwnerReferences = nil }},
		"another owner": {"controller", func(rev *v1alpha1.SkillRevision) { rev.OwnerReferences[0].UID = "u" }},
		"another file":  {"contentHash", func(rev *v1alpha1.SkillRevision) { rev.Spec.Files[0].SHA256 = strings.Repeat("0", 64) }},
		"another skill": {"another skill", func(rev *v1alpha1.SkillRevision) { rev.Spec.SkillName = "other" }},
		"not its name":  {"name", func(*v1alpha1.SkillRevision) {}},
		"no controller": {"controller", func(rev *v1alpha1.SkillRevision) { rev.OwnerReferences[0].Controller = nil }},
	}
	for name, tt := range tests {
		rev := &v1alpha1.SkillRevision{ObjectMeta: meta(r.ns, "forged-"+strings.ReplaceAll(name, " ", "-")), Spec: *whole.Spec.DeepCopy()}
		rev.Labels, rev.OwnerReferences = whole.Labels, slices.Clone(whole.OwnerReferences)
		tt.change(rev)
		must(t, admin.Create(r.ctx, rev))
		r.step()
		if names := revisionsOf(r.skill().Status); slices.Contains(names, rev.Name) {
			t.Errorf("%s: the status lists it: %q", name, names)
		}
		if len(r.notes) != 1 || !strings.Contains(r.notes[0], rev.Name) || !strings.Contains(r.notes[0], tt.says) {
			t.Errorf("%s: the events say %q", name, r.notes)
		}
		r.wantEvents("Warning RevisionIgnored")
		must(t, admin.Delete(r.ctx, rev))
	}
}

// A revision whose bytes are not those that it names is not offered to anybody.
func TestRevisionWithOtherBytes(t *testing.T) {
	r := newSkillRig(t, withoutChecks, "")
	r.create("send", v1alpha1.SkillSpec{})
	rev := r.propose("run", "SKILL.md", skillMD("send", "One."))
	cm := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: r.ns, Name: rev.Spec.ConfigMapNames[0]}
	must(t, admin.Get(r.ctx, key, cm))
	must(t, admin.Delete(r.ctx, cm))
	other := cm.DeepCopy()
	other.ResourceVersion, other.UID = "", ""
	other.BinaryData["content"] = []byte(skillMD("send", "Two."))
	must(t, admin.Create(r.ctx, other))
	r.step()
	if sk := r.want(v1alpha1.SkillPendingReview, "NoRevision"); len(sk.Status.Revisions) != 0 {
		t.Errorf("the revisions are %+v", sk.Status.Revisions)
	}
	if len(r.events) == 0 || r.events[0] != "Warning RevisionIgnored" {
		t.Errorf("events %q", r.events)
	}
	// Without its bytes it waits for whoever stores it, and goes after a while.
	must(t, admin.Delete(r.ctx, other))
	if res := r.step(); res.RequeueAfter < 50*time.Minute || res.RequeueAfter > time.Hour+10*time.Minute {
		t.Errorf("there is another pass in %s", res.RequeueAfter)
	}
	r.now = r.now.Add(70 * time.Minute)
	r.step()
	if names := r.revisionNames(); len(names) != 0 {
		t.Errorf("there are %q", names)
	}
}

// A run can store the rest of the bytes after the cache was read. What it was told to have proposed is not deleted.
func TestRevisionThatIsCompletedMeanwhileStays(t *testing.T) {
	r := newSkillRig(t)
	r.create("send", v1alpha1.SkillSpec{})
	rev := r.propose("run", "SKILL.md", skillMD("send", "One."))
	r.rec.Heads = interceptor.NewClient(manager, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if k.Name == rev.Spec.ConfigMapNames[0] {
				return apierrors.NewNotFound(corev1.Resource("configmaps"), k.Name)
			}
			return c.Get(ctx, k, o, opts...)
		},
	})
	r.now = r.now.Add(70 * time.Minute)
	r.once()
	if names := r.revisionNames(); !slices.Equal(names, []string{rev.Name}) || hold.IsLeaving(r.revision(rev.Name)) {
		t.Fatalf("there are %q", names)
	}
	r.rec.Heads = manager
	r.step()
	if names := revisionsOf(r.skill().Status); !slices.Equal(names, []string{rev.Name}) {
		t.Errorf("the status has %q", names)
	}
}

// The approved revision without its bytes is no approved revision.
func TestApprovedRevisionLosesItsBytes(t *testing.T) {
	r := newSkillRig(t)
	r.create("send", v1alpha1.SkillSpec{})
	rev := r.propose("run", "SKILL.md", skillMD("send", "One."))
	r.step()
	r.approve()
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
	must(t, admin.Delete(r.ctx, &corev1.ConfigMap{ObjectMeta: meta(r.ns, rev.Spec.ConfigMapNames[0])}))
	r.step()
	r.want(v1alpha1.SkillNeedsReapproval, "ContentUnknown", rev.Spec.ContentHash)
	r.now = r.now.Add(day)
	r.step()
	if names := r.revisionNames(); !slices.Equal(names, []string{rev.Name}) {
		t.Errorf("there are %q", names)
	}
	r.propose("again", "SKILL.md", skillMD("send", "One."))
	r.step()
	r.want(v1alpha1.SkillApproved, "Approved")
}

func TestRevisionsAreKept(t *testing.T) {
	r := approvedSkill(t)
	keep := []string{r.skill().Status.Approved.RevisionName}
	held := r.propose("held", "SKILL.md", skillMD("send", "Held.")).Name
	r.runOf(held)
	keep = append(keep, held)
	for i := range 22 {
		r.propose(fmt.Sprintf("run-%d", i), "SKILL.md", skillMD("send", fmt.Sprintf("Proposal %d.", i)))
	}
	before := r.revisionNames()
	r.step()
	sk := r.want(v1alpha1.SkillApproved, "Approved")
	names := revisionsOf(sk.Status)
	got := r.revisionNames()
	if len(before) != 24 || len(got) != 20 || len(names) != 20 {
		t.Fatalf("%d of %d revisions are there, %d are listed", len(got), len(before), len(names))
	}
	var times []time.Time
	for _, s := range sk.Status.Revisions {
		times = append(times, s.CreationTime.Time)
		if !slices.Contains(got, s.Name) {
			t.Errorf("%s is listed and gone", s.Name)
		}
	}
	if !slices.IsSortedFunc(times, func(a, b time.Time) int { return b.Compare(a) }) {
		t.Errorf("the newest is not the first: %v", times)
	}
	for _, name := range keep {
		if !slices.Contains(got, name) {
			t.Errorf("%s is gone", name)
		}
	}
	// Those that runs use stay, however many: the status has no more than 20 all the same, and what is approved among them.
	for _, name := range got {
		if name != keep[0] && name != held {
			r.runOf(name)
		}
	}
	// Times of creation are whole seconds: those of the same one may go in any order.
	must(t, wait.PollUntilContextTimeout(r.ctx, 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return time.Now().Unix() > times[0].Unix(), nil
	}))
	for i := range 3 {
		r.propose(fmt.Sprintf("more-%d", i), "SKILL.md", skillMD("send", fmt.Sprintf("More %d.", i)))
	}
	r.step()
	sk = r.want(v1alpha1.SkillApproved, "Approved")
	names, after := revisionsOf(sk.Status), r.revisionNames()
	if len(names) > 20 || len(names) < 19 || !slices.Contains(names, keep[0]) || len(after) < 21 {
		t.Errorf("%d are listed, %d are there, approved is listed: %t", len(names), len(after), slices.Contains(names, keep[0]))
	}
	for _, name := range got {
		if !slices.Contains(after, name) {
			t.Errorf("%s is gone, which a run uses", name)
		}
	}
}

// A revision that was marked, and is wanted again before it was deleted, can be used again. One that is not is deleted.
func TestMarkedRevisions(t *testing.T) {
	r := newSkillRig(t, withoutChecks, "")
	r.create("send", v1alpha1.SkillSpec{})
	for i := range 20 {
		r.propose(fmt.Sprintf("run-%d", i), "SKILL.md", skillMD("send", fmt.Sprintf("Proposal %d.", i)))
	}
	names := r.revisionNames()
	for _, name := range names {
		rev := r.revision(name)
		base := rev.DeepCopy()
		rev.Annotations = map[string]string{v1alpha1.AnnotationLeaving: "true"}
		must(t, manager.Patch(r.ctx, rev, client.MergeFrom(base)))
	}
	r.step()
	for _, name := range names {
		if hold.IsLeaving(r.revision(name)) {
			t.Errorf("%s is still marked", name)
		}
	}
	// A run that the cache does not show keeps its revision, and there is another look soon.
	for _, name := range names {
		r.runOf(name)
	}
	r.propose("one-more", "SKILL.md", skillMD("send", "One more."))
	hidden := true
	r.rec.Client = withoutRuns(&hidden)
	if res := r.once(); res.RequeueAfter <= 0 || res.RequeueAfter > 2*time.Minute {
		t.Errorf("there is another pass in %s", res.RequeueAfter)
	}
	left := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !hold.IsLeaving(r.revision(name)) })
	if got := r.revisionNames(); len(got) != 21 || len(left) != 1 {
		t.Fatalf("there are %q, marked are %q", got, left)
	}
	hidden = false
	must(t, admin.Delete(r.ctx, &v1alpha1.MotorRun{ObjectMeta: meta(r.ns, "run-of-"+left[0])}))
	r.step()
	if got := r.revisionNames(); len(got) != 20 || slices.Contains(got, left[0]) {
		t.Errorf("without the run of %s there are %q", left[0], got)
	}
}

// withoutRuns is a cache that shows no run while that is so.
func withoutRuns(hidden *bool) client.Client {
	return interceptor.NewClient(manager, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if runs, ok := list.(*v1alpha1.MotorRunList); ok && *hidden {
				runs.Items = nil
			}
			return err
		},
	})
}

// Files that end the operator's process while it looks through them are looked at twice, and then no more.
func TestReviewThatEndsTheProcess(t *testing.T) {
	r := approvedSkill(t)
	began := func(rev *v1alpha1.SkillRevision, times int32) {
		t.Helper()
		rev = r.revision(rev.Name)
		base := rev.DeepCopy()
		rev.Status = v1alpha1.SkillRevisionStatus{ReviewStarts: times}
		must(t, manager.Status().Patch(r.ctx, rev, client.MergeFrom(base)))
	}
	rev := r.propose("hostile", "SKILL.md", skillMD("send", "Hostile."))
	began(rev, 2)
	r.events, r.notes = nil, nil
	r.step()
	r.wantConditions("Reviewed False ReviewSetAside", "Stalled True ReviewSetAside")
	if st := r.revision(rev.Name).Status; st.ReviewTime != nil || st.ReviewStarts != 2 {
		t.Errorf("it was looked at: %+v", st)
	}
	// After one such end it is looked at once more, and what is done then is written.
	began(rev, 1)
	r.restart()
	r.step()
	r.wantConditions("Reviewed True FactsGathered", "Stalled")
	if st := r.revision(rev.Name).Status; st.ReviewTime == nil || st.ReviewStarts != 0 {
		t.Errorf("it was not looked at: %+v", st)
	}
}
