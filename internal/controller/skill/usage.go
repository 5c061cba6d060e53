// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// usageSettled is the age of a run's end at which it is counted: by then every run that ended in the same second is seen.
	usageSettled = 5 * time.Second
	// usageDelay is how long a run waits to be counted, so that runs that end soon after it are counted in the same write.
	usageDelay = 10 * time.Second
	// maxAdvice bounds a model's text about a revision that is retained.
	maxAdvice = 8 << 10
	// maxRequester bounds the name of the person who requested it.
	maxRequester = 1024
)

// usage counts the runs that ended, and retains the advice of the reviewing ones.
//
// Nothing marks a run as counted. Exactly the runs that ended up to status.usage.lastUsedTime are counted. Runs are counted in the order of their
// ends, and those of one second together. A run that is deleted before its turn is not counted.
func (r *Reconciler) usage(ctx context.Context, s *scope) error {
	var runs v1alpha1.MotorRunList
	if err := r.List(ctx, &runs, client.InNamespace(s.skill.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list runs: %w", err)
	}
	var uses []*v1alpha1.MotorRun
	reviews := map[string][]*v1alpha1.MotorRun{}
	for i := range runs.Items {
		run := &runs.Items[i]
		if !hasUsed(run, s.skill) {
			continue
		}
		switch name := run.Status.Skill.RevisionName; {
		case !run.Spec.SkillReview:
			if run.Status.Skill.Approved {
				uses = append(uses, run)
			}
		case run.Status.Result != nil && run.Status.Result.OK:
			reviews[name] = append(reviews[name], run)
		}
	}
	s.count(uses)
	return r.advise(ctx, s, reviews)
}

// hasUsed reports whether a run has ended that used this very skill, and not one of its name that was there before.
func hasUsed(run *v1alpha1.MotorRun, sk *v1alpha1.Skill) bool {
	return run.Status.Skill != nil && run.Status.Skill.Name == sk.Name && pass.IsFinished(run) &&
		run.Status.CompletionTime != nil && !run.Status.CompletionTime.Before(&sk.CreationTimestamp)
}

// count adds the runs that were not counted yet.
func (s *scope) count(uses []*v1alpha1.MotorRun) {
	u := &s.skill.Status.Usage
	last := u.LastUsedTime
	var first time.Time
	open := uses[:0]
	for _, run := range uses {
		if last != nil && !last.Before(run.Status.CompletionTime) {
			continue
		}
		open = append(open, run)
		if first.IsZero() || run.Status.CompletionTime.Time.Before(first) {
			first = run.Status.CompletionTime.Time
		}
	}
	if len(open) == 0 {
		return
	}
	if due := first.Add(usageDelay); s.Now.Before(due) {
		s.Wake(due)
		return
	}
	for _, run := range open {
		if s.Now.Before(run.Status.CompletionTime.Add(usageSettled)) {
			s.Wake(run.Status.CompletionTime.Add(usageDelay))
			continue
		}
		u.Runs++
		if apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSucceeded) {
			u.Succeeded++
		}
		if u.LastUsedTime == nil || u.LastUsedTime.Before(run.Status.CompletionTime) {
			u.LastUsedTime = run.Status.CompletionTime.DeepCopy()
		}
	}
	u.SuccessRate = fmt.Sprintf("%d%%", u.Succeeded*100/u.Runs)
}

// advise stores with each revision the advice of the first and of the newest run that reviewed it. The first advice stays: a person who asks again
// must not be able to replace it.
func (r *Reconciler) advise(ctx context.Context, s *scope, reviews map[string][]*v1alpha1.MotorRun) error {
	for i := range s.revisions {
		rev := &s.revisions[i]
		first, latest := rev.Status.Advice, rev.Status.LatestAdvice
		runs := reviews[rev.Name]
		slices.SortFunc(runs, func(a, b *v1alpha1.MotorRun) int {
			return cmp.Or(a.Status.CompletionTime.Compare(b.Status.CompletionTime.Time), strings.Compare(a.Name, b.Name))
		})
		for _, run := range runs {
			switch {
			case first == nil:
				first = adviceOf(run)
			case isNews(cmp.Or(latest, first), run):
				latest = adviceOf(run)
			}
		}
		if first == rev.Status.Advice && latest == rev.Status.LatestAdvice {
			continue
		}
		err := r.patchRevision(ctx, rev, func(st *v1alpha1.SkillRevisionStatus) { st.Advice, st.LatestAdvice = first, latest })
		if err != nil {
			return err
		}
	}
	return nil
}

func adviceOf(run *v1alpha1.MotorRun) *v1alpha1.RevisionAdvice {
	a := &v1alpha1.RevisionAdvice{
		RunName: run.Name, AdviceTime: metav1.NewTime(run.Status.CompletionTime.Time), Text: text.CutBytes(text.Printable(run.Status.Result.Summary), maxAdvice),
	}
	if run.Spec.Requester != nil {
		a.RequestedBy = text.CutBytes(text.Printable(run.Spec.Requester.Username), maxRequester)
	}
	return a
}

// isNews reports whether a run ended after the one whose advice is stored.
func isNews(a *v1alpha1.RevisionAdvice, run *v1alpha1.MotorRun) bool {
	return cmp.Or(run.Status.CompletionTime.Compare(a.AdviceTime.Time), strings.Compare(run.Name, a.RunName)) > 0
}
