// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"maps"
	"testing"
)

const someMetrics = `# HELP motorcortex_api_requests_total Requests.
# TYPE motorcortex_api_requests_total counter
motorcortex_api_requests_total{code="201",resource="motorsteps",verb="create"} 5
motorcortex_api_requests_total{code="200",resource="motorsteps/status",verb="patch"} 5
motorcortex_api_requests_total{code="200",resource="motorruns/status",verb="patch"} 6
motorcortex_api_requests_total{code="409",resource="motorruns/status",verb="patch"} 1
motorcortex_api_requests_total{code="200",resource="pods",verb="get"} 2
motorcortex_api_requests_total{code="200",resource="secrets",verb="list"} 1
motorcortex_api_requests_total{code="200",resource="pods",verb="watch"} 3
motorcortex_api_requests_total{code="200",resource="leases",verb="update"} 40
motorcortex_api_requests_total{code="201",resource="tokenreviews",verb="create"} 1
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes 5.24288e+07
`

func TestWatchesAndLeasesAreNotCounted(t *testing.T) {
	t.Parallel()
	got, resident, err := parseMetrics(someMetrics)
	if err != nil {
		t.Fatal(err)
	}
	want := Counts{"create motorsteps": 5, "patch motorsteps/status": 5, "patch motorruns/status": 7, "get pods": 2, "list secrets": 1}
	if !maps.Equal(got, want) || resident != 50<<20 {
		t.Errorf("%s; %g bytes", got, resident)
	}
	if got.Writes() != 7 || got.Reads() != 3 || got.All() != 20 {
		t.Errorf("%d writes beyond steps, %d reads, %d in all", got.Writes(), got.Reads(), got.All())
	}
}

func TestMetricsOfAnotherProgramAreAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "other_total 1\n", "process_resident_memory_bytes 1\n", "{"} {
		if counts, _, err := parseMetrics(text); err == nil {
			t.Errorf("%q: %s", text, counts)
		}
	}
}

func TestRequestsSinceAnEarlierCount(t *testing.T) {
	t.Parallel()
	before := Counts{"get pods": 2, "list secrets": 1}
	got := Counts{"get pods": 5, "list secrets": 1, "create pods": 1}.Since(before)
	if got.String() != "1 create pods, 3 get pods" {
		t.Error(got)
	}
	if none := before.Since(before).String(); none != "none" {
		t.Error(none)
	}
}
