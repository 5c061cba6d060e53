// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A popular skill is one object that all of its runs read. If each of them wrote it, it would grow with them, and they would wait for each other.
func TestRunsOfASkillWriteItsRevisionOnce(t *testing.T) {
	const others = 19
	r := approvedUsingRig(t, mailPolicy())
	r.use()
	r.start()
	name := r.pinned().RevisionName
	first := r.skills.revision(name).ResourceVersion
	for i := range others {
		r.another(fmt.Sprint("run-", i))
		r.settle()
		r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
	}
	for i := range others {
		r.key.Name = fmt.Sprint("run-", i)
		r.cancel()
	}
	if rev := r.skills.revision(name); rev.ResourceVersion != first {
		t.Errorf("after %d more runs the revision is another one: %+v", others, rev.ObjectMeta)
	}
}

// The revision outlives its Skill until the last run of it has ended, in whatever sandbox.
func TestSkillIsDeletedWhileRunsUseIt(t *testing.T) {
	r := approvedUsingRig(t, mailPolicy())
	r.use()
	r.start()
	name := r.pinned().RevisionName
	unused := r.skills.propose("repair", "SKILL.md", skillMD("mail", "Repaired.")).Name
	r.another("second")
	r.settle()
	r.deleteSkill()
	r.wantRevisions("while two runs use one of "+name+" and "+unused, name)
	r.cancel()
	r.skills.once()
	r.wantRevisions("after the end of one run", name)
	r.key.Name = "run"
	r.settle()
	r.want(v1alpha1.PhaseRunning, "Accepted True Accepted")
	r.cancel()
	r.skills.once()
	r.wantRevisions("after the end of both runs")
}

// A run that has not ended when it is deleted holds nothing any more.
func TestRunIsDeletedWhoseSkillIsGone(t *testing.T) {
	r := approvedUsingRig(t, mailPolicy())
	r.use()
	r.start()
	name := r.pinned().RevisionName
	r.deleteSkill()
	r.wantRevisions("while the run is there", name)
	must(t, admin.Delete(r.ctx, r.run()))
	r.skills.once()
	r.wantRevisions("without the run")
}

// A skill of the same name has revisions of its own, and those of the earlier one go when their runs have ended.
func TestSkillIsMadeAnewWhileARunUsesTheEarlierOne(t *testing.T) {
	r := approvedUsingRig(t, mailPolicy())
	r.use()
	r.start()
	old := r.pinned().RevisionName
	r.deleteSkill()
	r.skills.create("mail", v1alpha1.SkillSpec{Source: inline("SKILL.md", skillMD("mail", "Another one.")), Policy: mailPolicy()})
	r.skills.step()
	added := r.skills.skill().Status.RevisionName
	if added == "" || added == old || len(r.skills.revisionNames()) != 2 {
		t.Fatalf("the revision is %q, there are %q", added, r.skills.revisionNames())
	}
	r.cancel()
	r.skills.once()
	r.wantRevisions("after the end of the run", added)
}

// The status of a run is written after the list of the runs that use a revision: the run finds the revision gone, and does not begin.
func TestRunChoosesARevisionThatIsBeingDeleted(t *testing.T) {
	r := approvedUsingRig(t, mailPolicy())
	// A revision that has never been used is the garbage collector's.
	r.use()
	r.settle()
	r.cancel()
	r.another("late")
	deleted := false
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if run, ok := o.(*v1alpha1.MotorRun); ok && run.Status.Skill != nil && !deleted {
				deleted = true
				r.deleteSkill()
				r.wantRevisions("after the deletion")
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	r.once()
	pin := r.pinned()
	r.once()
	if run := r.run(); run.Status.Skill != nil || !strings.Contains(run.Status.Message, pin.RevisionName+" of the skill mail was deleted") {
		t.Errorf("the status has %+v and says %q", run.Status.Skill, run.Status.Message)
	}
	r.settle()
	r.wantBlocked("Accepted", "SkillNotFound", "mail")
	if r.pod() != nil {
		t.Error("there is a Pod without the files")
	}
}

// The status of a run is written between the mark of a revision and the list of the runs that use it.
func TestRunChoosesARevisionThatIsMarked(t *testing.T) {
	for name, confirmed := range map[string]bool{"the run has looked before the mark": true, "the run looks after the mark": false} {
		t.Run(name, func(t *testing.T) {
			r := approvedUsingRig(t, mailPolicy())
			r.use()
			r.settle()
			r.cancel()
			r.another("late")
			revision := r.skills.skill().Status.RevisionName
			// The run reads the skill before it is deleted, and the cache of the leader does not have what the run writes then.
			r.once()
			if confirmed {
				r.settle()
			}
			hidden := true
			r.skills.rec.Client = withoutRuns(&hidden)
			r.deleteSkill()
			r.wantRevisions("while a run uses it", revision)
			r.settle()
			if kept := r.run().Status.Skill != nil; kept != confirmed || (r.pod() != nil) != confirmed {
				t.Errorf("the run has %+v and a Pod: %t", r.run().Status.Skill, r.pod() != nil)
			}
			if !confirmed {
				r.wantBlocked("Accepted", "SkillNotFound", "mail")
			}
			hidden = false
			r.cancel()
			r.skills.once()
			r.wantRevisions("after the end of the run")
		})
	}
}

// A run waits for a revision that is about to go, and has it if it stays after all.
func TestRunWaitsForARevisionThatIsMarked(t *testing.T) {
	r := approvedUsingRig(t, mailPolicy())
	revision := r.skills.revision(r.skills.skill().Status.RevisionName)
	base := revision.DeepCopy()
	revision.Annotations = map[string]string{v1alpha1.AnnotationLeaving: "true"}
	must(t, manager.Patch(r.ctx, revision, client.MergeFrom(base)))
	r.use()
	r.wantBlocked("Accepted", "SkillNotFound", revision.Name+" of the skill mail is about to be deleted")
	if pin := r.run().Status.Skill; pin != nil {
		t.Errorf("the run has %+v", pin)
	}
	r.skills.step()
	r.settle()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted", "Stalled ")
}

// During an update a leader of 0.2 makes a run an owner of the revision, before it writes the status. The next leader is a newer one.
func TestRevisionThatAnEarlierLeaderHolds(t *testing.T) {
	r := approvedUsingRig(t, mailPolicy())
	r.use()
	revision := r.skills.skill().Status.RevisionName
	r.holdAsBefore(revision)
	r.deleteSkill()
	r.wantRevisions("while the run is its owner", revision)
	r.cancel()
	r.skills.once()
	r.wantRevisions("after the end of the run")
}

// cancel ends the run.
func (r *usingRig) cancel() {
	r.t.Helper()
	r.patchSpec(`{"cancel":true}`)
	r.settle()
	r.wantEnd(v1alpha1.PhaseCancelled, "Cancelled")
}
