// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// usageSettled is how long ago a run ended that is counted: by then every run that ended in the same second is seen.
	usageSettled = 5 * time.Second
	// usageDelay is how long a run waits to be counted, so that those that end soon after it are counted in the same write.
	usageDelay = 10 * time.Second
	// maxAdvice is the most of a model's text about a revision that is kept.
	maxAdvice = 8 << 10
)

// usage counts the runs that ended, and keeps what the reviewing ones said.
//
// Nothing marks a run as counted. Those that ended up to status.usage.lastUsedAt are, and no others: runs are counted in the
// order of their ends, and those of one second together. One that is deleted before its turn is not counted.
func (r *SkillReconciler) usage(ctx context.Context, s *skillScope) error {
	var runs v1alpha1.MotorRunList
	if err := r.List(ctx, &runs, client.InNamespace(s.skill.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list runs: %w", err)
	}
	var uses []*v1alpha1.MotorRun
	reviews := map[string]*v1alpha1.MotorRun{}
	for i := range runs.Items {
		run := &runs.Items[i]
		if !hasUsed(run, s.skill) {
			continue
		}
		switch name := run.Status.Skill.Revision; {
		case !run.Spec.SkillReview:
			if run.Status.Skill.Approved {
				uses = append(uses, run)
			}
		case run.Status.Result != nil && run.Status.Result.OK && (reviews[name] == nil || endedAfter(run, reviews[name])):
			reviews[name] = run
		}
	}
	s.count(uses)
	return r.advise(ctx, s, reviews)
}

// hasUsed says whether a run has ended that used this very skill, and not one of its name that was there before.
func hasUsed(run *v1alpha1.MotorRun, sk *v1alpha1.Skill) bool {
	return run.Status.Skill != nil && run.Status.Skill.Name == sk.Name && isFinished(run) &&
		run.Status.FinishedAt != nil && !run.Status.FinishedAt.Before(&sk.CreationTimestamp)
}

func endedAfter(a, b *v1alpha1.MotorRun) bool {
	return cmp.Or(a.Status.FinishedAt.Compare(b.Status.FinishedAt.Time), strings.Compare(a.Name, b.Name)) > 0
}

// count adds the runs that nobody counted.
func (s *skillScope) count(uses []*v1alpha1.MotorRun) {
	u := &s.skill.Status.Usage
	last := u.LastUsedAt
	var first time.Time
	open := uses[:0]
	for _, run := range uses {
		if last != nil && !last.Before(run.Status.FinishedAt) {
			continue
		}
		open = append(open, run)
		if first.IsZero() || run.Status.FinishedAt.Time.Before(first) {
			first = run.Status.FinishedAt.Time
		}
	}
	if len(open) == 0 {
		return
	}
	if due := first.Add(usageDelay); s.now.Before(due) {
		s.wake(due)
		return
	}
	for _, run := range open {
		if s.now.Before(run.Status.FinishedAt.Add(usageSettled)) {
			s.wake(run.Status.FinishedAt.Add(usageDelay))
			continue
		}
		u.Runs++
		if apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSucceeded) {
			u.Succeeded++
		}
		if u.LastUsedAt == nil || u.LastUsedAt.Before(run.Status.FinishedAt) {
			u.LastUsedAt = run.Status.FinishedAt.DeepCopy()
		}
	}
	u.SuccessRate = fmt.Sprintf("%d%%", u.Succeeded*100/u.Runs)
}

// advise keeps with each revision what the newest run that reviewed it said.
func (r *SkillReconciler) advise(ctx context.Context, s *skillScope, reviews map[string]*v1alpha1.MotorRun) error {
	for i := range s.revisions {
		rev := &s.revisions[i]
		run := reviews[rev.Name]
		if run == nil || !isNews(rev.Status.Advice, run) {
			continue
		}
		err := r.patchRevision(ctx, rev, func(st *v1alpha1.SkillRevisionStatus) {
			st.Advice = &v1alpha1.RevisionAdvice{
				Run: run.Name, At: metav1.NewTime(run.Status.FinishedAt.Time),
				Text: text.CutBytes(text.Printable(run.Status.Result.Summary), maxAdvice),
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isNews says whether a run ended after the one whose advice there is.
func isNews(a *v1alpha1.RevisionAdvice, run *v1alpha1.MotorRun) bool {
	return a == nil || cmp.Or(run.Status.FinishedAt.Compare(a.At.Time), strings.Compare(run.Name, a.Run)) > 0
}
