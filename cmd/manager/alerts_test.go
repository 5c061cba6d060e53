// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"
)

const (
	rulesFile     = "config/prometheus/rules.yaml"
	dashboardFile = "config/grafana/motorcortex.json"
	alertsGuide   = "docs/guides/alerts.md"
)

// prometheusRule is the part of a PrometheusRule that is looked at.
type prometheusRule struct {
	Spec struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
}

func rules(t *testing.T) prometheusRule {
	t.Helper()
	var r prometheusRule
	if err := yaml.Unmarshal([]byte(readConfig(t, rulesFile)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// A person who is woken by an alert needs to know what it means and what to do.
func TestEachAlertHasItsSection(t *testing.T) {
	t.Parallel()
	guide := readConfig(t, alertsGuide)
	sections := regexp.MustCompile(`(?m)^### (\w+)$`).FindAllStringSubmatch(guide, -1)
	described := map[string]bool{}
	for _, m := range sections {
		described[m[1]] = true
		_, body, _ := strings.Cut(guide, "\n### "+m[1]+"\n")
		body, _, _ = strings.Cut(body, "\n##")
		for _, part := range []string{"**Meaning:** ", "**Look:** ", "**Do:** "} {
			if !strings.Contains(body, part) {
				t.Errorf("%s: the section %s has no %s", alertsGuide, m[1], part)
			}
		}
	}
	seen := map[string]bool{}
	for _, g := range rules(t).Spec.Groups {
		for _, r := range g.Rules {
			if seen[r.Alert] {
				t.Errorf("there are two alerts %s", r.Alert)
			}
			seen[r.Alert] = true
			if !described[r.Alert] {
				t.Errorf("%s has no section %s", alertsGuide, r.Alert)
			}
			if url := r.Annotations["runbook_url"]; !strings.HasSuffix(url, "/"+alertsGuide+"#"+strings.ToLower(r.Alert)) {
				t.Errorf("%s leads to %s", r.Alert, url)
			}
			if s := r.Labels["severity"]; s != "critical" && s != "warning" && s != "info" {
				t.Errorf("%s has the severity %q", r.Alert, s)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s does not say what is wrong", r.Alert)
			}
		}
	}
	for name := range described {
		if !seen[name] {
			t.Errorf("%s has a section %s, and there is no such alert", alertsGuide, name)
		}
	}
}

// Metrics of the cluster are reported by each replica: a sum of them would count each run twice.
func TestMetricsOfTheClusterAreNotAddedUp(t *testing.T) {
	t.Parallel()
	_, cluster, _ := strings.Cut(readConfig(t, "docs/reference/metrics.md"), "\n## Of the cluster\n")
	cluster, _, _ = strings.Cut(cluster, "\n## ")
	names := regexp.MustCompile("(?m)^\\| `(motorcortex_\\w+)`").FindAllStringSubmatch(cluster, -1)
	if len(names) < 10 {
		t.Fatalf("only %d metrics of the cluster were found", len(names))
	}
	for _, file := range []string{rulesFile, dashboardFile} {
		content := readConfig(t, file)
		for _, m := range names {
			added := regexp.MustCompile(`\b(?:sum|avg)\b(?: by \([^)]*\))? ?\(` + m[1] + `\b`)
			if found := added.FindString(content); found != "" {
				t.Errorf("%s has %s", file, found)
			}
		}
	}
}

func TestTheDashboardIsWhole(t *testing.T) {
	t.Parallel()
	var d struct {
		UID    string
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(readConfig(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		if p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %d (%s) shows nothing", p.ID, p.Title)
		}
		for _, target := range p.Targets {
			if target.Expr == "" {
				t.Errorf("the panel %s has no expression", p.Title)
			}
		}
	}
	if d.UID == "" || len(d.Panels) < 20 {
		t.Errorf("the dashboard %q has %d panels", d.UID, len(d.Panels))
	}
}

// A metric that is renamed must not leave an alert that never fires, or a panel that is empty.
func TestAlertsAndPanelsAskForMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, c := range []prometheus.Collector{allMetrics(t), metrics.Registry.(prometheus.Collector)} {
		for name := range describe(t, c) {
			for _, suffix := range []string{"", "_bucket", "_count", "_sum"} {
				known[name+suffix] = true
			}
		}
	}
	for _, name := range egressMetrics(t) {
		known[name] = true
	}
	name := regexp.MustCompile(`\b(?:motorcortex|leader_election|process|go|rest_client|controller_runtime|workqueue)_\w+`)
	for _, file := range []string{rulesFile, dashboardFile} {
		asked := name.FindAllString(readConfig(t, file), -1)
		if len(asked) < 20 {
			t.Errorf("%s asks for %d metrics only", file, len(asked))
		}
		for _, n := range asked {
			if !known[n] {
				t.Errorf("%s asks for %s, which there is not", file, n)
			}
		}
	}
}

// egressMetrics are the names of the egress proxy's metrics, as its code has them.
func egressMetrics(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, m := range regexp.MustCompile(`Name: prefix \+ "(\w+)"`).FindAllStringSubmatch(readConfig(t, "internal/egress/metrics.go"), -1) {
		names = append(names, "motorcortex_egress_"+m[1])
	}
	if len(names) == 0 {
		t.Fatal("the egress proxy has no metrics")
	}
	return names
}

// promtool runs Prometheus's own tool in a folder with the rules, and with the expressions of the dashboard as rules.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is missing: install the Debian package prometheus")
	}
	dir := t.TempDir()
	var rule struct{ Spec map[string]any }
	if err := yaml.Unmarshal([]byte(readConfig(t, rulesFile)), &rule); err != nil {
		t.Fatal(err)
	}
	spec, err := yaml.Marshal(rule.Spec)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(filepath.Join("testdata", "alerts_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"rules.yaml": spec, "alerts_test.yaml": tests, "panels.yaml": panelsAsRules(t)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(tool, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// panelsAsRules returns the expressions of the dashboard as a file of rules, with values in place of its variables.
func panelsAsRules(t *testing.T) []byte {
	t.Helper()
	var d struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal([]byte(readConfig(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$price_input", "3", "$price_output", "15")
	var rules []map[string]string
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			rules = append(rules, map[string]string{"record": "panel:expr", "expr": variables.Replace(target.Expr)})
		}
	}
	file, err := yaml.Marshal(map[string]any{"groups": []map[string]any{{"name": "panels", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPromtoolReadsTheRules(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "rules.yaml")
}

func TestPromtoolReadsThePanels(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "--lint=none", "panels.yaml")
}

func TestAlertsFireWhenTheyMust(t *testing.T) {
	t.Parallel()
	promtool(t, "test", "rules", "alerts_test.yaml")
}
