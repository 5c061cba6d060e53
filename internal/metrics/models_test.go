// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

func TestRequestsToModelsAreCounted(t *testing.T) {
	t.Parallel()
	to := prometheus.NewRegistry()
	m, err := NewModels(to)
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
