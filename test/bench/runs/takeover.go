// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/test/bench/figures"
	"motorcortex.dev/motorcortex/test/bench/runs/manager"
)

const (
	// replicas is how many managers are installed.
	replicas = 2
	// shellNamespace permits the privileged Pod that kills managers; hack/bench.sh makes it.
	shellNamespace = "motorcortex-bench-node"
	// settled is how long a manager is let be after it came.
	settled = 2 * time.Second
	// beforeEnd is how many steps a run has made when its manager ends.
	beforeEnd = 3
)

// takeover measures row 6: how long a run stands still whose manager is killed or terminated, and whether a call was made twice.
func (b *bench) takeover(ctx context.Context) ([]Row, error) {
	var killed, terminated []time.Duration
	repeated := 0
	lease, _, err := b.managers.Lease(ctx)
	if err != nil {
		return nil, err
	}
	shell, err := b.shell(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = b.client.Delete(context.WithoutCancel(ctx), shell) }()
	kill := func(ctx context.Context, pod *corev1.Pod) (time.Time, error) {
		return b.managers.Kill(ctx, pod, client.ObjectKeyFromObject(shell))
	}
	for i := range b.rounds {
		took, twice, err := b.ended(ctx, fmt.Sprintf("%s-kill-%d", b.prefix, i), kill)
		if err != nil {
			return nil, fmt.Errorf("a killed manager: %w", err)
		}
		killed, repeated = append(killed, took), repeated+twice
		if took, twice, err = b.ended(ctx, fmt.Sprintf("%s-term-%d", b.prefix, i), b.managers.Terminate); err != nil {
			return nil, fmt.Errorf("a terminated manager: %w", err)
		}
		terminated, repeated = append(terminated, took), repeated+twice
	}
	return []Row{
		{Number: 6, Name: "manager killed → next step done, longest", Value: figures.Quantile(killed, 1).Seconds(), Unit: unitSeconds,
			Bound: (lease + 3*time.Second).Seconds(), Detail: "each round: " + listed(killed)},
		{Number: 6, Name: "manager terminated → next step done, longest", Value: figures.Quantile(terminated, 1).Seconds(), Unit: unitSeconds,
			Bound: 3, Detail: "each round: " + listed(terminated)},
		{Number: 6, Name: "calls made twice", Value: float64(repeated), Unit: unitCalls, Detail: fmt.Sprintf("in %d runs", 2*b.rounds)},
	}, nil
}

func listed(times []time.Duration) string {
	var list []string
	for _, t := range times {
		list = append(list, t.Round(10*time.Millisecond).String())
	}
	return strings.Join(list, ", ")
}

// shell makes the Pod that kills managers. The managers must be on one node.
func (b *bench) shell(ctx context.Context) (*corev1.Pod, error) {
	pods, err := b.managers.Pods(ctx)
	if err != nil {
		return nil, err
	}
	if len(pods) == 0 {
		return nil, errors.New("there is no manager")
	}
	shell := manager.Shell(shellNamespace, b.prefix+"-shell", pods[0].Spec.NodeName, b.image)
	if err := b.client.Create(ctx, shell); err != nil {
		return nil, fmt.Errorf("create the Pod that kills managers: %w", err)
	}
	for shell.Status.Phase != corev1.PodRunning {
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return nil, fmt.Errorf("the Pod that kills managers does not run: %w", err)
		}
		if err := b.client.Get(ctx, client.ObjectKeyFromObject(shell), shell); err != nil {
			return nil, fmt.Errorf("get the Pod that kills managers: %w", err)
		}
	}
	return shell, nil
}

// wait returns after a time, or with an error when ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// ended ends the manager that carries on a run, and returns the time until the next manager has finished a step of it. It also returns how many
// calls were made twice.
func (b *bench) ended(ctx context.Context, name string, end func(context.Context, *corev1.Pod) (time.Time, error)) (took time.Duration, repeated int, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := b.managers.AwaitReady(ctx, replicas); err != nil {
		return 0, 0, err
	}
	if err := wait(ctx, settled); err != nil {
		return 0, 0, err
	}
	run, _, err := b.create(ctx, name, "bench-takeover", func(r *v1alpha1.MotorRun) { r.Spec.Limits.MaxIterations = 40 })
	if err != nil {
		return 0, 0, err
	}
	var was *v1alpha1.MotorRun
	err = b.until(ctx, name, func(r *v1alpha1.MotorRun, steps []*v1alpha1.MotorStep) bool {
		was = r
		return doneSteps(steps, 0) >= beforeEnd
	})
	if err != nil {
		return 0, 0, err
	}
	pod, err := b.managers.PodOf(ctx, was.Status.Execution.Worker)
	if err != nil {
		return 0, 0, err
	}
	began, err := end(ctx, pod)
	if err != nil {
		return 0, 0, err
	}
	// Steps that the ended manager still recorded do not count.
	var last int32 = -1
	err = b.until(ctx, name, func(r *v1alpha1.MotorRun, steps []*v1alpha1.MotorStep) bool {
		if r.Status.Execution.Epoch <= was.Status.Execution.Epoch {
			return false
		}
		if last < 0 {
			last = lastDone(steps)
		}
		return doneSteps(steps, last) > 0
	})
	if err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	if _, err := b.seen.await(ctx, name, Finished); err != nil {
		return 0, 0, err
	}
	_, steps := b.seen.run(name)
	if repeated, err = repeatedCalls(steps); err != nil {
		return 0, 0, err
	}
	return took, repeated, b.remove(ctx, run)
}

// until waits until what a watcher has seen of a run fulfils a condition.
func (b *bench) until(ctx context.Context, name string, done func(*v1alpha1.MotorRun, []*v1alpha1.MotorStep) bool) error {
	for {
		changed := b.seen.next()
		run, steps := b.seen.run(name)
		if run != nil && done(run, steps) {
			return nil
		}
		if run != nil && apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFinished) {
			return fmt.Errorf("run %s ended before: %s", name, run.Status.Message)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("run %s: %w", name, context.Cause(ctx))
		}
	}
}

// doneSteps returns how many steps after one have their results.
func doneSteps(steps []*v1alpha1.MotorStep, after int32) (count int) {
	for _, s := range steps {
		if s.Spec.Index > after && len(s.Status.Results) > 0 {
			count++
		}
	}
	return count
}

// lastDone returns the number of the last step that has its results, 0 without any.
func lastDone(steps []*v1alpha1.MotorStep) (last int32) {
	for _, s := range steps {
		if len(s.Status.Results) > 0 {
			last = max(last, s.Spec.Index)
		}
	}
	return last
}

// repeatedCalls returns how many lines the calls of the script bench-takeover have written twice, as its last call prints it: "twice: 0".
func repeatedCalls(steps []*v1alpha1.MotorStep) (int, error) {
	for _, s := range steps {
		for _, r := range s.Status.Results {
			var n int
			if _, after, found := strings.Cut(r.Output, "twice: "); found {
				if _, err := fmt.Sscanf(after, "%d", &n); err != nil {
					return 0, fmt.Errorf("step %d says %q: %w", s.Spec.Index, r.Output, err)
				}
				return n, nil
			}
		}
	}
	return 0, errors.New("no step says how many calls were made twice")
}
