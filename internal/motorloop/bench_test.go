// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// treadmill is a model that makes another call with each step and takes no time, with its tools.
type treadmill struct {
	steps int
	// asked is called with the number of each step.
	asked func(step int)
}

func (m *treadmill) Complete(context.Context, chat.Request) (chat.Answer, error) {
	m.steps++
	n := m.steps
	if m.asked != nil {
		m.asked(n)
	}
	return chat.Answer{Model: "m", Content: "next", Calls: []turn.Call{{ModelID: fmt.Sprint(n), Tool: toolapi.ToolBash, Arguments: fmt.Sprintf(`{"command":"echo %d"}`, n)}}}, nil
}

func (m *treadmill) Call(_ context.Context, c toolapi.Call) (toolapi.Result, error) {
	return toolapi.Result{OK: true, Output: strings.Repeat("x", 1000) + c.ID, Provenance: toolapi.ProvenanceInternal}, nil
}

// forgetful is a journal that takes everything and keeps nothing.
type forgetful struct{}

func (forgetful) Append(context.Context, *turn.Turn) error { return nil }
func (forgetful) Settle(context.Context, *turn.Turn) error { return nil }
func (forgetful) SettleLater(*turn.Turn) func(context.Context) error {
	return func(context.Context) error { return nil }
}

func walk(tb testing.TB, steps int, asked func(step int)) {
	m := &treadmill{asked: asked}
	loop := &Loop{
		Config: config.Config{Attempt: 1, MaxIterations: int32(steps), Tools: []string{toolapi.ToolBash}, Task: "walk"},
		Model:  m, Tools: m, Journal: forgetful{},
	}
	if out, err := loop.Run(tb.Context(), nil); err != nil || out.Failure == nil || out.Failure.Reason != outcome.ReasonMaxIterations {
		tb.Fatal(out, err)
	}
}

// A step costs as much late in a run as early in it, but for the request itself, which is as long as the conversation. No other test of the package runs
// beside this one, and the least of many steps counts.
func TestALateStepAllocatesNoMoreThanAnEarlyOne(t *testing.T) {
	const steps, around = 300, 25
	var last uint64
	least := map[int]uint64{}
	walk(t, steps, func(step int) {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		if at := step / around; least[at] == 0 || stats.Mallocs-last < least[at] {
			least[at] = stats.Mallocs - last
		}
		last = stats.Mallocs
	})
	early, late := least[2], least[steps/around-1]
	t.Logf("allocations of a step: %d early, %d late", early, late)
	const budget = 1000
	if late > 2*early || late > budget {
		t.Errorf("a step early in a run makes %d allocations, and one of the last %d; at most %d are allowed", early, late, budget)
	}
}

// BenchmarkStep is the loop's own time for a step of a run of that many steps: no model, tool or journal takes any.
func BenchmarkStep(b *testing.B) {
	for _, steps := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				walk(b, steps, nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps), "ns/step")
		})
	}
}
