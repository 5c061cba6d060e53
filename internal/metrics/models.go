// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"motorcortex.dev/motorcortex/internal/motorloop/openai"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// Models counts requests to models and their tokens. It is what the client of a model endpoint tells.
type Models struct {
	names *labels
	// currencies are labels of costs.
	currencies *labels
	outcomes   *labels
	requests   *prometheus.HistogramVec
	tokens     *prometheus.CounterVec
	cached     *prometheus.CounterVec
	cost       *prometheus.CounterVec
}

// NewModels makes the metrics of models and registers them. The model builtIn always has a label of its own.
func NewModels(to prometheus.Registerer, builtIn string, now func() time.Time) (*Models, error) {
	m := &Models{
		names: newLabels(maxModels), outcomes: newLabels(maxOutcomes), currencies: newLabels(maxCurrencies),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "model_request_duration_seconds",
			Help: "Time of requests to models, with the wait for a slot and all tries, by outcome: Answered, Cancelled, or the reason of the failure.",
			// A small model answers in half a second, a large one that reasons in minutes.
			Buckets: []float64{0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600, 1800},
		}, []string{"model", "outcome"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "model_tokens_total",
			Help: "Tokens of requests to models, by type: input or output. Failed tries are included as far as the endpoint reports them.",
		}, []string{"model", "type"}),
		cached: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "model_cached_tokens_total",
			Help: "The part of the input tokens that the endpoint served from its cache.",
		}, []string{"model"}),
		cost: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "model_cost_total",
			Help: "Cost of calls of models by the prices of MotorCortexes, in the currency. A model without a price costs nothing here.",
		}, []string{"model", "currency"}),
	}
	m.names.now = now
	m.names.freed = func(model string) {
		of := prometheus.Labels{"model": model}
		m.requests.DeletePartialMatch(of)
		m.tokens.DeletePartialMatch(of)
		m.cached.DeletePartialMatch(of)
		m.cost.DeletePartialMatch(of)
	}
	if builtIn != "" {
		m.names.reserve(clean(builtIn))
	}
	return m, registerAll(to, m.requests, m.tokens, m.cached, m.cost)
}

// ModelAsked counts a request that has ended. Only a model that has answered gets a label: a name that was made up, or mistyped, must not take one.
func (m *Models) ModelAsked(model, result string, took time.Duration, usage turn.Usage) {
	name := clean(model)
	if result == openai.OutcomeAnswered {
		name = m.names.of(model)
	} else if !m.names.has(name) {
		name = other
	}
	m.requests.WithLabelValues(name, m.outcomes.of(result)).Observe(took.Seconds())
	add(m.tokens.WithLabelValues(name, "input"), usage.PromptTokens)
	add(m.tokens.WithLabelValues(name, "output"), usage.CompletionTokens)
	add(m.cached.WithLabelValues(name), usage.CachedTokens)
}

// ModelPaid counts what a call cost, in billionths of a currency. A namespace can name any currency, so those after the first few share a label.
func (m *Models) ModelPaid(model, currency string, billionths int64) {
	name := clean(model)
	if !m.names.has(name) {
		name = other
	}
	m.cost.WithLabelValues(name, m.currencies.of(currency)).Add(float64(max(billionths, 0)) / 1e9)
}

// add adds to a counter. An endpoint chooses the number, and a negative one would panic.
func add(c prometheus.Counter, n int64) { c.Add(float64(max(n, 0))) }
