// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestReplicasOfDifferentVersionsAreShown(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	n := &notes{}
	gauge := newReplicas()
	r := &replicas{
		gauge: gauge, log: slog.New(slog.NewTextHandler(&out, nil)), tell: newPodEvents(n, options{namespace: "motorcortex-system", podName: "manager-0"}).tell,
	}
	r.show(map[string]int{"0.2.0": 2})
	if out.Len() > 0 || len(n.list) > 0 {
		t.Errorf("one version, and the log has %s, the Events are %q", out.String(), n.list)
	}
	r.show(map[string]int{"0.2.0": 1, "unknown": 1})
	if !strings.Contains(out.String(), "0.2.0, unknown") {
		t.Errorf("the log has %s", out.String())
	}
	if len(n.list) != 1 || !strings.Contains(n.list[0], "Warning "+v1alpha1.EventVersionsDiffer) || !strings.Contains(n.list[0], "0.2.0, unknown") {
		t.Errorf("the Events are %q", n.list)
	}
	r.show(map[string]int{}) // For a moment no Lease is in time.
	r.show(map[string]int{"0.3.0": 2})
	r.show(map[string]int{"0.3.0": 2})
	if len(n.list) != 2 || !strings.Contains(n.list[1], "Normal "+v1alpha1.EventVersionsAgree) || !strings.Contains(n.list[1], "0.3.0") {
		t.Errorf("the Events are %q", n.list)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(gauge)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "motorcortex_replicas" {
		t.Fatalf("metrics %v, %v", families, err)
	}
	all := families[0].GetMetric()
	if len(all) != 1 || all[0].GetGauge().GetValue() != 2 || all[0].GetLabel()[0].GetValue() != "0.3.0" {
		t.Errorf("metrics %v", all)
	}
}
