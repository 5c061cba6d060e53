// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/skill"
)

// made adds a Skill that a run made, with a revision.
func (r *skillRig) made(name, run string, change func(*v1alpha1.Skill)) {
	r.t.Helper()
	sk := &v1alpha1.Skill{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelRunUID: run},
	}, Status: v1alpha1.SkillStatus{ObservedGeneration: 1, Revisions: []v1alpha1.RevisionSummary{{Name: name + "-1"}}}}
	if change != nil {
		change(sk)
	}
	r.must(r.client.Create(r.t.Context(), sk))
}

// rejectedFor returns why the only folder is rejected, "" if it is accepted.
func rejectedFor(t testing.TB, got *v1alpha1.SkillsResult) string {
	t.Helper()
	switch {
	case got == nil || len(got.Created)+len(got.Updated)+len(got.Rejected) != 1:
		t.Fatalf("it says %+v", got)
	case len(got.Rejected) == 1:
		return got.Rejected[0].Message
	}
	return ""
}

// A run makes some new Skills and no more, however often it is tried.
func TestNewSkillsOfARun(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	for i := range maxNewSkills + 2 {
		name := fmt.Sprintf("s%d", i)
		r.sandbox.has("skills/"+name, "SKILL.md", manifestOf(name, "x"))
	}
	for range 2 { // The second time as after a crash before it was recorded.
		got := r.collect()
		if len(got.Created) != maxNewSkills || len(got.Rejected) != 2 || !strings.Contains(got.Rejected[0].Message, "the run has made 8 new Skills") {
			t.Errorf("%+v", got)
		}
	}
	// The next attempt writes others.
	r.sandbox.clear()
	r.sandbox.has("skills/other", "SKILL.md", manifestOf("other", "x"))
	if why := rejectedFor(t, r.collect()); !strings.Contains(why, "the run has made 8 new Skills") || !strings.Contains(why, "these files are not kept") {
		t.Errorf("it says %q", why)
	}
	// Existing Skills can still be changed, and another run has its own limit.
	r.sandbox.clear()
	r.sandbox.has("skills/s0", "SKILL.md", manifestOf("s0", "y"))
	if why := rejectedFor(t, r.collect()); why != "" {
		t.Errorf("a change: %s", why)
	}
	r.run.UID = "later-uid"
	r.sandbox.clear()
	r.sandbox.has("skills/other", "SKILL.md", manifestOf("other", "x"))
	r.steps = nil
	r.must(r.client.DeleteAllOf(t.Context(), &v1alpha1.MotorStep{}, client.InNamespace("ns")))
	if why := rejectedFor(t, r.collect()); why != "" {
		t.Errorf("another run: %s", why)
	}
}

