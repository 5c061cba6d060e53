// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math"
	"time"

	"motorcortex.dev/motorcortex/test/bench/figures"
)

// slowFor is how long the script bench-slow waits before the second answer. It is longer than it takes to measure the memory of all managers.
const slowFor = 40 * time.Second

// idle measures the first part of row 8. The managers must not have had any run.
func (b *bench) idle(ctx context.Context) ([]Row, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := b.managers.AwaitReady(ctx, replicas); err != nil {
		return nil, err
	}
	resident, err := b.managers.Resident(ctx)
	if err != nil {
		return nil, err
	}
	_, heap, err := b.managers.Heap(ctx)
	if err != nil {
		return nil, err
	}
	return []Row{{Number: 8, Name: "memory of an idle manager", Value: mib(resident), Unit: unitMiB, Bound: 60,
		Detail: fmt.Sprintf("resident, of the manager that has most; heap and stacks of all %d: %s MiB", replicas, figures.Number(mib(heap)))}}, nil
}

// slowRuns measures the memory of a run whose loop waits for its model.
func (b *bench) slowRuns(ctx context.Context) (Row, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := wait(ctx, untilStill); err != nil {
		return Row{}, err
	}
	_, none, err := b.managers.Heap(ctx)
	if err != nil {
		return Row{}, err
	}
	runs, err := b.together(ctx, b.prefix+"-slow", "bench-slow", b.burst)
	if err != nil {
		return Row{}, err
	}
	for _, run := range runs {
		if _, err := b.seen.await(ctx, run.Name, FirstResult); err != nil {
			return Row{}, err
		}
	}
	_, all, err := b.managers.Heap(ctx)
	if err != nil {
		return Row{}, err
	}
	waiting := 0
	for _, run := range runs {
		if now, _ := b.seen.run(run.Name); now != nil && !isFinished(now) {
			waiting++
		}
	}
	if waiting < len(runs) {
		return Row{}, fmt.Errorf("%d of %d runs waited for their model when the memory was measured: their sandboxes began too far apart", waiting, len(runs))
	}
	return Row{Number: 8, Name: "memory of an active run", Value: kib((all - none) / float64(len(runs))), Unit: unitKiB, Bound: 150,
		Detail: fmt.Sprintf("slope over %d runs whose model takes %s, heap and stacks of all managers together", len(runs), slowFor)}, b.leave(ctx, runs)
}

// mib and kib return bytes in units that people read.
func mib(bytes float64) float64 { return math.Round(10*bytes/(1<<20)) / 10 }
func kib(bytes float64) float64 { return math.Round(10*bytes/(1<<10)) / 10 }
