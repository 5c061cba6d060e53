// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// showReplicas shows the versions of the replicas that live, and says when they differ: a leader and an engine of different versions
// decide by rules of their own.
func showReplicas(log *slog.Logger) func(map[string]int) {
	gauge := newReplicas()
	metrics.Registry.MustRegister(gauge)
	return func(byVersion map[string]int) { show(gauge, log, byVersion) }
}

func newReplicas() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "motorcortex_replicas", Help: "Replicas of the manager that live, as their Leases show, by their version.",
	}, []string{"version"})
}

func show(gauge *prometheus.GaugeVec, log *slog.Logger, byVersion map[string]int) {
	gauge.Reset()
	for version, n := range byVersion {
		gauge.WithLabelValues(version).Set(float64(n))
	}
	if len(byVersion) > 1 {
		log.Warn("replicas of the manager have different versions: until the update is over, what only one of them knows may not be shown or done",
			"versions", strings.Join(slices.Sorted(maps.Keys(byVersion)), ", "))
	}
}
