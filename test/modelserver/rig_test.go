// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"motorcortex.dev/motorcortex/test/modelserver/script"
)

// epoch is what the clock says in tests.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// rig is a server with one script named "play", whose waits take no time unless
// the test replaces them before the first request.
type rig struct {
	*server
	http    *httptest.Server
	arrived func(*http.Request) // Is told of every request before it is answered.
}

func newRig(t *testing.T, text string) *rig {
	t.Helper()
	scripts, err := script.LoadFS(fstest.MapFS{"play.yaml": {Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(scripts, "")
	s.now = func() time.Time { return epoch }
	s.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	r := &rig{server: s, arrived: func(*http.Request) {}}
	handler := s.handler()
	r.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.arrived(req)
		handler.ServeHTTP(w, req)
	}))
	t.Cleanup(r.http.Close)
	return r
}

// client retries nothing, so that a test sees every answer.
func (r *rig) client(key string) openai.Client {
	return openai.NewClient(
		option.WithBaseURL(r.http.URL+"/v1"), option.WithAPIKey(key),
		option.WithHTTPClient(r.http.Client()), option.WithMaxRetries(0))
}

// got is a response as it came over the wire.
type got struct {
	status int
	header http.Header
	body   string
	err    error // From reading the body, or from having no response at all.
}

func (r *rig) send(t *testing.T, method, path, body string) got {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.http.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.http.Client().Do(req)
	if err != nil {
		return got{err: err}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return got{status: res.StatusCode, header: res.Header, body: string(text), err: err}
}

func (r *rig) complete(t *testing.T, body string) got {
	t.Helper()
	return r.send(t, http.MethodPost, "/v1/chat/completions", body)
}

const (
	hello       = `{"model": "play", "messages": [{"role": "user", "content": "hello"}]}`
	helloStream = `{"model": "play", "messages": [{"role": "user", "content": "hello"}], "stream": true}`
)

// entries returns the log as a checker outside would read it.
func (r *rig) entries(t *testing.T) []entry {
	t.Helper()
	var list []entry
	if err := json.Unmarshal([]byte(r.send(t, http.MethodGet, "/log", "").body), &list); err != nil {
		t.Fatal(err)
	}
	return list
}
