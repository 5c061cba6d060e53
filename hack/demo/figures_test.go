// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestCompute(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(100, 0).Add(time.Duration(ms) * time.Millisecond) }
	m := marks{created: at(1000)}
	m.step(at(1800))
	m.result(at(1900))
	m.step(at(2000))
	m.result(at(2100))
	m.ask(at(2200))
	m.answer(at(2700))
	m.answer(at(2800)) // The run says later what the demo did itself.
	m.finished = at(3200)
	steps := []v1alpha1.MotorStep{step(1), step(2), step(3), step(4)}
	for i := range steps {
		steps[i].Spec.ModelMilliseconds, steps[i].Status.ToolMilliseconds = 20, 40
	}
	got := compute(at(0), m, steps, []time.Duration{500 * time.Millisecond, 300 * time.Millisecond, 450 * time.Millisecond})
	want := figures{
		TotalMs: 3200, RunMs: 2200, FirstResultMs: 900, PodReadyMs: []int64{500, 300, 450}, PodReadyMedianMs: 450, FirstResultToPodReady: 2,
		Steps: 4, ModelMs: 80, ToolMs: 160, WaitedMs: 500,
		// 1400 from the first step to the end, less three model calls, all tools and the person: 680 for 4 steps.
		StepOverheadMs: 170,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestComputeOfARunThatNeverBegan(t *testing.T) {
	start := time.Unix(100, 0)
	got := compute(start, marks{created: start, finished: start.Add(time.Second)}, nil, nil)
	if diff := cmp.Diff(figures{TotalMs: 1000, RunMs: 1000}, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}
