// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"motorcortex.dev/motorcortex/test/bench/figures"
)

// figuresOf sums up the rounds.
func figuresOf(all []taken) []figures.Figure {
	figure := func(name string, of func(taken) time.Duration) figures.Figure {
		return figures.Of(name, durations(all, of))
	}
	pod := figure("plain Pod, created → ready", func(t taken) time.Duration { return t.pod })
	create := figure("create of an object of 4 KiB", func(t taken) time.Duration { return t.create })
	list := []figures.Figure{
		pod,
		figure("Pod with an empty folder, created → ready", func(t taken) time.Duration { return t.volume }).Against("plain Pod", pod).OfPeer(),
		create,
		figure("run created → first tool result", func(t taken) time.Duration { return t.path[FirstResult] }).Against("plain Pod", pod).
			Within(pod.P50+250, "the plain Pod's time and 250 ms"),
		figure("Oneshot run created → result", func(t taken) time.Duration { return t.oneshot }).Against("plain Pod", pod),
		figure("answer accepted → next step recorded, outside of the model", func(t taken) time.Duration { return t.answered }).Against("create", create).Within(30, "30 ms"),
		figure("step, outside of model and tools", func(t taken) time.Duration { return t.step }).Against("create", create).Within(3*create.P50, "three creates"),
	}
	list = append(list, peersOf(all)...)
	if len(all) == 0 || len(all[0].warm.path) == 0 {
		return list
	}
	return append(list,
		figure("pool: run created → first tool result", func(t taken) time.Duration { return t.warm.path[FirstResult] }).Against("plain Pod", pod).Within(40, "40 ms"),
		figure("pool: Oneshot run created → result", func(t taken) time.Duration { return t.warm.oneshot }).Against("plain Pod", pod).Within(60, "60 ms"),
		figure(fmt.Sprintf("pool: %d at once, p95 of a round", len(all[0].warm.burst)), func(t taken) time.Duration { return figures.Quantile(t.warm.burst, 0.95) }).
			Against("plain Pod", pod).Within(250, "250 ms"),
	)
}

func durations(all []taken, of func(taken) time.Duration) (list []time.Duration) {
	for _, t := range all {
		list = append(list, of(t))
	}
	return list
}

// pathOf returns the moments of a run in the order in which they came.
func pathOf(all []taken, of func(taken) map[Moment]time.Duration) []figures.Mark {
	at := map[Moment][]time.Duration{}
	for _, t := range all {
		for m, d := range of(t) {
			at[m] = append(at[m], d)
		}
	}
	var path []figures.Mark
	for m, list := range at {
		path = append(path, figures.Mark{Moment: string(m), P50: figures.Of(string(m), list).P50})
	}
	slices.SortFunc(path, func(a, b figures.Mark) int { return cmp.Or(cmp.Compare(a.P50, b.P50), cmp.Compare(a.Moment, b.Moment)) })
	return path
}
