// SPDX-License-Identifier: Apache-2.0

package websearch

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/secret"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		says   string
	}{
		"it wants a query":      {400, ""},
		"it answers":            {200, ""},
		"it may not use JSON":   {403, "search.formats"},
		"there is no search":    {404, "spec.search.url"},
		"it fails":              {502, "status 502"},
		"it wants another key":  {401, "API key"},
		"too many ask it":       {429, "429"},
		"it redirects too much": {308, "redirects too often"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.URL.String()
				if tt.status == http.StatusPermanentRedirect {
					w.Header().Set("Location", r.URL.String())
				}
				w.WriteHeader(tt.status)
			}))
			defer s.Close()
			err := Provider{Type: SearXNG, URL: s.URL}.Probe(t.Context())
			if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want %q", err, tt.says)
			}
			if asked != "/search?format=json&q=" {
				t.Errorf("it was asked %q", asked)
			}
		})
	}
}

func TestProbeAsksNothingOfBrave(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	defer s.Close()
	if err := (Provider{Type: Brave, URL: s.URL, APIKey: secret.New("key")}).Probe(t.Context()); err != nil {
		t.Error(err)
	}
	if err := (Provider{Type: Brave, URL: s.URL, APIKey: secret.New("a key")}).Probe(t.Context()); err == nil || !strings.Contains(err.Error(), "white space") {
		t.Errorf("a key that cannot be sent: %v", err)
	}
}

func TestProbeUnreachable(t *testing.T) {
	t.Parallel()
	err := Provider{Type: SearXNG, URL: "http://127.0.0.1:1"}.Probe(t.Context())
	if e, ok := errors.AsType[*Error](err); !ok || !e.NoAnswer {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Provider{Type: SearXNG, URL: "http://127.0.0.1:1"}).Probe(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a probe whose context ended says %v", err)
	}
}
