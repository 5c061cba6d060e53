// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Traces counts the spans that the leader sends to a collector. It is what the exporter tells.
type Traces struct {
	spans    *prometheus.CounterVec
	lost     prometheus.Counter
	failures prometheus.Counter
	waiting  atomic.Pointer[func() int]
}

// NewTraces makes the metrics of traces and registers them.
func NewTraces(to prometheus.Registerer) (*Traces, error) {
	t := &Traces{
		spans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "trace_spans_total", Help: "Spans of runs that the collector has taken, or refused for good, by outcome.",
		}, []string{"outcome"}),
		lost: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "trace_runs_lost_total", Help: "Runs whose spans were not sent: deleted ones of too many, and those that ended over a day before a new leader came.",
		}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "trace_export_failures_total", Help: "Requests that the collector did not take, and that are made again.",
		}),
	}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: prefix + "trace_runs_waiting", Help: "Runs that may have spans that the collector has not been sent.",
	}, func() float64 {
		if of := t.waiting.Load(); of != nil {
			return float64((*of)())
		}
		return 0
	})
	// An increase from nothing is none to Prometheus.
	for _, outcome := range []string{outcomeSent, outcomeRefused} {
		t.spans.WithLabelValues(outcome)
	}
	return t, registerAll(to, t.spans, t.lost, t.failures, waiting)
}

const (
	outcomeSent    = "sent"
	outcomeRefused = "refused"
)

// ShowWaiting has the gauge show how many runs wait.
func (t *Traces) ShowWaiting(of func() int) { t.waiting.Store(&of) }

// SpansSent counts spans that the collector has taken.
func (t *Traces) SpansSent(n int) { t.spans.WithLabelValues(outcomeSent).Add(float64(n)) }

// SpansRefused counts spans that the collector never takes.
func (t *Traces) SpansRefused(n int) { t.spans.WithLabelValues(outcomeRefused).Add(float64(n)) }

// RunLost counts a run whose spans were not sent.
func (t *Traces) RunLost() { t.lost.Inc() }

// ExportFailed counts a request that is made again.
func (t *Traces) ExportFailed() { t.failures.Inc() }
