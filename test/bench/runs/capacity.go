// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// fitting is how many runs that were created at once can have a sandbox at the same time.
	fitting = 20
	// creators is how many runs are created at the same time.
	creators = 16
	// manyPatience is the most that many runs may take until all have ended.
	manyPatience = 15 * time.Minute
	// labelCrowd marks runs that are created in numbers.
	labelCrowd = "bench.motorcortex.dev/crowd"
)

// active measures the rest of rows 7 and 8 that runs with a sandbox tell: the steps of all runs per second, the loops that the managers have, and
// the memory of a run whose model is slow.
func (b *bench) active(ctx context.Context) ([]Row, error) {
	_, loops, err := b.managers.Lease(ctx)
	if err != nil {
		return nil, err
	}
	rows := []Row{{Number: 7, Name: "runs that may wait for a slow model at once", Value: float64(loops), Unit: unitRuns, Bound: 1000, AtLeast: true,
		Detail: "loops that the Leases of the managers offer; not held at once here"}}
	if b.burst == 0 {
		return rows, nil
	}
	rate, err := b.stepRate(ctx)
	if err != nil {
		return nil, err
	}
	memory, err := b.slowRuns(ctx)
	return append(rows, rate, memory), err
}

// stepRate measures how many steps of runs at once are recorded in a second.
func (b *bench) stepRate(ctx context.Context) (Row, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := b.fill(ctx, b.burst); err != nil {
		return Row{}, err
	}
	var first, last []time.Time
	runs, err := b.together(ctx, b.prefix+"-rate", "bench-steps", b.burst)
	if err != nil {
		return Row{}, err
	}
	for _, run := range runs {
		at, err := b.seen.await(ctx, run.Name, LastResult)
		if err != nil {
			return Row{}, err
		}
		first, last = append(first, at[FirstResult]), append(last, at[LastResult])
	}
	if err := b.leave(ctx, runs); err != nil {
		return Row{}, err
	}
	return Row{Number: 7, Name: "steps of all runs", Value: tenth(rateOf(first, last, manySteps)), Unit: unitSteps, Bound: 100, AtLeast: true,
		Detail: fmt.Sprintf("%d runs at once, %d steps each, from the first result of all to the last", b.burst, manySteps)}, b.fill(ctx, 0)
}

// rateOf returns the steps per second of runs that made so many steps each, from the first result of all to the last, 0 if that takes no time.
func rateOf(first, last []time.Time, each int) float64 {
	if len(first) == 0 || len(last) == 0 {
		return 0
	}
	took := slices.MaxFunc(last, time.Time.Compare).Sub(slices.MinFunc(first, time.Time.Compare))
	if took <= 0 {
		return 0
	}
	return float64(len(last)*each) / took.Seconds()
}

// together creates runs with small sandboxes at once.
func (b *bench) together(ctx context.Context, name, script string, count int) ([]*v1alpha1.MotorRun, error) {
	runs, errs := make([]*v1alpha1.MotorRun, count), make([]error, count)
	var group sync.WaitGroup
	for i := range count {
		group.Go(func() { runs[i], _, errs[i] = b.create(ctx, fmt.Sprintf("%s-%d", name, i), script, inPool) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// leave deletes runs and waits until their Pods are gone.
func (b *bench) leave(ctx context.Context, runs []*v1alpha1.MotorRun) error {
	for _, run := range runs {
		if err := b.client.Delete(ctx, run); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete %s: %w", run.Name, err)
		}
		b.seen.forget(run.Name)
	}
	return b.awaitNoPods(ctx)
}

// many measures the last part of row 7: runs that are created at once, of which the cluster fits a few.
func (b *bench) many(ctx context.Context) ([]Row, error) {
	ctx, cancel := context.WithTimeout(ctx, manyPatience)
	defer cancel()
	if err := b.clear(ctx); err != nil {
		return nil, err
	}
	var others corev1.PodList
	if err := b.client.List(ctx, &others, client.InNamespace(b.namespace)); err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "bench"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(int64(fitting+len(others.Items)), resource.DecimalSI)},
	}}
	if err := b.client.Create(ctx, quota); err != nil {
		return nil, fmt.Errorf("create the quota: %w", err)
	}
	defer func() { _ = b.client.Delete(context.WithoutCancel(ctx), quota) }()
	began := time.Now()
	err := b.createCrowd(ctx, "many", b.crowded.many, func(run *v1alpha1.MotorRun) { inPool(run) })
	if err != nil {
		return nil, err
	}
	runs, err := b.awaitCrowd(ctx, "many", b.crowded.many, isFinished)
	if err != nil && runs == nil {
		return nil, err
	}
	took := time.Since(began)
	well, ends := endsOf(runs)
	return []Row{
		{Number: 7, Name: fmt.Sprintf("of %d runs created at once, ended well", b.crowded.many), Value: float64(well), Unit: unitRuns, Bound: float64(b.crowded.many), AtLeast: true,
			Detail: fmt.Sprintf("in %s, a quota fits %d sandboxes: %s", took.Round(time.Second), fitting, ends)},
	}, b.clearCrowd(context.WithoutCancel(ctx), "many")
}

// endsOf returns how many runs ended well, and how many ended for which reason.
func endsOf(runs []v1alpha1.MotorRun) (well int, reasons string) {
	count := map[string]int{}
	for i := range runs {
		run := &runs[i]
		succeeded := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded)
		switch {
		case !isFinished(run) || succeeded == nil:
			count["not ended"]++
		default:
			count[succeeded.Reason]++
		}
		if run.Status.Result != nil && run.Status.Result.OK && isFinished(run) {
			well++
		}
	}
	var list []string
	for _, reason := range slices.Sorted(maps.Keys(count)) {
		list = append(list, fmt.Sprintf("%d %s", count[reason], reason))
	}
	return well, strings.Join(list, ", ")
}

func isFinished(run *v1alpha1.MotorRun) bool {
	return apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFinished)
}
