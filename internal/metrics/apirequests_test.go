// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"errors"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// answering is an API server that answers with a status, 0 for no answer.
type answering int

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	if a == 0 {
		return nil, errors.New("no route")
	}
	return &http.Response{StatusCode: int(a), Body: http.NoBody}, nil
}

func TestRequestsAreCountedByVerbAndResource(t *testing.T) {
	t.Parallel()
	to := prometheus.NewRegistry()
	a, err := NewAPIRequests(to)
	must(t, err)
	const api = "https://10.0.0.1"
	for _, r := range []struct {
		method, path string
		answer       answering
	}{
		{http.MethodGet, "/api/v1/namespaces/ns/pods/run-1-sandbox", 200},
		{http.MethodGet, "/api/v1/namespaces/ns/pods/run-2-sandbox", 200},
		{http.MethodGet, "/apis/motorcortex.dev/v1alpha1/motorruns?limit=500", 200},
		{http.MethodGet, "/apis/motorcortex.dev/v1alpha1/motorruns?watch=true", 200},
		{http.MethodPatch, "/apis/motorcortex.dev/v1alpha1/namespaces/ns/motorruns/run-1/status", 409},
		{http.MethodPost, "/apis/motorcortex.dev/v1alpha1/namespaces/ns/motorsteps", 0},
		{http.MethodGet, "/version", 200},
	} {
		req, err := http.NewRequest(r.method, api+r.path, http.NoBody)
		must(t, err)
		answer, err := a.Wrap(r.answer).RoundTrip(req)
		if (err != nil) != (r.answer == 0) {
			t.Errorf("%s: %v", r.path, err)
		}
		if err == nil {
			must(t, answer.Body.Close())
		}
	}
	has(t, to, `
		motorcortex_api_requests_total{code="200",resource="motorruns",verb="list"} 1
		motorcortex_api_requests_total{code="200",resource="motorruns",verb="watch"} 1
		motorcortex_api_requests_total{code="200",resource="none",verb="get"} 1
		motorcortex_api_requests_total{code="200",resource="pods",verb="get"} 2
		motorcortex_api_requests_total{code="409",resource="motorruns/status",verb="patch"} 1
		motorcortex_api_requests_total{code="error",resource="motorsteps",verb="create"} 1
	`, "motorcortex_api_requests_total")
}
