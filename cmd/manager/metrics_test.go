// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/engine"
	own "motorcortex.dev/motorcortex/internal/metrics"
	"motorcortex.dev/motorcortex/internal/timekeeper"
)

// described are the metrics of a registry: their names, labels and texts.
type described map[string]struct {
	labels []string
	help   string
}

var descPattern = regexp.MustCompile(`^Desc\{fqName: "([^"]*)", help: "(.*)", constLabels: \{\}, variableLabels: \{([^}]*)\}\}$`)

func describe(t *testing.T, c prometheus.Collector) described {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	found := described{}
	for d := range descs {
		m := descPattern.FindStringSubmatch(d.String())
		if m == nil {
			// Metrics of Kubernetes have constant labels, and are none of ours.
			if strings.Contains(d.String(), `fqName: "motorcortex_`) {
				t.Errorf("what is %s?", d)
			}
			continue
		}
		at := found[m[1]]
		at.help = m[2]
		if m[3] != "" {
			at.labels = strings.Split(m[3], ",")
		}
		found[m[1]] = at
	}
	return found
}

// empty is a cache without objects.
type empty struct{ client.Reader }

func (empty) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// allMetrics registers every metric that the manager has of its own.
func allMetrics(t *testing.T) *prometheus.Registry {
	t.Helper()
	to := prometheus.NewRegistry()
	if _, err := newTelemetry(to, "m"); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	clock := timekeeper.NewClock(time.Now, log)
	if _, err := own.RegisterRuns(to, true, time.Now); err != nil {
		t.Fatal(err)
	}
	if err := own.RegisterObjects(to, empty{}, time.Now, log); err != nil {
		t.Fatal(err)
	}
	if err := showSlots(to, &engine.Engine{Config: engine.Config{MaxLoops: 3}}); err != nil {
		t.Fatal(err)
	}
	to.MustRegister(clockMetric(clock), heartbeatMetric(&timekeeper.Keeper{Clock: clock.Now}), newReplicas(), newUnarchived())
	return to
}

func readConfig(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The page has every metric with its labels, and no other one of the manager.
func TestThePageOfMetricsIsTrue(t *testing.T) {
	t.Parallel()
	found := describe(t, allMetrics(t))
	row := regexp.MustCompile("(?m)^\\| `(motorcortex_\\w+)` \\|([^|]*)\\| [^|]+ \\|$")
	page := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(readConfig(t, "docs/reference/metrics.md"), -1) {
		var labels []string
		for label := range strings.SplitSeq(m[2], ",") {
			if label = strings.Trim(strings.TrimSpace(label), "`"); label != "" {
				labels = append(labels, label)
			}
		}
		page[m[1]] = labels
		if _, ok := found[m[1]]; !ok {
			t.Errorf("the page has %s, which the manager has not", m[1])
		}
	}
	for name, of := range found {
		labels, ok := page[name]
		if !ok {
			t.Errorf("the page lacks %s", name)
		} else if !slices.Equal(labels, of.labels) {
			t.Errorf("%s has the labels %v, and on the page %v", name, of.labels, labels)
		}
		if of.help == "" {
			t.Errorf("%s has no help", name)
		}
	}
	if len(found) < 30 {
		t.Errorf("only %d metrics were found", len(found))
	}
}

// A label with as many values as there are runs would fill the memory of whatever reads the metrics.
func TestMetricsHaveLabelsOfAFewValues(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"channel", "code", "currency", "kind", "model", "namespace", "outcome", "owner", "pool", "reason", "resource", "state", "status", "succeeded", "tool", "type", "verb", "version",
	}
	for name, of := range describe(t, allMetrics(t)) {
		for _, label := range of.labels {
			if !slices.Contains(allowed, label) {
				t.Errorf("%s has the label %s: are its values bounded?", name, label)
			}
			// The values are bounded, and are of namespaces that have a pool, or energy.
			if label == "namespace" && !strings.HasPrefix(name, "motorcortex_pool_") && name != "motorcortex_energy_level" {
				t.Errorf("%s has a series for each namespace", name)
			}
		}
	}
}

func TestMetricsAreSecuredUnlessAskedOtherwise(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args   []string
		secure bool
	}{"by default": {nil, true}, "asked otherwise": {[]string{"--metrics-secure=false"}, false}} {
		var o options
		set := flag.NewFlagSet(name, flag.ContinueOnError)
		o.bind(set)
		if err := set.Parse(tt.args); err != nil {
			t.Fatal(err)
		}
		if served := metricsOptions(o, http.NotFoundHandler(), slog.New(slog.DiscardHandler)); served.Secure != tt.secure || len(served.Others) > 0 != tt.secure {
			t.Errorf("%s: secured is %t, more than metrics is %d", name, served.Secure, len(served.Others))
		}
	}
}

// The certificate of the manager cannot be verified, so any process at its address gets the token. It must be worth little.
func TestPrometheusSendsATokenForMetricsAlone(t *testing.T) {
	t.Parallel()
	monitor, reader := readConfig(t, "config/prometheus/monitor.yaml"), readConfig(t, "config/prometheus/reader.yaml")
	if strings.Contains(monitor, "bearerTokenFile") {
		t.Error("the ServiceMonitor sends the token of the Prometheus")
	}
	if !strings.Contains(monitor, "credentials: {name: motorcortex-metrics-reader, key: token}") {
		t.Error("the ServiceMonitor does not use the token of the account for metrics")
	}
	if !strings.Contains(reader, "kubernetes.io/service-account.name: motorcortex-metrics-reader") || strings.Count(reader, "kind: ClusterRoleBinding") != 1 ||
		strings.Contains(reader, "kind: RoleBinding") || !strings.Contains(reader, "kind: ClusterRole\n  name: motorcortex-metrics-reader\n") {
		t.Error("the account of the token is bound to more than the right to read metrics, or to another role")
	}
}