// Runs make no more Skills than people review.
func TestSkillsThatNobodyDecidesAbout(t *testing.T) {
	t.Parallel()
	approval := &v1alpha1.SkillApproval{ContentHash: "sha256:" + strings.Repeat("0", 64)}
	empty := func(age time.Duration, seen int64) func(*v1alpha1.Skill) {
		return func(sk *v1alpha1.Skill) {
			sk.CreationTimestamp, sk.Status = metav1.NewTime(enginetest.Noon.Add(-age)), v1alpha1.SkillStatus{ObservedGeneration: seen}
		}
	}
	for name, tt := range map[string]struct {
		change func(*v1alpha1.Skill)
		full   bool
		// hint is an additional part of the message.
		hint string
	}{
		"nobody has decided": {nil, true, ""},
		"one is approved":    {func(sk *v1alpha1.Skill) { sk.Spec.Approval = approval }, false, ""},
		"one was approved":   {func(sk *v1alpha1.Skill) { sk.Status.NewestDecided = &sk.Status.Revisions[0] }, false, ""},
		"one is rejected": {func(sk *v1alpha1.Skill) {
			sk.Spec.Rejections = []v1alpha1.SkillRejection{{ContentHash: approval.ContentHash}}
		}, false, ""},
		"one is a person's":               {func(sk *v1alpha1.Skill) { sk.Labels = nil }, false, ""},
		"one is elsewhere":                {func(sk *v1alpha1.Skill) { sk.Namespace = "other" }, false, ""},
		"one got no files":                {empty(emptySkillAge, 1), false, ""},
		"one has no files yet":            {empty(emptySkillAge-time.Second, 1), true, " (1 without files: delete those)"},
		"nobody knows whether it has any": {empty(2*emptySkillAge, 0), true, " (1 without files: delete those)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSkillRig(t)
			for i := range maxUndecidedSkills - 1 {
				r.made(fmt.Sprintf("s%d", i), fmt.Sprintf("run-%d", i), nil)
			}
			r.made("last", "another", tt.change)
			r.sandbox.has(".", "SKILL.md", manifestOf("mail", "x"))
			why := rejectedFor(t, r.collect())
			if want := "there are 50 undecided Skills that runs made, and there may be no more: these files are not kept, run it again after " +
				"you have approved, rejected or deleted some of kubectl -n ns get skills -l app.kubernetes.io/managed-by=motorcortex" + tt.hint; tt.full && why != want || !tt.full && why != "" {
				t.Errorf("it says %q", why)
			}
			var sk v1alpha1.Skill
			if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "mail"}, &sk); (err != nil) != tt.full {
				t.Errorf("the Skill: %v", err)
			}
		})
	}
}

