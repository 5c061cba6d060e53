// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolclient_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// release is a server of another release. It answers every request with {}, and keeps the last body.
func release(t *testing.T, hello toolapi.Hello) (*toolclient.Client, *atomic.Value) {
	t.Helper()
	_, cert := newKey(t)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAnyClientCert})
	if err != nil {
		t.Fatal(err)
	}
	hello.PodUID = podUID
	var body atomic.Value
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == toolapi.PathHello {
			_ = json.NewEncoder(w).Encode(hello)
			return
		}
		content, _ := io.ReadAll(r.Body)
		body.Store(string(content))
		_, _ = io.WriteString(w, "{}")
	})}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })
	return (&pod{t: t, cert: cert, address: ln.Addr().String()}).client(nil), &body
}

// A server gets the fields that it knows. A request with a required field that it does not know is not sent.
func TestServerOfAnotherRelease(t *testing.T) {
	t.Parallel()
	features := slices.DeleteFunc(slices.Clone(toolapi.Features()), func(f string) bool { return f == "EgressRequest.ca" || f == "Call.idempotencyKey" })
	c, body := release(t, toolapi.Hello{APIVersion: 1, Features: features})
	if _, err := c.SetEgress(testContext(t), toolapi.EgressRequest{Proxy: "127.0.0.1:1", CA: "x", TimeoutMs: 1}); !errors.Is(err, toolclient.ErrUnsupported) ||
		!strings.Contains(err.Error(), "EgressRequest.ca") || body.Load() != nil {
		t.Errorf("%v; sent %v", err, body.Load())
	}
	if _, err := c.SetEgress(testContext(t), toolapi.EgressRequest{Proxy: "127.0.0.1:1", TimeoutMs: 1}); err != nil || strings.Contains(body.Load().(string), "ca") {
		t.Errorf("%v; sent %v", err, body.Load())
	}
	call := bash("a", "true")
	call.IdempotencyKey = "k"
	if _, err := c.Call(testContext(t), call); !errors.Is(err, toolclient.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := c.Call(testContext(t), bash("a", "true")); err != nil {
		t.Error(err)
	}
	if p := c.Peer(); p == nil || p.Knows("EgressRequest.ca") || !p.Knows("EgressRequest.proxy") {
		t.Errorf("the server is said to know %+v", p)
	}
}

// A server that speaks a later version of the format is not asked for anything.
func TestServerOfALaterVersion(t *testing.T) {
	t.Parallel()
	c, body := release(t, toolapi.Hello{APIVersion: toolapi.APIVersion + 1})
	if _, err := c.Hello(testContext(t)); !errors.Is(err, toolclient.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := c.Call(testContext(t), bash("a", "true")); !errors.Is(err, toolclient.ErrUnsupported) || body.Load() != nil {
		t.Errorf("%v; sent %v", err, body.Load())
	}
}

// Refusals of unknown fields are distinguished from others.
func TestRefusalOfAnotherRelease(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		code, message string
		want          bool
	}{
		{toolapi.ErrUnknownField, "the call has what this tool server does not know", true},
		{toolapi.ErrBadRequest, "the call cannot be read: unexpected end of JSON input", false},
		{toolapi.ErrNotFound, "there is no such file", false},
	} {
		_, c := fake(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(toolapi.Error{Code: tt.code, Message: tt.message})
		})
		if _, err := c.State(testContext(t), "a"); errors.Is(err, toolclient.ErrUnsupported) != tt.want {
			t.Errorf("%s: %v", tt.code, err)
		}
	}
}
