// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"context"
	"errors"
	"testing"
)

func TestOnlyWritesForClaimsAreCounted(t *testing.T) {
	t.Parallel()
	got, err := countWrites([]byte(`# TYPE apiserver_request_total counter
apiserver_request_total{verb="POST",resource="sandboxclaims",subresource="",code="201"} 2
apiserver_request_total{verb="PATCH",resource="sandboxes",subresource="status",code="200"} 3
apiserver_request_total{verb="GET",resource="sandboxes",subresource="",code="200"} 100
apiserver_request_total{verb="POST",resource="pods",subresource="",code="201"} 5
apiserver_request_total{verb="POST",resource="pods",subresource="binding",code="201"} 100
apiserver_request_total{verb="PATCH",resource="pods",subresource="status",code="200"} 100
apiserver_request_total{verb="PUT",resource="leases",subresource="",code="200"} 100
apiserver_request_total{verb="POST",resource="events",subresource="",code="201"} 100
`))
	if err != nil || got != 10 {
		t.Errorf("%g, %v; want 10", got, err)
	}
}

func TestMetricsWithoutRequestsAreAnError(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"nothing": "", "no metrics": "<html>"} {
		if _, err := countWrites([]byte(content)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	b := bench()
	b.Metrics = func(context.Context) ([]byte, error) { return nil, errRefused }
	if _, err := b.writes(t.Context()); !errors.Is(err, errRefused) {
		t.Errorf("the error is %v", err)
	}
}

var errRefused = errors.New("refused")
