// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestEndsAndPoolsAreCounted(t *testing.T) {
	t.Parallel()
	to := prometheus.NewRegistry()
	l, err := NewLeader(to, time.Now)
	must(t, err)
	l.RunEnded("Completed", true, time.Minute)
	l.RunEnded("Completed", true, time.Hour)
	l.RunEnded("Timeout", false, -time.Second)
	l.PoolAdopted("ns", "big")
	l.PoolAdopted("ns", "big")
	l.PoolMissed("ns", "small")
	l.EnergyDrained("Oneshot", 0.25)
	l.EnergyDrained("Oneshot", 0.5)
	has(t, to, `
		motorcortex_runs_ended_total{reason="Completed"} 2
		motorcortex_runs_ended_total{reason="InternalError"} 0
		motorcortex_runs_ended_total{reason="IsolationUnverified"} 0
		motorcortex_runs_ended_total{reason="SandboxCrashed"} 0
		motorcortex_runs_ended_total{reason="SandboxEvicted"} 0
		motorcortex_runs_ended_total{reason="SandboxLost"} 0
		motorcortex_runs_ended_total{reason="Timeout"} 1
		motorcortex_pool_adoptions_total{namespace="ns",pool="big"} 2
		motorcortex_pool_misses_total{namespace="ns",pool="small"} 1
		motorcortex_energy_drained_total{kind="Oneshot"} 0.75
	`, "motorcortex_energy_drained_total", "motorcortex_runs_ended_total", "motorcortex_pool_adoptions_total", "motorcortex_pool_misses_total")
	if counts := countsOf(t, to, "motorcortex_run_duration_seconds"); counts["true"] != 2 || counts["false"] != 1 {
		t.Errorf("the durations are %v", counts)
	}
}
