// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics have labels of closed sets only: no run, no host.
type metrics struct {
	requests    *prometheus.CounterVec
	ended       *prometheus.CounterVec
	bytes       *prometheus.CounterVec
	connections prometheus.Gauge
	resolve     prometheus.Histogram
	dial        prometheus.Histogram
}

// newMetrics makes the metrics and registers them, if there is something to register them with.
func newMetrics(to prometheus.Registerer, grants *Grants) (*metrics, error) {
	const prefix = "motorcortex_egress_"
	buckets := prometheus.ExponentialBuckets(0.0005, 3, 10)
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "requests_total", Help: "Decisions about requests, by verdict and reason.",
		}, []string{"verdict", "reason"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "connections_ended_total", Help: "Connections that were let through and have ended, by reason.",
		}, []string{"reason"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "bytes_total", Help: "Bytes that were moved, by direction.",
		}, []string{"direction"}),
		connections: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "connections", Help: "Open connections of clients.",
		}),
		resolve: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "resolve_seconds", Help: "Time to find the addresses of a host.", Buckets: buckets,
		}),
		dial: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "dial_seconds", Help: "Time to connect with a host.", Buckets: buckets,
		}),
	}
	if to == nil {
		return m, nil
	}
	count := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: prefix + "grants", Help: "Runs that have a grant.",
	}, func() float64 { return float64(grants.Len()) })
	for _, c := range []prometheus.Collector{m.requests, m.ended, m.bytes, m.connections, m.resolve, m.dial, count} {
		if err := to.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}
