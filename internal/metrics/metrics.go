// SPDX-License-Identifier: Apache-2.0

// Package metrics has the metrics of the manager. Their labels are closed sets, or bounded ones: never a run's name. Code that has something to count
// knows none of this: it tells an interface of its own, which a type of this package has.
//
//	loops, models, pools, reconciler ──► counters and histograms of this replica
//	caches of the manager ──► gauges of the cluster, computed when they are read; each replica shows the same
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// prefix begins the names of all metrics of the operator.
const prefix = "motorcortex_"

// other is the value of a label for everything that has no value of its own.
const other = "other"

// registerAll registers collectors. It returns the first error.
func registerAll(to prometheus.Registerer, all ...prometheus.Collector) error {
	for _, c := range all {
		if err := to.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// gauge describes a gauge that a collector computes.
func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

// send sends a value of a gauge.
func send(to chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
