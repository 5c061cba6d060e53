// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"motorcortex.dev/motorcortex/internal/controller/signal"
)

// Signals counts deliveries to sinks and receivers. It is what the controller of signals tells. The receivers have no label: namespaces name them.
type Signals struct{ sent *prometheus.CounterVec }

// NewSignals makes the metrics of deliveries and registers them. All of them begin at 0: an increase from nothing is none to Prometheus.
func NewSignals(to prometheus.Registerer) (*Signals, error) {
	s := &Signals{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "signal_deliveries_total",
		Help: "Deliveries of signals to sinks and of messages to receivers of notifications, by what the receiver is and what became of them.",
	}, []string{"channel", "outcome"})}
	for _, channel := range []signal.Channel{signal.Sink, signal.Webhook, signal.Slack, signal.Email} {
		for _, outcome := range []signal.Outcome{signal.Taken, signal.Failed, signal.Dropped} {
			s.sent.WithLabelValues(string(channel), string(outcome))
		}
	}
	return s, registerAll(to, s.sent)
}

// SignalSent counts a delivery.
func (s *Signals) SignalSent(to signal.Channel, outcome signal.Outcome) {
	s.sent.WithLabelValues(string(to), string(outcome)).Inc()
}
