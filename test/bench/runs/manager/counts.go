// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics of a manager that are read.
const (
	requestsMetric = "motorcortex_api_requests_total"
	residentMetric = "process_resident_memory_bytes"
)

// Counts are numbers of requests to the API server, by verb and resource, as in "patch motorruns/status".
type Counts map[string]int

// parseMetrics returns the requests that a manager has made, and the bytes of memory that its process has. Watches do not count, nor
// Leases, of which there are as many without runs, nor the reviews of the token with which the metrics are read.
func parseMetrics(text string) (Counts, float64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return nil, 0, fmt.Errorf("read the metrics: %w", err)
	}
	requests, resident := families[requestsMetric], families[residentMetric]
	if requests == nil || resident == nil || len(resident.GetMetric()) != 1 {
		return nil, 0, fmt.Errorf("the metrics lack %s or %s", requestsMetric, residentMetric)
	}
	counts := Counts{}
	for _, m := range requests.GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		verb, resource := labels["verb"], labels["resource"]
		if verb == "watch" || resource == "leases" || resource == "tokenreviews" || resource == "none" {
			continue
		}
		counts[verb+" "+resource] += int(m.GetCounter().GetValue())
	}
	return counts, resident.GetMetric()[0].GetGauge().GetValue(), nil
}

// Since returns the requests that were made after an earlier count.
func (c Counts) Since(before Counts) Counts {
	after := Counts{}
	for name, n := range c {
		if n > before[name] {
			after[name] = n - before[name]
		}
	}
	return after
}

// add puts another process's requests to these.
func (c Counts) add(other Counts) {
	for name, n := range other {
		c[name] += n
	}
}

// Reads returns how many of the requests read.
func (c Counts) Reads() (sum int) {
	for name, n := range c {
		if isRead(name) {
			sum += n
		}
	}
	return sum
}

// Writes returns how many of the requests write, but for those of the steps of a run.
func (c Counts) Writes() (sum int) {
	for name, n := range c {
		if !isRead(name) && !strings.HasPrefix(resourceOf(name), "motorsteps") {
			sum += n
		}
	}
	return sum
}

// All returns how many requests there are.
func (c Counts) All() (sum int) {
	for _, n := range c {
		sum += n
	}
	return sum
}

func isRead(name string) bool {
	return strings.HasPrefix(name, "get ") || strings.HasPrefix(name, "list ")
}

func resourceOf(name string) string {
	_, resource, _ := strings.Cut(name, " ")
	return resource
}

// String lists the requests by name, "none" without any.
func (c Counts) String() string {
	if len(c) == 0 {
		return "none"
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		list = append(list, fmt.Sprintf("%d %s", c[name], name))
	}
	return strings.Join(list, ", ")
}
