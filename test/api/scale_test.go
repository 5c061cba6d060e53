// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/chaos"
	"motorcortex.dev/motorcortex/internal/storage"
	"motorcortex.dev/motorcortex/test/scale"
)

// writes returns how many requests wrote, those of steps alone or all others.
func (c *traffic) writes(steps bool) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, times := range c.byName {
		method, of, _ := strings.Cut(name, " ")
		if method != "GET" && of != "events" && strings.HasPrefix(of, "motorsteps") == steps {
			n += times
		}
	}
	return n
}

// wantWithin fails the test if a size is more than a quarter away.
func wantWithin(t *testing.T, what string, got, want int64) {
	t.Helper()
	if got < want*3/4 || got > want*5/4 {
		t.Errorf("%s: %d bytes, the simulation has %d", what, got, want)
	}
}

// The simulated days of docs/scale.md are made of the costs of one run: those that real runs have here.
func TestARunCostsWhatTheSimulatedDaysSay(t *testing.T) {
	t.Parallel()
	const text = 2000
	for _, steps := range []int{2, 12, 20} {
		t.Run(fmt.Sprintf("%d steps", steps), func(t *testing.T) {
			counts := &traffic{}
			r := newChaosRig(t, chaos.Settings{}, func(r *chaosRig) {
				r.requests, r.model.answers = counts, nil
				for i := range steps - 1 {
					r.model.answers = append(r.model.answers, says("", call("bash", fmt.Sprintf(`{"command":"echo %d; echo %s"}`, i, strings.Repeat("x", text)))))
				}
				r.model.answers = append(r.model.answers, says("All done."))
			})
			r.waitFor(func() bool { return r.status().Phase == v1alpha1.PhaseCompleted })
			r.waitFor(func() bool { return counts.of("DELETE pods") > 0 })
			run := &v1alpha1.MotorRun{}
			must(t, admin.Get(r.ctx, client.ObjectKeyFromObject(r.run), run))
			list := &v1alpha1.MotorStepList{}
			must(t, admin.List(r.ctx, list, client.InNamespace(run.Namespace)))
			var bytes int64
			for i := range list.Items {
				bytes += storage.OfStep(&list.Items[i])
			}
			t.Logf("%s; the run has %d bytes, its steps %d", counts, storage.OfRun(run), bytes)
			// The run was created here. Steps of milliseconds can each be shown until the leader knows that the run goes its way.
			cost := scale.Measured
			if got, most := float64(counts.writes(false)+1), cost.Created+cost.Ended+cost.StatusWrites*float64(steps); got > most {
				t.Errorf("%.0f writes beside the steps, %.0f at most", got, most)
			}
			if got, want := float64(counts.writes(true)), cost.StepWrites*float64(steps); got != want {
				t.Errorf("%.0f writes of steps, want %.0f", got, want)
			}
			// The command and its result have the text, and the last step has none.
			wantWithin(t, "the steps", bytes, int64(steps)*cost.StepBytes+int64(steps-1)*2*text)
			wantWithin(t, "the run", storage.OfRun(run), cost.RunBytes)
		})
	}
}
