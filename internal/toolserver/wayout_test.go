// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestWayOutIsChecked(t *testing.T) {
	s := newSandbox(t)
	if got := s.setEgress(toolapi.EgressRequest{Proxy: testProxy(t, 5), Token: testToken, TimeoutMs: 20_000}); got != (toolapi.EgressResponse{Ready: true}) {
		t.Errorf("open after a while: %+v", got)
	}
	for name, test := range map[string]struct{ proxy, detail string }{
		"refused": {testProxy(t, 1<<30), "407: no grant for [token] yet"},
		"deaf":    {deaf(t), ""},
		"closed":  {"127.0.0.1:1", "connection refused"},
		"no IPv6": {"[fd00:dead::1]:3128", ""},
	} {
		began := time.Now()
		got := s.setEgress(toolapi.EgressRequest{Proxy: test.proxy, Token: testToken, TimeoutMs: 700})
		if got.Ready || got.Detail == "" || !strings.Contains(got.Detail, test.detail) || strings.Contains(got.Detail, testToken) {
			t.Errorf("%s: %+v", name, got)
		}
		if took := time.Since(began); took < 700*time.Millisecond || took > 30*time.Second {
			t.Errorf("%s: after %s", name, took)
		}
		if !s.hasEgress() || !strings.Contains(s.variables()["https_proxy"], test.proxy) {
			t.Errorf("%s: it is not set", name)
		}
	}
}

func TestStopDuringTheCheckOfAWay(t *testing.T) {
	s := newSandbox(t)
	ended := make(chan error, 1)
	c := s.client(1)
	ctx, cancel := context.WithCancel(testContext(t))
	go func() {
		_, err := c.SetEgress(ctx, toolapi.EgressRequest{Proxy: "127.0.0.1:1", Token: testToken, TimeoutMs: 60_000})
		ended <- err
	}()
	await(t, "the check of the way", s.server.egress.IsSet)
	began := time.Now()
	s.stop()
	if took := time.Since(began); took > 30*time.Second { // The check may take 60 s.
		t.Errorf("the server took %s to stop", took)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the client is told %v, and not to go on trying", err)
	}
}

// The programs of the image go through the proxy, with the token, by nothing but their variables.
func TestProgramsUseTheProxy(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI == toolapi.EgressCheckPath {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		user, token, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
		mu.Lock()
		seen = append(seen, fmt.Sprintf("%s %s %s %v", r.Method, r.RequestURI, user, token == testToken))
		mu.Unlock()
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(srv.Close)
	s := newSandbox(t)
	s.setEgress(toolapi.EgressRequest{Proxy: strings.TrimPrefix(srv.URL, "http://"), Token: testToken, TimeoutMs: 10_000})
	for command, want := range map[string]string{
		"curl -sS https://example.org/x":                                                "CONNECT example.org:443 motor true",
		"curl -sSf http://example.org:8080/x":                                           "GET http://example.org:8080/x motor true",
		"git ls-remote https://example.org/x":                                           "CONNECT example.org:443 motor true",
		"curl -sS https://other.example.org:8443/":                                      "CONNECT other.example.org:8443 motor true",
		"python3 -c 'import urllib.request as u; u.urlopen(\"https://example.org/x\")'": "CONNECT example.org:443 motor true",
	} {
		name, _, _ := strings.Cut(command, " ")
		if _, err := exec.LookPath(name); err != nil {
			t.Logf("not tried: %v", err)
			continue
		}
		mu.Lock()
		seen = nil
		mu.Unlock()
		if r := s.bash(command); r.OK || !strings.Contains(r.Output, "403") {
			t.Errorf("%s: %+v", command, r)
		}
		mu.Lock()
		if !slices.Equal(seen, []string{want}) {
			t.Errorf("%s: the proxy saw %q", command, seen)
		}
		mu.Unlock()
	}
}
