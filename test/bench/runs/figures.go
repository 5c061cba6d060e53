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
	pods := durations(all, func(t taken) time.Duration { return t.pod })
	creates := durations(all, func(t taken) time.Duration { return t.create })
	over := func(name, other string, others []time.Duration, of func(taken) time.Duration) figures.Figure {
		list := durations(all, of)
		return figures.Of(name, list).Against(other, list, others)
	}
	list := []figures.Figure{
		figures.Of("plain Pod, created → ready", pods),
		over("Pod with an empty folder, created → ready", "plain Pod", pods, func(t taken) time.Duration { return t.volume }),
		figures.Of("create of an object of 4 KiB", creates),
		over("run created → first tool result", "plain Pod", pods, func(t taken) time.Duration { return t.path[FirstResult] }).
			Within(ms(figures.Quantile(pods, 0.5))+250, "the plain Pod's time and 250 ms"),
		over("Oneshot run created → result", "plain Pod", pods, func(t taken) time.Duration { return t.oneshot }),
		over("answer accepted → next step recorded", "create", creates, func(t taken) time.Duration { return t.answered }).Within(30, "30 ms"),
		over("step, outside of model and tools", "create", creates, func(t taken) time.Duration { return t.step }).
			Within(3*ms(figures.Quantile(creates, 0.5)), "three creates"),
	}
	if len(all) == 0 || len(all[0].warm.path) == 0 {
		return list
	}
	return append(list,
		over("pool: run created → first tool result", "plain Pod", pods, func(t taken) time.Duration { return t.warm.path[FirstResult] }).Within(40, "40 ms"),
		over("pool: Oneshot run created → result", "plain Pod", pods, func(t taken) time.Duration { return t.warm.oneshot }).Within(60, "60 ms"),
		over(fmt.Sprintf("pool: %d at once, p95 of a round", len(all[0].warm.burst)), "plain Pod", pods,
			func(t taken) time.Duration { return figures.Quantile(t.warm.burst, 0.95) }).Within(250, "250 ms"),
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
