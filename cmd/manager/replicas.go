// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// replicas shows the versions of the live replicas, and reports when they differ. A leader and an engine of different versions decide by rules of
// their own. A leader drops the entries of lists in a status that its version does not know.
type replicas struct {
	gauge *prometheus.GaugeVec
	log   *slog.Logger
	// tell records an Event.
	tell func(kind, reason, action, note string)
	// differ is true if the versions differed when they were shown last.
	differ bool
}

// showReplicas returns the function that shows the versions. Only one goroutine at a time may call it.
func showReplicas(pod podEvents, log *slog.Logger) func(map[string]int) {
	r := &replicas{gauge: newReplicas(), log: log, tell: pod.tell}
	metrics.Registry.MustRegister(r.gauge)
	return r.show
}

func newReplicas() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "motorcortex_replicas", Help: "Replicas of the manager that live, as their Leases show, by their version.",
	}, []string{"version"})
}

func (r *replicas) show(byVersion map[string]int) {
	r.gauge.Reset()
	for version, n := range byVersion {
		r.gauge.WithLabelValues(version).Set(float64(n))
	}
	const action = "CompareVersions"
	versions := strings.Join(slices.Sorted(maps.Keys(byVersion)), ", ")
	switch {
	case len(byVersion) > 1:
		r.differ = true
		r.log.Warn("replicas of the manager have different versions: until the update is over, what only one of them knows may not be shown or done", "versions", versions)
		r.tell(corev1.EventTypeWarning, v1alpha1.EventVersionsDiffer, action, "Replicas of the manager have different versions: "+versions+
			". Until the update is over, what only one of them knows may not be shown or done. If no update is going on, look at the Pods and the images of the Deployment.")
	case r.differ && len(byVersion) == 1:
		r.differ = false
		r.tell(corev1.EventTypeNormal, v1alpha1.EventVersionsAgree, action, "All replicas of the manager have the version "+versions+".")
	}
}
