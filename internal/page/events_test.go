// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/page/live"
	"motorcortex.dev/motorcortex/test/fakecluster"
)

// streams is a page with its server, and a function that reads a stream until a line has a text.
func streams(t *testing.T, beat time.Duration) (p *Page, server *httptest.Server, open func() (await func(string), done <-chan struct{})) {
	t.Helper()
	c := fakecluster.New(t)
	p = New(func(*http.Request) (Person, error) { return Person{Key: "dana", Client: c, Namespace: "ns"}, nil }, Own())
	p.beat = beat
	server = httptest.NewUnstartedServer(p)
	// A stream outlives what other requests may take.
	server.Config.ReadTimeout, server.Config.WriteTimeout = 200*time.Millisecond, 200*time.Millisecond
	server.Start()
	t.Cleanup(func() {
		p.Close()
		server.Close()
	})
	return p, server, func() (func(string), <-chan struct{}) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		t.Cleanup(cancel)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/events?namespace=ns", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		if answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%s, %s", answer.Status, answer.Header.Get("Content-Type"))
		}
		lines := bufio.NewScanner(answer.Body)
		done := make(chan struct{})
		return func(want string) {
			t.Helper()
			for lines.Scan() {
				if want != "" && strings.Contains(lines.Text(), want) {
					return
				}
			}
			close(done)
			if want != "" {
				t.Fatalf("the stream ended before %q: %v", want, lines.Err())
			}
		}, done
	}
}

func TestAStreamOutlivesTheTimeOfARequest(t *testing.T) {
	t.Parallel()
	_, _, open := streams(t, 50*time.Millisecond)
	await, _ := open()
	await(`"kind":"` + live.KindAll + `"`)
	for began := time.Now(); time.Since(began) < time.Second; {
		await(": quiet")
	}
}

func TestAClosedPageEndsItsStreams(t *testing.T) {
	t.Parallel()
	p, _, open := streams(t, time.Minute)
	await, done := open()
	await(`"kind":"` + live.KindAll + `"`)
	p.Close()
	await("")
	<-done
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	_, server, open := streams(t, time.Minute)
	for range 32 {
		open()
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/events?namespace=ns", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
		t.Errorf("%s", answer.Status)
	}
}
