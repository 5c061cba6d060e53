// SPDX-License-Identifier: Apache-2.0

package page_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/page"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

// rig is a page of a cluster in memory.
type rig struct {
	t *testing.T
	*fakecluster.Cluster
	page *page.Page
}

func newRig(t *testing.T, c *fakecluster.Cluster) *rig {
	t.Helper()
	p := page.New(func(*http.Request) (page.Person, error) {
		return page.Person{Key: "dana", Client: c, Namespace: "ns"}, nil
	}, page.Own())
	t.Cleanup(p.Close)
	return &rig{t, c, p}
}

// asks sends a request, and decodes the answer into what answer points to, unless that is nil.
func (r *rig) asks(method, path, body string, answer any) (status int, raw string) {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.page.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	if answer != nil {
		if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil {
			r.t.Fatalf("%s %s: %v: %s", method, path, err, w.Body)
		}
	}
	return w.Code, w.Body.String()
}

// want sends a request, and fails the test unless the answer has this status and all of these texts.
func (r *rig) want(status int, method, path, body string, says ...string) {
	r.t.Helper()
	got, raw := r.asks(method, path, body, nil)
	if got != status {
		r.t.Errorf("%s %s: %d, want %d: %s", method, path, got, status, raw)
	}
	for _, part := range says {
		if !strings.Contains(raw, part) {
			r.t.Errorf("%s %s does not say %q, but %s", method, path, part, raw)
		}
	}
}

func TestRequestsThatAreNone(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakecluster.New(t, fakecluster.Run("ns", "run", v1alpha1.PendingInput{ID: "q", Kind: v1alpha1.InputQuestion})))
	const answer = "/api/runs/ns/run/asks/q"
	for name, tt := range map[string]struct {
		method, path, body string
		want               int
	}{
		"another method":      {http.MethodGet, answer, "", http.StatusNotFound},
		"a method that takes": {http.MethodDelete, "/api/runs/ns/run", "", http.StatusMethodNotAllowed},
		"a file that is sent": {http.MethodPost, "/page.js", "{}", http.StatusMethodNotAllowed},
		"no such path":        {http.MethodGet, "/api/secrets", "", http.StatusNotFound},
		"no such run":         {http.MethodGet, "/api/runs/ns/other", "", http.StatusNotFound},
		"no JSON":             {http.MethodPost, answer, "answer=yes", http.StatusBadRequest},
		"two values":          {http.MethodPost, answer, "{}{}", http.StatusBadRequest},
		"an unknown field":    {http.MethodPost, answer, `{"respondedBy":"eve"}`, http.StatusBadRequest},
		"too long":            {http.MethodPost, answer, `{"answer":"` + strings.Repeat("x", 600<<10) + `"}`, http.StatusRequestEntityTooLarge},
	} {
		if got, raw := r.asks(tt.method, tt.path, tt.body, nil); got != tt.want {
			t.Errorf("%s: %d, want %d: %s", name, got, tt.want, raw)
		}
	}
	if sent := r.Sent(); len(sent) > 0 {
		t.Errorf("sent are %+v", sent)
	}
}

// A request without a person reaches no cluster.
func TestARequestOfNoPersonIsRefused(t *testing.T) {
	t.Parallel()
	p := page.New(func(*http.Request) (page.Person, error) { return page.Person{}, errors.New("no\u202e such person") }, page.Own())
	t.Cleanup(p.Close)
	for _, path := range []string{"/api/me", "/api/inbox", "/api/events"} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if body, _ := io.ReadAll(w.Body); w.Code != http.StatusBadGateway || !strings.Contains(string(body), `no\\u202e such person`) {
			t.Errorf("%s: %d, %s", path, w.Code, body)
		}
	}
}

func TestAPersonIsToldWhoTheyAre(t *testing.T) {
	t.Parallel()
	r := newRig(t, fakecluster.New(t))
	r.want(http.StatusOK, http.MethodGet, "/api/me", "", fakecluster.User, `"namespace":"ns"`)
	r.want(http.StatusOK, http.MethodGet, "/api/namespaces", "", `"items":[]`)
	r.Deny("list namespaces")
	r.want(http.StatusForbidden, http.MethodGet, "/api/namespaces", "", "You may not do this")
}
