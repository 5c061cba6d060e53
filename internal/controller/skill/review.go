// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
)

// review gathers facts about each revision that was not reviewed yet. It reads all of the bytes, so that no revision is offered for approval whose
// bytes do not match its hashes.
func (r *Reconciler) review(ctx context.Context, s *scope) error {
	var usable []v1alpha1.SkillRevision
	for i := range s.revisions {
		rev := &s.revisions[i]
		var err error
		if rev.Status.ReviewTime == nil {
			err = r.gather(ctx, s, rev)
		}
		switch {
		case errors.Is(err, skillstore.ErrMissing):
			s.partial = append(s.partial, *rev)
		case errors.Is(err, skillstore.ErrDamaged):
			r.ignore(s, rev, "its bytes are not those that it names")
		case err != nil:
			return err
		default:
			usable = append(usable, *rev)
		}
	}
	s.revisions = usable
	return nil
}

// lastWrites is how long the writes of a review that has begun may go on when the manager stops. The manager waits 10 s for everything.
const lastWrites = 8 * time.Second

// gather writes facts about the files of a revision into its status.
//
// The author of the files knows how they are reviewed. Each parser is bounded, and yet one may have a defect that ends the process. So gather first
// writes that the review begins: otherwise the next process would do the same for ever. A review that ends in any other way is not counted: an
// orderly restart of the manager, or an API server that refuses the facts, shows nothing about the files.
func (r *Reconciler) gather(ctx context.Context, s *scope, rev *v1alpha1.SkillRevision) error {
	begun := s.memory.begun[rev.UID]
	if skill.IsSetAside(rev) && !begun {
		return nil
	}
	if isLongReview(rev) {
		began := r.Now()
		try, ok := r.reviewTurns.begin(s.skill.Namespace, began, maxReviews(), reviewRetry)
		if !ok {
			s.Wake(try)
			return nil
		}
		defer func() {
			ended := r.Now()
			r.reviewTurns.end(s.skill.Namespace, ended, ended.Sub(began), reviewRetry)
		}()
	}
	files, err := r.Store.Files(ctx, rev)
	if err != nil {
		return err
	}
	done := r.reviewing(rev.Status.ReviewStarts > 0)
	defer done()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("review the revision %s: %w", rev.Name, err)
	}
	ctx, cancel := outlasting(ctx, lastWrites)
	defer cancel()
	if !begun {
		if err := r.patchRevision(ctx, rev, func(st *v1alpha1.SkillRevisionStatus) { st.ReviewStarts++ }); err != nil {
			return err
		}
		// As long as this process lives, the review did not end it, also if the mark cannot be removed.
		s.memory.begun[rev.UID] = true
	}
	marked := rev.DeepCopy()
	err = r.patchRevision(ctx, rev, func(st *v1alpha1.SkillRevisionStatus) { facts(st, files, s.Now) })
	if err != nil {
		return errors.Join(err, r.unmark(ctx, s, marked))
	}
	return nil
}

// quickReview bounds the bytes of files that are reviewed in passing: at worst that takes about a second, and mostly milliseconds.
const quickReview = 64 << 10

// isLongReview reports whether the review of a revision may take so long that it needs a turn.
func isLongReview(rev *v1alpha1.SkillRevision) bool {
	var bytes int64
	for i := range rev.Spec.Files {
		bytes += rev.Spec.Files[i].Size
	}
	return bytes > quickReview
}

// outlasting returns a context that ends a while after its parent. If a stopping manager could not remove the mark of a review, the mark would
// count as the end of a process.
func outlasting(parent context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	stop := context.AfterFunc(parent, func() { time.AfterFunc(by, cancel) })
	return ctx, func() { stop(); cancel() }
}

// unmark removes the mark of a review that ended without its facts, but did not end the process.
func (r *Reconciler) unmark(ctx context.Context, s *scope, marked *v1alpha1.SkillRevision) error {
	err := r.patchRevision(ctx, marked, func(st *v1alpha1.SkillRevisionStatus) { st.ReviewStarts = max(0, st.ReviewStarts-1) })
	if err == nil {
		delete(s.memory.begun, marked.UID)
	}
	return err
}

// facts writes the facts about its files into the status of a revision.
func facts(st *v1alpha1.SkillRevisionStatus, files []skill.File, now time.Time) {
	first, latest := st.Advice, st.LatestAdvice
	m := manifestOf(files)
	*st = skill.Facts(files, m.Warnings)
	for _, tool := range skill.Tools(m.AllowedTools) {
		if !slices.Contains(st.Tools, tool) {
			st.Tools = append(st.Tools, tool)
		}
	}
	st.Advice, st.LatestAdvice, st.ReviewTime = first, latest, &metav1.Time{Time: now}
}

// reviewing waits for its turn, and returns the function that ends it. A second try runs alone: revisions that are reviewed at the same time as the
// files that end the process must not be set aside with them. A review takes seconds, so the wait needs no context.
func (r *Reconciler) reviewing(again bool) (done func()) {
	if again {
		r.reviews.Lock()
		return r.reviews.Unlock
	}
	r.reviews.RLock()
	return r.reviews.RUnlock
}

// manifestOf returns the SKILL.md of files, the zero value if there is none.
func manifestOf(files []skill.File) skill.Manifest {
	for _, f := range files {
		if f.Path != skill.ManifestName {
			continue
		}
		if m, err := skill.ParseManifest(f.Content); err == nil {
			return m
		}
	}
	return skill.Manifest{}
}

// patchRevision writes the status of a revision. It returns an error if the revision was changed since it was read.
func (r *Reconciler) patchRevision(ctx context.Context, rev *v1alpha1.SkillRevision, change func(*v1alpha1.SkillRevisionStatus)) error {
	before := rev.DeepCopy()
	change(&rev.Status)
	pass.PrintRevision(&rev.Status)
	if err := r.Status().Patch(ctx, rev, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("write the status of the revision %s: %w", rev.Name, err)
	}
	return nil
}

// policy reports whether spec.policy can be granted, and the hash that binds it to an approval.
func (r *Reconciler) policy(_ context.Context, s *scope) error {
	p := &s.skill.Spec.Policy
	s.skill.Status.PolicyHash = skill.PolicyHash(p)
	status, reason, message := metav1.ConditionTrue, v1alpha1.ReasonPolicyValid, "The policy can be granted."
	if err := skill.CheckPolicy(p); err != nil {
		status, reason, message = metav1.ConditionFalse, v1alpha1.ReasonPolicyInvalid, "The policy cannot be granted: "+err.Error()+"."
	}
	s.set(v1alpha1.ConditionPolicyValid, status, reason, message)
	return nil
}
