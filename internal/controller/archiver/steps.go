// SPDX-License-Identifier: Apache-2.0

package archiver

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
	"motorcortex.dev/motorcortex/internal/journal"
)

// prune deletes the steps whose very bytes the archive has. A step that was written since, or created later, stays until the run is deleted.
func (r *Reconciler) prune(ctx context.Context, run *v1alpha1.MotorRun, held archive.Manifest) error {
	return r.eachStep(ctx, run, func(step *v1alpha1.MotorStep) error {
		digest, err := archive.StepDigest(step)
		if err != nil || held.Steps[step.Name] != digest {
			return err
		}
		err = r.Delete(ctx, step, client.Preconditions{UID: &step.UID, ResourceVersion: &step.ResourceVersion})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete step %s: %w", step.Name, err)
		}
		return nil
	})
}

// stepRef is a step that is not held in memory.
type stepRef struct {
	name           string
	attempt, index int32
}

// steps returns the run's steps in the order of attempt and index.
func (r *Reconciler) steps(ctx context.Context, run *v1alpha1.MotorRun) ([]stepRef, error) {
	var refs []stepRef
	err := r.eachStep(ctx, run, func(s *v1alpha1.MotorStep) error {
		refs = append(refs, stepRef{s.Name, s.Spec.Attempt, s.Spec.Index})
		return nil
	})
	slices.SortFunc(refs, func(a, b stepRef) int {
		return cmp.Or(cmp.Compare(a.attempt, b.attempt), cmp.Compare(a.index, b.index), cmp.Compare(a.name, b.name))
	})
	return refs, err
}

// eachStep reads the run's steps live, a page at a time, because all of them can take more memory than the manager has.
func (r *Reconciler) eachStep(ctx context.Context, run *v1alpha1.MotorRun, do func(*v1alpha1.MotorStep) error) error {
	for token := ""; ; {
		var page v1alpha1.MotorStepList
		if err := r.Live.List(ctx, &page, append(stepsOf(run), client.Limit(stepsPage), client.Continue(token))...); err != nil {
			return fmt.Errorf("list steps: %w", err)
		}
		own := journal.Of(run, page.Items)
		for i := range own {
			if err := do(&own[i]); err != nil {
				return err
			}
		}
		if token = page.Continue; token == "" {
			return nil
		}
	}
}

func stepsOf(run *v1alpha1.MotorRun) []client.ListOption {
	return []client.ListOption{client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name}}
}
