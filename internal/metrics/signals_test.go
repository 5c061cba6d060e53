// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"motorcortex.dev/motorcortex/internal/controller/signal"
)

func TestDeliveriesAreCounted(t *testing.T) {
	t.Parallel()
	to := prometheus.NewRegistry()
	s, err := NewSignals(to)
	must(t, err)
	s.SignalSent(signal.Email, signal.Taken)
	s.SignalSent(signal.Email, signal.Taken)
	s.SignalSent(signal.Sink, signal.Dropped)
	has(t, to, `
		motorcortex_signal_deliveries_total{channel="email",outcome="dropped"} 0
		motorcortex_signal_deliveries_total{channel="email",outcome="failed"} 0
		motorcortex_signal_deliveries_total{channel="email",outcome="taken"} 2
		motorcortex_signal_deliveries_total{channel="sink",outcome="dropped"} 1
		motorcortex_signal_deliveries_total{channel="sink",outcome="failed"} 0
		motorcortex_signal_deliveries_total{channel="sink",outcome="taken"} 0
		motorcortex_signal_deliveries_total{channel="slack",outcome="dropped"} 0
		motorcortex_signal_deliveries_total{channel="slack",outcome="failed"} 0
		motorcortex_signal_deliveries_total{channel="slack",outcome="taken"} 0
		motorcortex_signal_deliveries_total{channel="webhook",outcome="dropped"} 0
		motorcortex_signal_deliveries_total{channel="webhook",outcome="failed"} 0
		motorcortex_signal_deliveries_total{channel="webhook",outcome="taken"} 0
	`, "motorcortex_signal_deliveries_total")
}
