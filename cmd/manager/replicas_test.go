// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestReplicasOfDifferentVersionsAreShown(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	gauge, log := newReplicas(), slog.New(slog.NewTextHandler(&out, nil))
	show(gauge, log, map[string]int{"0.2.0": 2})
	if out.Len() > 0 {
		t.Errorf("one version, and the log has %s", out.String())
	}
	show(gauge, log, map[string]int{"0.2.0": 1, "unknown": 1})
	if !strings.Contains(out.String(), "0.2.0, unknown") {
		t.Errorf("the log has %s", out.String())
	}
	show(gauge, log, map[string]int{"0.3.0": 2})
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
