// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"motorcortex.dev/motorcortex/internal/timekeeper"
)

// setupTime builds the timekeeper of controllers and engine, and has this replica write the heartbeat while it leads.
func setupTime(
	mgr ctrl.Manager, clock *timekeeper.Clock, leases coordinationv1client.LeaseInterface, namespace string, failing func(error), log *slog.Logger,
) (*timekeeper.Keeper, error) {
	keeper := &timekeeper.Keeper{Leases: leases, Namespace: namespace, Clock: clock.Now, Logger: log, Failing: failing}
	metrics.Registry.MustRegister(clockMetric(clock), heartbeatMetric(keeper))
	if err := keeper.SetupWithManager(mgr); err != nil {
		return nil, fmt.Errorf("set up the record of the time: %w", err)
	}
	return keeper, nil
}

func clockMetric(clock *timekeeper.Clock) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "motorcortex_api_clock_ahead_seconds",
		Help: "What the API server's clock is ahead of this manager's, as its answers show. Below two seconds it is 0.",
	}, func() float64 { return clock.Offset().Seconds() })
}

func heartbeatMetric(keeper *timekeeper.Keeper) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "motorcortex_heartbeat_age_seconds",
		Help: "How long ago the leader's last heartbeat was written that this replica knows of. Above 15 seconds no deadline passes.",
	}, func() float64 { return keeper.Silence().Seconds() })
}
