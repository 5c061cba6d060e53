// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// APIRequests counts the requests of this process to the API server, with the resource. The metrics of client-go have none.
type APIRequests struct {
	info      request.RequestInfoFactory
	resources *labels
	total     *prometheus.CounterVec
}

// NewAPIRequests makes the metric of the requests to the API server and registers it.
func NewAPIRequests(to prometheus.Registerer) (*APIRequests, error) {
	a := &APIRequests{
		info:      request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
		resources: newLabels(maxResources),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "api_requests_total",
			Help: "Requests of the manager to the API server, by verb, resource and code of the answer; error is for requests without an answer.",
		}, []string{"verb", "resource", "code"}),
	}
	return a, registerAll(to, a.total)
}

// Wrap returns a transport that counts.
func (a *APIRequests) Wrap(next http.RoundTripper) http.RoundTripper { return counted{a, next} }

type counted struct {
	*APIRequests
	next http.RoundTripper
}

// RoundTrip sends a request and counts it when its answer begins.
func (c counted) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := c.next.RoundTrip(req)
	code := "error"
	if err == nil {
		code = strconv.Itoa(answer.StatusCode)
	}
	verb, resource := c.of(req)
	c.total.WithLabelValues(verb, c.resources.of(resource), code).Inc()
	return answer, err
}

// WrappedRoundTripper returns the transport within, as client-go expects it of a wrapper.
func (c counted) WrappedRoundTripper() http.RoundTripper { return c.next }

func (a *APIRequests) of(req *http.Request) (verb, resource string) {
	info, err := a.info.NewRequestInfo(req)
	switch {
	case err != nil:
		return other, other
	case !info.IsResourceRequest:
		return info.Verb, "none"
	case info.Subresource != "":
		return info.Verb, info.Resource + "/" + info.Subresource
	}
	return info.Verb, info.Resource
}
