// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolclient_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// fake is a server under the control of the sandbox. It lists the features of this build.
func fake(t *testing.T, handler http.HandlerFunc) (*pod, *toolclient.Client) {
	t.Helper()
	return fakeOf(t, toolapi.Features(), handler)
}

// fakeOf is fake for a server that lists these features.
func fakeOf(t *testing.T, features []string, handler http.HandlerFunc) (*pod, *toolclient.Client) {
	t.Helper()
	names, err := json.Marshal(features)
	if err != nil {
		t.Fatal(err)
	}
	_, cert := newKey(t)
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequireAnyClientCert})
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == toolapi.PathHello {
			fmt.Fprintf(w, `{"podUID":%q,"fieldOfALaterVersion":1,"features":%s}`, podUID, names)
			return
		}
		handler(w, r)
	})}
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })
	p := &pod{t: t, cert: cert, address: ln.Addr().String()}
	return p, p.client(nil)
}

func TestHostileAnswers(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"endless":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, endless{}) },
		"no JSON":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") },
		"wrong type": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"phase":1,"ok":"yes"}`) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.org/", http.StatusFound)
		},
		"error without a code": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			_, c := fake(t, handler)
			ctx := testContext(t)
			if _, err := c.Call(ctx, bash("a", "true")); !errors.Is(err, toolclient.ErrBadAnswer) {
				t.Errorf("call: %v", err)
			}
			if _, err := c.State(ctx, "a"); !errors.Is(err, toolclient.ErrBadAnswer) {
				t.Errorf("state: %v", err)
			}
		})
	}
	for name, state := range map[string]string{
		"finished without a result": `{"id":"a","phase":"Finished"}`,
		"running with a result":     `{"id":"a","phase":"Running","result":{"ok":true}}`,
		"unheard of":                `{"id":"a","phase":"Paused"}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, c := fake(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, state) })
			if _, err := c.State(testContext(t), "a"); !errors.Is(err, toolclient.ErrBadAnswer) {
				t.Error(err)
			}
		})
	}
	t.Run("error with a screen full of text", func(t *testing.T) {
		_, c := fake(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_ = json.NewEncoder(w).Encode(toolapi.Error{Code: toolapi.ErrInternal, Message: strings.Repeat("\x1b[2J\n", 10000)})
		})
		_, err := c.State(testContext(t), "a")
		var remote *toolclient.RemoteError
		if !errors.As(err, &remote) || remote.Code != toolapi.ErrInternal || len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%.1000q", err)
		}
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// The client does not wait for ever for a server that accepts the call and then falls silent, with the connection left open.
func TestSilentServer(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	_, c := fake(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	began := time.Now()
	_, err := c.Call(testContext(t), bash("a", "true"))
	if took := time.Since(began); !errors.Is(err, toolclient.ErrUnreachable) || took > 40*time.Second {
		t.Errorf("%v after %s", err, took)
	}
}

// A hostile server's report of egress or a file is bounded like everything else.
func TestHostileWayOutAndFile(t *testing.T) {
	_, c := fake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == toolapi.PathEgress {
			_ = json.NewEncoder(w).Encode(toolapi.EgressResponse{Detail: strings.Repeat("\x1b[2J\n", 10000)})
			return
		}
		_ = json.NewEncoder(w).Encode(toolapi.FileContent{Path: "x", Content: make([]byte, toolapi.MaxReadBytes+1), Size: 1})
	})
	got, err := c.SetEgress(testContext(t), toolapi.EgressRequest{Proxy: "127.0.0.1:1", Token: "x", TimeoutMs: 1})
	if err != nil || got.Detail == "" || len(got.Detail) > 600 || strings.ContainsAny(got.Detail, "\x1b\n") {
		t.Errorf("%.1000q %v", got.Detail, err)
	}
	if content, err := c.GetFile(testContext(t), "x"); !errors.Is(err, toolclient.ErrBadAnswer) {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}

// A hostile server's artifacts are bounded, and never read for longer than requested.
func TestHostileArtifacts(t *testing.T) {
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	for name, handler := range map[string]http.HandlerFunc{
		"too many": answer(toolapi.Artifacts{Files: make([]toolapi.ArtifactFile, toolapi.MaxArtifacts+1)}),
		"endless":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, endless{}) },
	} {
		_, c := fake(t, handler)
		if list, err := c.Artifacts(testContext(t)); !errors.Is(err, toolclient.ErrBadAnswer) {
			t.Errorf("%s: %d files, %v", name, len(list.Files), err)
		}
	}
	full := make([]byte, toolapi.MaxChunkBytes)
	for name, tt := range map[string]struct {
		chunk toolapi.Chunk
		want  error
		read  int64
	}{
		"longer than a part may be":   {toolapi.Chunk{Content: make([]byte, toolapi.MaxChunkBytes+1)}, toolclient.ErrBadAnswer, 0},
		"without an end":              {toolapi.Chunk{Content: full}, toolclient.ErrTooLong, 2 * toolapi.MaxChunkBytes},
		"larger than it may be":       {toolapi.Chunk{Content: []byte("x"), Size: 1 << 40}, toolclient.ErrTooLong, 0},
		"smaller than it says it is":  {toolapi.Chunk{Content: []byte("x"), Size: 1000}, nil, 1},
		"of a size that no file has":  {toolapi.Chunk{Content: []byte("x"), Size: -7}, nil, 1},
		"nothing, but of a good size": {toolapi.Chunk{Size: 1000}, nil, 0},
	} {
		_, c := fake(t, answer(tt.chunk))
		n, err := c.ReadArtifact(testContext(t), "a", io.Discard, 2*toolapi.MaxChunkBytes+1)
		if !errors.Is(err, tt.want) || n != tt.read {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
}

// Targets without a result, or with another target's result, must not count as blocked.
func TestHostileProbe(t *testing.T) {
	req := toolapi.ProbeRequest{TimeoutMs: 1, Targets: []toolapi.ProbeTarget{
		{Name: "API server", Network: "tcp", Address: "127.0.0.1:1"}, {Name: "kubelet", Network: "tcp", Address: "127.0.0.1:2"},
	}}
	blocked := func(names ...string) (results []toolapi.ProbeResult) {
		for _, name := range names {
			results = append(results, toolapi.ProbeResult{Name: name})
		}
		return results
	}
	for name, tt := range map[string]struct {
		results []toolapi.ProbeResult
		want    error
	}{
		"none":          {nil, toolclient.ErrBadAnswer},
		"empty":         {[]toolapi.ProbeResult{}, toolclient.ErrBadAnswer},
		"too few":       {blocked("API server"), toolclient.ErrBadAnswer},
		"too many":      {blocked("API server", "kubelet", "kubelet"), toolclient.ErrBadAnswer},
		"another one":   {blocked("API server", "\x1b[2Jnothing"), toolclient.ErrBadAnswer},
		"another order": {blocked("kubelet", "API server"), toolclient.ErrBadAnswer},
		"as asked":      {blocked("API server", "kubelet"), nil},
	} {
		_, c := fake(t, func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(toolapi.ProbeResponse{Results: tt.results})
		})
		got, err := c.Probe(testContext(t), req)
		if !errors.Is(err, tt.want) || (err == nil) != (len(got.Results) == len(req.Targets)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
