// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Leader counts what only the leader does: it ends runs, gives them the sandboxes of pools, and drains energy for them. It is what the controllers tell.
type Leader struct {
	reasons *labels
	pools   bounded[poolName]

	ended     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	adoptions *prometheus.CounterVec
	misses    *prometheus.CounterVec
	energy    *prometheus.CounterVec
}

// NewLeader makes the metrics of the leader and registers them.
func NewLeader(to prometheus.Registerer, now func() time.Time) (*Leader, error) {
	l := &Leader{
		reasons: newLabels(maxReasons), pools: bounded[poolName]{most: maxPools, now: now},
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "runs_ended_total", Help: "Runs that have ended, by the reason of the condition Succeeded.",
		}, []string{"reason"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "run_duration_seconds",
			Help: "Time from the creation of runs to their end, with all waits, by whether they succeeded.",
			// Ten seconds to a week: a run may wait for a person.
			Buckets: []float64{10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600},
		}, []string{"succeeded"}),
		adoptions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "pool_adoptions_total", Help: "Sandboxes that runs took from a pool.",
		}, []string{"namespace", "pool"}),
		misses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "pool_misses_total",
			Help: "Runs that got a new sandbox because no pool of their MotorCortex had one that fits, by the first of these pools.",
		}, []string{"namespace", "pool"}),
		energy: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "energy_drained_total",
			Help: "Energy that runs drained, where a full body has 1, by the kind of run. What is given back is not taken off.",
		}, []string{"kind"}),
	}
	l.pools.freed = func(p poolName) {
		l.adoptions.DeleteLabelValues(p.namespace, p.name)
		l.misses.DeleteLabelValues(p.namespace, p.name)
	}
	for _, reason := range alerted {
		l.ended.WithLabelValues(l.reasons.of(reason))
	}
	return l, registerAll(to, l.ended, l.durations, l.adoptions, l.misses, l.energy)
}

// alerted are reasons of which the first end is an alert. Their counters begin at 0: an increase from nothing is none to Prometheus.
var alerted = []string{
	v1alpha1.ReasonInternalError, v1alpha1.ReasonIsolationRefused, v1alpha1.ReasonSandboxLost, v1alpha1.ReasonSandboxEvicted, v1alpha1.ReasonSandboxCrashed,
}

// RunEnded counts a run that has ended.
func (l *Leader) RunEnded(reason string, succeeded bool, took time.Duration) {
	l.ended.WithLabelValues(l.reasons.of(reason)).Inc()
	value := "false"
	if succeeded {
		value = "true"
	}
	l.durations.WithLabelValues(value).Observe(max(took, 0).Seconds())
}

// PoolAdopted counts a sandbox that a run took from a pool.
func (l *Leader) PoolAdopted(namespace, pool string) {
	p := placeOf(&l.pools, namespace, pool)
	l.adoptions.WithLabelValues(p.namespace, p.name).Inc()
}

// EnergyDrained counts energy that a run of a kind drained.
func (l *Leader) EnergyDrained(kind string, amount float64) {
	l.energy.WithLabelValues(kind).Add(amount)
}

// PoolMissed counts a run for which no pool had a sandbox. pool is the first one that it could have come from.
func (l *Leader) PoolMissed(namespace, pool string) {
	p := placeOf(&l.pools, namespace, pool)
	l.misses.WithLabelValues(p.namespace, p.name).Inc()
}
