// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// used makes a run that used the skill and ended at a time.
func (r *skillRig) used(name string, end time.Time, succeeded bool, change ...func(*v1alpha1.MotorRun)) {
	r.t.Helper()
	st := r.skill().Status
	status := v1alpha1.MotorRunStatus{
		Skill:          &v1alpha1.RunSkill{Name: r.key.Name, RevisionName: st.RevisionName, ContentHash: st.ContentHash, Approved: true},
		CompletionTime: &metav1.Time{Time: end},
		Result:         &v1alpha1.RunResult{OK: succeeded, Summary: "done"},
	}
	outcome := metav1.ConditionFalse
	if succeeded {
		outcome = metav1.ConditionTrue
	}
	for conditionType, is := range map[string]metav1.ConditionStatus{v1alpha1.ConditionFinished: metav1.ConditionTrue, v1alpha1.ConditionSucceeded: outcome} {
		apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: conditionType, Status: is, Reason: "Completed"})
	}
	run := newRun(r.ns, named(name))
	run.Status = status
	for _, c := range change {
		c(run)
	}
	status = run.Status
	must(r.t, admin.Create(r.ctx, run))
	base := run.DeepCopy()
	run.Status = status
	must(r.t, manager.Status().Patch(r.ctx, run, client.MergeFrom(base)))
}

func reviews(summary string) func(*v1alpha1.MotorRun) {
	return func(run *v1alpha1.MotorRun) {
		run.Spec.SkillReview, run.Spec.SkillRef, run.Spec.Tools = true, &v1alpha1.SkillRef{Name: "send"}, nil
		run.Status.Result.Summary = summary
	}
}

func (r *skillRig) wantUsage(runs, succeeded int64, rate string, last time.Time) {
	r.t.Helper()
	u := r.skill().Status.Usage
	if u.Runs != runs || u.Succeeded != succeeded || u.SuccessRate != rate || (u.LastUsedTime == nil) != last.IsZero() || u.LastUsedTime != nil && !u.LastUsedTime.Time.Equal(last) {
		r.t.Errorf("usage %+v (last %v), want %d, %d, %s, %v", u, u.LastUsedTime, runs, succeeded, rate, last)
	}
}

func TestSkillUsageIsCounted(t *testing.T) {
	r := approvedSkill(t)
	start := r.now.Truncate(time.Second)
	r.used("first", start, true)
	r.used("same-second", start, false)
	r.used("review", start, true, reviews("fine"))
	r.used("unapproved", start, true, func(run *v1alpha1.MotorRun) { run.Status.Skill.Approved = false })
	r.used("other", start, true, func(run *v1alpha1.MotorRun) { run.Status.Skill.Name = "other" })
	r.used("none", start, true, func(run *v1alpha1.MotorRun) { run.Status.Skill = nil })
	r.used("running", start, true, func(run *v1alpha1.MotorRun) { run.Status.Conditions = nil })
	r.used("of-an-earlier-skill", r.skill().CreationTimestamp.Add(-time.Minute), true)

	r.now = start.Add(4 * time.Second)
	if res := r.step(); res.RequeueAfter < 5*time.Second || res.RequeueAfter > 7*time.Second {
		t.Errorf("they are counted in %s", res.RequeueAfter)
	}
	r.wantUsage(0, 0, "", time.Time{})
	// One that ended just now waits, so that none of its second is missed.
	r.used("late", start.Add(9*time.Second), true)
	r.now = start.Add(10 * time.Second)
	if res := r.step(); res.RequeueAfter < 8*time.Second || res.RequeueAfter > 10*time.Second {
		t.Errorf("the last one is counted in %s", res.RequeueAfter)
	}
	r.wantUsage(2, 1, "50%", start)
	r.restart()
	r.used("also-late", start.Add(9*time.Second), true)
	r.now = start.Add(19 * time.Second)
	r.step()
	r.wantUsage(4, 3, "75%", start.Add(9*time.Second))
	r.restart()
	r.now = start.Add(time.Hour)
	if res := r.step(); res.RequeueAfter != 0 {
		t.Errorf("there is another pass in %s", res.RequeueAfter)
	}
	r.wantUsage(4, 3, "75%", start.Add(9*time.Second))
}

func TestReviewIsKeptAsAdvice(t *testing.T) {
	r := newSkillRig(t)
	r.create("send", v1alpha1.SkillSpec{Source: inline("SKILL.md", skillMD("send", "One."))})
	r.step()
	rev := r.skill().Status.RevisionName
	start := r.now.Truncate(time.Second)
	unapproved := func(run *v1alpha1.MotorRun) { run.Status.Skill.Approved = false }
	r.used("first", start, true, reviews("It is \x1b[31mfine.\u202e"), unapproved)
	r.step()
	a := r.revision(rev).Status.Advice
	if a == nil || a.RunName != "first" || a.Text != "It is \uFFFD[31mfine.\uFFFD" || !a.AdviceTime.Time.Equal(start) {
		t.Errorf("the advice is %+v", a)
	}
	r.used("failed", start.Add(time.Second), false, reviews("no"), unapproved)
	r.used("earlier", start.Add(-time.Second), true, reviews("no"), unapproved)
	r.used("of-another", start.Add(time.Second), true, reviews("no"), unapproved, func(run *v1alpha1.MotorRun) { run.Status.Skill.RevisionName = "other" })
	r.step()
	if a := r.revision(rev).Status.Advice; a.RunName != "first" {
		t.Errorf("the advice is %+v", a)
	}
	r.used("second", start.Add(2*time.Second), true, reviews(strings.Repeat("漢", 8000)), unapproved)
	r.restart()
	r.step()
	if a := r.revision(rev).Status.LatestAdvice; a == nil || a.RunName != "second" || a.RequestedBy != "admin" || len(a.Text) > 8<<10 || !strings.HasSuffix(a.Text, "…") {
		t.Errorf("the newest advice is %+v", a)
	}
	if a := r.revision(rev).Status.Advice; a.RunName != "first" || a.Text != "It is \uFFFD[31mfine.\uFFFD" {
		t.Errorf("the first advice is %+v", a)
	}
	// It decides nothing.
	r.want(v1alpha1.SkillAwaitingApproval, "AwaitingApproval")
	r.wantUsage(0, 0, "", time.Time{})
}
