// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestSpansAreCountedByWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	to := prometheus.NewRegistry()
	traces, err := NewTraces(to)
	if err != nil {
		t.Fatal(err)
	}
	traces.SpansSent(3)
	traces.SpansRefused(2)
	traces.RunLost()
	traces.ExportFailed()
	waiting := 7
	traces.ShowWaiting(func() int { return waiting })
	want := `# HELP motorcortex_trace_export_failures_total Requests that the collector did not take, and that are made again.
# TYPE motorcortex_trace_export_failures_total counter
motorcortex_trace_export_failures_total 1
# HELP motorcortex_trace_runs_lost_total Runs whose spans were not sent: deleted ones of too many, and those that ended over a day before a new leader came.
# TYPE motorcortex_trace_runs_lost_total counter
motorcortex_trace_runs_lost_total 1
# HELP motorcortex_trace_runs_waiting Runs that may have spans that the collector has not been sent.
# TYPE motorcortex_trace_runs_waiting gauge
motorcortex_trace_runs_waiting 7
# HELP motorcortex_trace_spans_total Spans of runs that the collector has taken, or refused for good, by outcome.
# TYPE motorcortex_trace_spans_total counter
motorcortex_trace_spans_total{outcome="refused"} 2
motorcortex_trace_spans_total{outcome="sent"} 3
`
	if err := testutil.GatherAndCompare(to, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
