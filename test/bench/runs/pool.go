// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// poolName is the pool that the MotorCortex of the measured namespace names.
const poolName = "bench"

// small is the size of the sandboxes of the pool: 20 of them fit on two processors. The other runs of a round have the usual size, and take none of them.
func small() v1alpha1.SandboxResources {
	return v1alpha1.SandboxResources{CPU: new(resource.MustParse("500m"))}
}

// inPool gives a run a sandbox of that size.
func inPool(run *v1alpha1.MotorRun) { run.Spec.Sandbox = &v1alpha1.RunSandbox{Resources: small()} }

// warm are the times of runs that take their sandboxes from a pool.
type warm struct {
	// path is from the creation of a run to each of its moments.
	path map[Moment]time.Duration
	// oneshot is from the creation of a Oneshot run until its result is seen.
	oneshot time.Duration
	// burst are the times to the first results of runs that were created at once.
	burst []time.Duration
}

// pooled measures runs whose sandboxes are there already. The pool is empty before and after, so that it takes nothing from the rest of the round.
func (b *bench) pooled(ctx context.Context, name string) (w warm, err error) {
	if b.burst == 0 {
		return w, nil
	}
	if err := b.fill(ctx, max(2, b.burst)); err != nil {
		return w, err
	}
	if w.path, err = b.firstResult(ctx, name+"-run", inPool); err != nil {
		return w, err
	}
	if w.oneshot, err = b.oneshot(ctx, name+"-oneshot", inPool); err != nil {
		return w, err
	}
	if err := b.fill(ctx, b.burst); err != nil {
		return w, err
	}
	if w.burst, err = b.atOnce(ctx, name+"-burst", b.burst); err != nil {
		return w, err
	}
	return w, b.fill(ctx, 0)
}

// provedIn is how long the isolation of a sandbox that runs may take to be proved.
const provedIn = 2 * time.Second

// fill gives the pool that many sandboxes, and waits until they are ready.
func (b *bench) fill(ctx context.Context, replicas int) error {
	pool := &v1alpha1.SandboxPool{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: poolName}}
	n := int32(replicas)
	err := b.client.Get(ctx, client.ObjectKeyFromObject(pool), pool)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get the pool: %w", err)
	}
	before := pool.DeepCopy()
	pool.Spec.Replicas, pool.Spec.Resources = &n, small()
	if err == nil {
		err = b.client.Patch(ctx, pool, client.MergeFrom(before))
	} else {
		err = b.client.Create(ctx, pool)
	}
	if err != nil {
		return fmt.Errorf("scale the pool: %w", err)
	}
	for {
		if err := b.client.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
			return fmt.Errorf("get the pool: %w", err)
		}
		st := &pool.Status
		if apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.PoolReady) && st.ObservedGeneration == pool.Generation && st.ReadyReplicas == n && st.Replicas == n {
			// For some seconds the status does not show what runs have taken.
			if all, err := b.waiting(ctx); err != nil || all == replicas {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the pool has %d of %d sandboxes: %w", st.ReadyReplicas, n, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// waiting returns how many Pods of the pool wait for a run, and have run for long enough to be proved.
func (b *bench) waiting(ctx context.Context) (count int, err error) {
	var pods corev1.PodList
	if err := b.client.List(ctx, &pods, client.InNamespace(b.namespace), client.MatchingLabels{v1alpha1.LabelPool: poolName}); err != nil {
		return 0, fmt.Errorf("list the Pods of the pool: %w", err)
	}
	for i := range pods.Items {
		if sandbox.RunOf(&pods.Items[i]) != "" {
			continue
		}
		for _, c := range pods.Items[i].Status.ContainerStatuses {
			if c.State.Running != nil && time.Since(c.State.Running.StartedAt.Time) > provedIn {
				count++
			}
		}
	}
	return count, nil
}

// atOnce creates runs at the same time, and returns the time from the creation of each to its first result.
func (b *bench) atOnce(ctx context.Context, name string, runs int) ([]time.Duration, error) {
	type outcome struct {
		run  *v1alpha1.MotorRun
		took time.Duration
		err  error
	}
	all := make([]outcome, runs)
	var group sync.WaitGroup
	for i := range runs {
		group.Go(func() {
			run, began, err := b.create(ctx, fmt.Sprintf("%s-%d", name, i), "bench-call", inPool)
			if err != nil {
				all[i].err = err
				return
			}
			at, err := b.seen.await(ctx, run.Name, Finished)
			all[i] = outcome{run, at[FirstResult].Sub(began), err}
		})
	}
	group.Wait()
	var times []time.Duration
	for _, o := range all {
		if o.err != nil {
			return nil, o.err
		}
		times = append(times, o.took)
		if err := b.client.Delete(ctx, o.run); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("delete %s: %w", o.run.Name, err)
		}
		b.seen.forget(o.run.Name)
	}
	return times, b.awaitNoPods(ctx)
}
