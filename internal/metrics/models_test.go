// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"motorcortex.dev/motorcortex/internal/motorloop/openai"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

func TestRequestsToModelsAreCounted(t *testing.T) {
	t.Parallel()
	to := prometheus.NewRegistry()
	m, err := NewModels(to, "large", time.Now)
	must(t, err)
	m.ModelAsked("small", "Answered", 300*time.Millisecond, turn.Usage{PromptTokens: 100, CompletionTokens: 7, CachedTokens: 60})
	m.ModelAsked("small", "Answered", time.Hour, turn.Usage{PromptTokens: 10, CompletionTokens: 1})
	m.ModelAsked("large", "ModelUnavailable", time.Second, turn.Usage{PromptTokens: -5})
	has(t, to, `
		motorcortex_model_tokens_total{model="large",type="input"} 0
		motorcortex_model_tokens_total{model="large",type="output"} 0
		motorcortex_model_tokens_total{model="small",type="input"} 110
		motorcortex_model_tokens_total{model="small",type="output"} 8
		motorcortex_model_cached_tokens_total{model="large"} 0
		motorcortex_model_cached_tokens_total{model="small"} 60
	`, "motorcortex_model_tokens_total", "motorcortex_model_cached_tokens_total")
	counts := countsOf(t, to, "motorcortex_model_request_duration_seconds")
	if counts["large ModelUnavailable"] != 1 || counts["small Answered"] != 2 || len(counts) != 2 {
		t.Errorf("the requests are %v", counts)
	}
}

// An editor of a MotorCortex chooses the name of its model. Names must not take the labels of others, and none for good.
func TestModelsHaveLabelsOnceTheyAnswer(t *testing.T) {
	t.Parallel()
	to, now := prometheus.NewRegistry(), time.Unix(1000, 0)
	m, err := NewModels(to, "built-in", func() time.Time { return now })
	must(t, err)
	used := func(label string) {
		t.Helper()
		if n := countsOf(t, to, "motorcortex_model_request_duration_seconds")[label]; n == 0 {
			t.Errorf("there is no request of %s", label)
		}
	}
	for i := range 2 * maxModels {
		m.ModelAsked(fmt.Sprint("made-up-", i), "ModelRejected", time.Second, turn.Usage{})
	}
	used("other ModelRejected")
	m.ModelAsked("real", openai.OutcomeAnswered, time.Second, turn.Usage{})
	m.ModelAsked("real", "ModelUnavailable", time.Second, turn.Usage{})
	used("real Answered")
	used("real ModelUnavailable")
	for i := range 2 * maxModels {
		m.ModelAsked(fmt.Sprint("taken-", i), openai.OutcomeAnswered, time.Second, turn.Usage{})
	}
	m.ModelAsked("built-in", "ModelUnavailable", time.Second, turn.Usage{})
	used("built-in ModelUnavailable")
	m.ModelAsked("late", openai.OutcomeAnswered, time.Second, turn.Usage{})
	used("other Answered")
	now = now.Add(unusedFor - time.Second)
	m.ModelAsked("real", openai.OutcomeAnswered, time.Second, turn.Usage{})
	now = now.Add(time.Second)
	m.ModelAsked("late", openai.OutcomeAnswered, time.Second, turn.Usage{})
	used("late Answered")
	used("real Answered")
	names := map[string]bool{}
	for label := range countsOf(t, to, "motorcortex_model_request_duration_seconds") {
		names[strings.Fields(label)[0]] = true
	}
	if len(names) != maxModels+1 {
		t.Errorf("%d names have series, want %d and %s", len(names), maxModels, other)
	}
}

// countsOf returns how much each histogram of a name has observed, by the values of its labels.
func countsOf(t *testing.T, from prometheus.Gatherer, name string) map[string]uint64 {
	t.Helper()
	families, err := from.Gather()
	must(t, err)
	counts := map[string]uint64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			key := ""
			for i, l := range m.GetLabel() {
				if i > 0 {
					key += " "
				}
				key += l.GetValue()
			}
			counts[key] = m.GetHistogram().GetSampleCount()
		}
	}
	return counts
}
