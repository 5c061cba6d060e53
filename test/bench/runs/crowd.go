// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// crowdPatience is the most that a crowd may take for each thing that is done with it.
	crowdPatience = 10 * time.Minute
	// crowdPause is the time between two looks at a crowd: one of thousands is megabytes.
	crowdPause = 2 * time.Second
	// untilStill is how long the managers get for what they do after the last change that is awaited.
	untilStill = 5 * time.Second
)

// crowds is how many runs are created in numbers, and how long some are watched.
type crowds struct {
	// many are those that are carried out, waiting those that wait for a person.
	many, waiting int
	// quiet is how long the requests of waiting runs are counted, and how long they wait before that.
	quiet time.Duration
}

// crowd measures what the managers need for runs that wait for a person and have no sandbox, and for the same runs when they have ended. They are
// copied runs: each waits until a person releases it.
func (b *bench) crowd(ctx context.Context) ([]Row, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*crowdPatience)
	defer cancel()
	if err := b.clear(ctx); err != nil {
		return nil, err
	}
	none, err := b.stillHeap(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := b.createCrowd(ctx, "waiting", b.crowded.waiting, copied); err != nil {
		return nil, err
	}
	waiting, err := b.awaitCrowd(ctx, "waiting", b.crowded.waiting, waitsFor(v1alpha1.ReasonCopiedRun))
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	withWaiting, err := b.stillHeap(ctx)
	if err != nil {
		return nil, err
	}
	// The managers still work beside them.
	path, err := b.firstResult(ctx, b.prefix+"-beside")
	if err != nil {
		return nil, fmt.Errorf("a run beside %d that wait: %w", len(waiting), err)
	}
	if err := b.cancelCrowd(ctx, waiting); err != nil {
		return nil, err
	}
	if _, err := b.awaitCrowd(ctx, "waiting", b.crowded.waiting, isFinished); err != nil {
		return nil, err
	}
	withFinished, err := b.stillHeap(ctx)
	if err != nil {
		return nil, err
	}
	each := func(heap float64) float64 { return kib((heap - none) / float64(b.crowded.waiting)) }
	how := fmt.Sprintf("slope over %d runs without a sandbox, heap and stacks of the manager that has most", b.crowded.waiting)
	return []Row{
		{Number: 7, Name: "runs that wait for a person, without a sandbox", Value: float64(len(waiting)), Unit: unitRuns, Bound: 5000, AtLeast: true,
			Detail: fmt.Sprintf("all wait %s after the first was created; another run beside them had its first result after %s", took.Round(time.Second), path[FirstResult].Round(time.Millisecond))},
		{Number: 8, Name: "memory of a run that waits for a person", Value: each(withWaiting), Unit: unitKiB, Bound: 16, Detail: how},
		{Number: 8, Name: "memory of a finished run", Value: each(withFinished), Unit: unitKiB, Bound: 4, Detail: how},
	}, b.clearCrowd(ctx, "waiting")
}

// stillHeap returns the memory of the manager that has most, when the managers have nothing left to do.
func (b *bench) stillHeap(ctx context.Context) (float64, error) {
	if err := wait(ctx, untilStill); err != nil {
		return 0, err
	}
	most, _, err := b.managers.Heap(ctx)
	return most, err
}

// copied makes a run look like one of a backup: it has its origin already.
func copied(run *v1alpha1.MotorRun) { run.Spec.Origin = v1alpha1.OriginCreated }

// waitsFor returns whether a run is not accepted for a reason.
func waitsFor(reason string) func(*v1alpha1.MotorRun) bool {
	return func(run *v1alpha1.MotorRun) bool {
		c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionAccepted)
		return c != nil && c.Status == metav1.ConditionFalse && c.Reason == reason
	}
}

// createCrowd creates so many runs, some at the same time.
func (b *bench) createCrowd(ctx context.Context, name string, count int, change func(*v1alpha1.MotorRun)) error {
	return inParallel(ctx, count, func(ctx context.Context, i int) error {
		_, _, err := b.create(ctx, fmt.Sprintf("%s-%s-%d", b.prefix, name, i), "bench-call", change, func(run *v1alpha1.MotorRun) {
			run.Labels = map[string]string{labelCrowd: name}
		})
		return err
	})
}

func (b *bench) cancelCrowd(ctx context.Context, runs []v1alpha1.MotorRun) error {
	return inParallel(ctx, len(runs), func(ctx context.Context, i int) error {
		err := b.client.Patch(ctx, &runs[i], client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"cancel":true}}`)))
		if err != nil {
			return fmt.Errorf("cancel a run: %w", err)
		}
		return nil
	})
}

// inParallel does something so many times, and returns the first error.
func inParallel(ctx context.Context, count int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	numbers := make(chan int)
	var group sync.WaitGroup
	for range min(creators, count) {
		group.Go(func() {
			for i := range numbers {
				if err := do(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	for i := 0; i < count && ctx.Err() == nil; i++ {
		select {
		case numbers <- i:
		case <-ctx.Done():
		}
	}
	close(numbers)
	group.Wait()
	return context.Cause(ctx)
}

// awaitCrowd waits until that many runs of a crowd fulfil a condition. When ctx ends before, it returns them as they are, with an error.
func (b *bench) awaitCrowd(ctx context.Context, name string, count int, until func(*v1alpha1.MotorRun) bool) ([]v1alpha1.MotorRun, error) {
	var seen []v1alpha1.MotorRun
	for {
		var list v1alpha1.MotorRunList
		err := b.client.List(ctx, &list, client.InNamespace(b.namespace), client.MatchingLabels{labelCrowd: name})
		if err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		there := 0
		for i := range list.Items {
			if until(&list.Items[i]) {
				there++
			}
		}
		if err == nil {
			seen = list.Items
		}
		if there == count {
			return seen, nil
		}
		if err := wait(ctx, crowdPause); err != nil {
			return seen, fmt.Errorf("%d of %d runs are where they must be: %w", there, count, err)
		}
	}
}

// clearCrowd deletes a crowd and waits until it is gone.
func (b *bench) clearCrowd(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, crowdPatience)
	defer cancel()
	all := client.MatchingLabels{labelCrowd: name}
	if err := b.client.DeleteAllOf(ctx, &v1alpha1.MotorRun{}, client.InNamespace(b.namespace), all); err != nil {
		return fmt.Errorf("delete the runs: %w", err)
	}
	for {
		var list metav1.PartialObjectMetadataList
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("MotorRunList"))
		if err := b.client.List(ctx, &list, client.InNamespace(b.namespace), all); err != nil {
			return fmt.Errorf("list runs: %w", err)
		}
		for i := range list.Items {
			b.seen.forget(list.Items[i].Name)
		}
		if len(list.Items) == 0 {
			return b.awaitNoPods(ctx)
		}
		if err := wait(ctx, crowdPause); err != nil {
			return fmt.Errorf("%d runs do not go: %w", len(list.Items), err)
		}
	}
}
