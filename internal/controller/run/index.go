// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/controller/placement"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// The cache finds the runs of a namespace by these indexes. Each pass over a finished run looks for a few among many, and whole lists for each of n
// runs would cost n times n.
const (
	// indexNeeds has the runs whose artifacts are inputs of a run that has not ended.
	indexNeeds = "needs"
	// indexRun has the sandbox Pods of a run.
	indexRun = "run"
	// indexEnd has how a run ended that counts for the bounds of retention.
	indexEnd = "end"
)

// needsOf returns the values of indexNeeds.
func needsOf(run *v1alpha1.MotorRun) []string {
	if pass.IsFinished(run) {
		return nil
	}
	var names []string
	for i := range run.Spec.Files {
		if ref := run.Spec.Files[i].ArtifactRef; ref != nil && !slices.Contains(names, ref.RunName) {
			names = append(names, ref.RunName)
		}
	}
	return names
}

// endOf returns the values of indexEnd.
func endOf(run *v1alpha1.MotorRun) []string {
	switch {
	case !pass.IsFinished(run), !runpolicy.HasModel(run):
		return nil
	case apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSucceeded):
		return []string{"succeeded"}
	}
	return []string{"failed"}
}

// addIndexes adds the indexes to the cache.
func addIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for field, of := range map[string]func(*v1alpha1.MotorRun) []string{indexNeeds: needsOf, indexEnd: endOf, placement.IndexSlots: placement.SlotsOf} {
		err := indexer.IndexField(ctx, &v1alpha1.MotorRun{}, field, func(o client.Object) []string {
			run, ok := o.(*v1alpha1.MotorRun)
			if !ok {
				return nil
			}
			return of(run)
		})
		if err != nil {
			return fmt.Errorf("index runs by %q: %w", field, err)
		}
	}
	err := indexer.IndexField(ctx, &corev1.Pod{}, indexRun, func(o client.Object) []string {
		if run := sandbox.RunOf(o); run != "" {
			return []string{run}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("index sandbox Pods by %q: %w", indexRun, err)
	}
	return nil
}

// indexed lists the runs of a namespace that have a value in an index, all of them where there are no indexes. They belong to the cache: the caller
// must not change them. Without values indexed returns none.
func (r *Reconciler) indexed(ctx context.Context, namespace, field string, values []string) ([]v1alpha1.MotorRun, error) {
	if len(values) == 0 {
		return nil, nil
	}
	if !r.indexes {
		return pass.RunsOf(ctx, r.Client, namespace)
	}
	var runs v1alpha1.MotorRunList
	err := r.List(ctx, &runs, client.InNamespace(namespace), client.MatchingFields{field: values[0]}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list runs by %q: %w", field, err)
	}
	return runs.Items, nil
}