// Loops that end at the same moment do not create more together than one after the other.
func TestSkillsOfManyRunsAtOnce(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	for i := range maxUndecidedSkills - 3 {
		r.made(fmt.Sprintf("s%d", i), fmt.Sprintf("run-%d", i), nil)
	}
	var collectors []*Collector
	for i := range 12 {
		c := r.collector()
		run := *r.run
		run.UID = types.UID(fmt.Sprintf("at-once-%d", i))
		c.env.Run = &run
		collectors = append(collectors, c)
	}
	var wg sync.WaitGroup
	for i, c := range collectors {
		wg.Go(func() {
			if _, _, _, err := c.skill(t.Context(), fmt.Sprintf("new-%d", i), false); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var list v1alpha1.SkillList
	r.must(r.client.List(t.Context(), &list))
	if len(list.Items) != maxUndecidedSkills {
		t.Errorf("there are %d Skills", len(list.Items))
	}
}

// Proposals of one Skill do not accumulate, and none is displaced by the next.
func TestProposalsOfASkillAreBounded(t *testing.T) {
	t.Parallel()
	r := newSkillRig(t)
	r.makesAt(enginetest.Noon)
	r.pin("mail", "SKILL.md", manifestOf("mail", "before"))
	for i := range skill.MaxProposals {
		if why, _ := r.propose(fmt.Sprint(i)); why != "" {
			t.Fatalf("%d: %s", i, why)
		}
	}
	why, _ := r.propose("more")
	if !strings.HasPrefix(why, "the Skill mail has 10 undecided proposals") || !strings.Contains(why, "these files are not kept, run it again") || len(r.revisions()) != 1+skill.MaxProposals {
		t.Errorf("it says %q, and there are %d", why, len(r.revisions()))
	}
	// The same proposal again adds none.
	if why, got := r.propose(fmt.Sprint(skill.MaxProposals - 1)); why != "" || len(got.Updated) != 1 {
		t.Errorf("the last one again: %q %+v", why, got)
	}
	var sk v1alpha1.Skill
	r.must(r.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "mail"}, &sk))
	sk.Spec.Rejections = []v1alpha1.SkillRejection{{ContentHash: r.hashOf("3")}}
	r.must(r.client.Update(t.Context(), &sk))
	if why, _ := r.propose("more"); why != "" {
		t.Errorf("one is rejected, and it says %q", why)
	}
	if why, _ := r.propose("and more"); why == "" {
		t.Error("there is room again")
	}
}

// Proposals that no person can decide about do not count against new ones.
func TestProposalsThatDoNotCount(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		made time.Time
		// change is done to the Skill and to the first of as many proposals as there may be.
		change func(*skillRig, *v1alpha1.Skill, *v1alpha1.SkillRevision)
		full   bool
	}{
		"just made":                {enginetest.Noon, nil, true},
		"the status does not list": {enginetest.Noon.Add(-unsettledAge), nil, false},
		"the status lists it": {enginetest.Noon.Add(-unsettledAge), func(r *skillRig, sk *v1alpha1.Skill, rev *v1alpha1.SkillRevision) {
			sk.Status.Revisions = []v1alpha1.RevisionSummary{skill.Summary(rev)}
			r.must(r.client.Update(r.t.Context(), sk))
		}, true},
		"is being deleted": {enginetest.Noon, func(r *skillRig, _ *v1alpha1.Skill, rev *v1alpha1.SkillRevision) {
			rev.Finalizers = []string{"motorcortex.dev/held"}
			r.must(r.client.Update(r.t.Context(), rev))
			r.must(r.client.Delete(r.t.Context(), rev))
		}, false},
		"of a former Skill": {enginetest.Noon, func(r *skillRig, _ *v1alpha1.Skill, rev *v1alpha1.SkillRevision) {
			rev.OwnerReferences[0].UID = "former"
			r.must(r.client.Update(r.t.Context(), rev))
		}, false},
		"approved before an older one": {enginetest.Noon, func(r *skillRig, sk *v1alpha1.Skill, rev *v1alpha1.SkillRevision) {
			sk.Spec.Approval = &v1alpha1.SkillApproval{ContentHash: r.hashOf("before")}
			sk.Status.NewestDecided = new(skill.Summary(rev))
			r.must(r.client.Update(r.t.Context(), sk))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSkillRig(t)
			r.makesAt(enginetest.Noon)
			r.pin("mail", "SKILL.md", manifestOf("mail", "before"))
			var first *v1alpha1.SkillRevision
			for i := range skill.MaxProposals {
				r.makesAt(enginetest.Noon)
				if i == 0 {
					r.makesAt(tt.made)
				}
				why, got := r.propose(fmt.Sprint(i))
				if why != "" {
					t.Fatal(why)
				}
				if i == 0 {
					first = r.revision(got.Updated[0])
				}
			}
			if tt.change != nil {
				var sk v1alpha1.Skill
				r.must(r.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "mail"}, &sk))
				tt.change(r, &sk, first)
			}
			if why, _ := r.propose("more"); (why != "") != tt.full {
				t.Errorf("it says %q", why)
			}
		})
	}
}

// propose makes the run leave a skill with that body, and returns why it is rejected.
func (r *skillRig) propose(body string) (why string, got *v1alpha1.SkillsResult) {
	r.t.Helper()
	r.run.UID = types.UID("run-of-" + body)
	r.adopt()
	r.sandbox.clear()
	r.sandbox.has(".", "SKILL.md", manifestOf("mail", body))
	got = r.collect()
	return rejectedFor(r.t, got), got
}

// makesAt sets the time at which revisions are made from now on.
func (r *skillRig) makesAt(at time.Time) {
	r.before = func(o client.Object) error {
		if rev, ok := o.(*v1alpha1.SkillRevision); ok {
			rev.CreationTimestamp = metav1.NewTime(at)
		}
		return nil
	}
}

// hashOf is the contentHash of the skill mail with that body.
func (r *skillRig) hashOf(body string) string {
	return skill.ContentHash([]skill.File{{Path: skill.ManifestName, Content: []byte(manifestOf("mail", body))}})
}

// adopt returns the steps to the run, whose UID is another one now.
func (r *skillRig) adopt() {
	r.t.Helper()
	r.must(r.client.DeleteAllOf(r.t.Context(), &v1alpha1.MotorStep{}, client.InNamespace("ns")))
	r.steps = nil
	r.did("bash", "{}")
}
