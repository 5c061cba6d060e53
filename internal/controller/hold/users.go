// SPDX-License-Identifier: Apache-2.0

package hold

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// IndexSkill is the index of the cache by which the runs are found that use revisions of a skill.
const IndexSkill = "skillInUse"

// pageSize is how many runs one request of a live list returns. A run has 1.5 MiB at most, and several skills are looked at at once.
const pageSize = 8

// SkillOf returns the values of IndexSkill: a finished run uses nothing.
func SkillOf(run *v1alpha1.MotorRun) []string {
	if run.Status.Skill == nil || pass.IsFinished(run) {
		return nil
	}
	return []string{run.Status.Skill.Name}
}

// AddIndex adds IndexSkill to the cache.
func AddIndex(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &v1alpha1.MotorRun{}, IndexSkill, func(o client.Object) []string {
		run, ok := o.(*v1alpha1.MotorRun)
		if !ok {
			return nil
		}
		return SkillOf(run)
	})
	if err != nil {
		return fmt.Errorf("index runs by %q: %w", IndexSkill, err)
	}
	return nil
}

// InUse returns the names of the revisions of a skill that runs in the cache use. Without the index it looks at all runs of the namespace.
func InUse(ctx context.Context, cache client.Reader, indexed bool, skill client.ObjectKey) (map[string]bool, error) {
	options := []client.ListOption{client.InNamespace(skill.Namespace), client.UnsafeDisableDeepCopy}
	if indexed {
		options = append(options, client.MatchingFields{IndexSkill: skill.Name})
	}
	var runs v1alpha1.MotorRunList
	if err := cache.List(ctx, &runs, options...); err != nil {
		return nil, fmt.Errorf("list the runs that use the skill %s: %w", skill.Name, err)
	}
	names := map[string]bool{}
	for i := range runs.Items {
		if run := &runs.Items[i]; slices.Contains(SkillOf(run), skill.Name) {
			names[run.Status.Skill.RevisionName] = true
		}
	}
	return names, nil
}

// Ends selects changes of a run after which it uses no revision any more, or has ended.
func Ends() predicate.Predicate {
	uses := func(o client.Object) bool { run, ok := o.(*v1alpha1.MotorRun); return ok && len(SkillOf(run)) > 0 }
	ended := pass.HasEnded()
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		DeleteFunc:  func(e event.DeleteEvent) bool { return uses(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return ended.Update(e) || uses(e.ObjectOld) && !uses(e.ObjectNew)
		},
	}
}

// notEnded has the API server leave out the runs that have ended. It selects by the phase, because it cannot by conditions.
func notEnded(skill string) fields.Selector {
	all := []fields.Selector{fields.OneTermEqualSelector("spec.skillRef.name", skill)}
	for _, phase := range []v1alpha1.RunPhase{v1alpha1.PhaseCompleted, v1alpha1.PhaseFailed, v1alpha1.PhaseCancelled} {
		all = append(all, fields.OneTermNotEqualSelector("status.phase", string(phase)))
	}
	return fields.AndSelectors(all...)
}

// isInUse looks past the cache for a run that uses a revision.
func isInUse(ctx context.Context, live client.Reader, rev *v1alpha1.SkillRevision) (bool, error) {
	which := client.MatchingFieldsSelector{Selector: notEnded(rev.Spec.SkillName)}
	for next := ""; ; {
		var page v1alpha1.MotorRunList
		if err := live.List(ctx, &page, client.InNamespace(rev.Namespace), which, client.Limit(pageSize), client.Continue(next)); err != nil {
			return false, fmt.Errorf("list the runs that use the skill %s: %w", rev.Spec.SkillName, err)
		}
		if slices.ContainsFunc(page.Items, func(run v1alpha1.MotorRun) bool { return uses(&run, rev) }) {
			return true, nil
		}
		if next = page.Continue; next == "" {
			return false, nil
		}
	}
}

// uses reports whether a run uses a revision. Version 0.2 made a run an owner before it wrote the name into the status.
func uses(run *v1alpha1.MotorRun, rev *v1alpha1.SkillRevision) bool {
	if pass.IsFinished(run) {
		return false
	}
	return run.Status.Skill != nil && run.Status.Skill.RevisionName == rev.Name ||
		slices.ContainsFunc(rev.OwnerReferences, func(o metav1.OwnerReference) bool { return isRun(o) && o.UID == run.UID })
}
