// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// sent are spans of one run.
func sent() []*tracev1.ResourceSpans {
	return []*tracev1.ResourceSpans{{ScopeSpans: []*tracev1.ScopeSpans{{Spans: []*tracev1.Span{{Name: "step 1", TraceId: make([]byte, 16), SpanId: make([]byte, 8)}}}}}}
}

// clientOf returns a client of a collector that answers with the handler.
func clientOf(t *testing.T, env map[string]string, h http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	all := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL}
	maps.Copy(all, env)
	config, err := from(all)
	if err != nil {
		t.Fatal(err)
	}
	c := New(config)
	t.Cleanup(c.Close)
	return c
}

func TestSpansArriveAsTheProtocolHasThem(t *testing.T) {
	t.Parallel()
	for _, compression := range []string{"", "gzip"} {
		c := clientOf(t, map[string]string{"OTEL_EXPORTER_OTLP_COMPRESSION": compression, "OTEL_EXPORTER_OTLP_HEADERS": "api-key=k"}, func(w http.ResponseWriter, r *http.Request) {
			body := io.Reader(r.Body)
			if r.Header.Get("Content-Encoding") == "gzip" {
				small, err := gzip.NewReader(body)
				if err != nil {
					t.Error(err)
					return
				}
				body = small
			}
			content, err := io.ReadAll(body)
			var got collectorv1.ExportTraceServiceRequest
			if err != nil || proto.Unmarshal(content, &got) != nil || !proto.Equal(&got, &collectorv1.ExportTraceServiceRequest{ResourceSpans: sent()}) {
				t.Errorf("the collector got %v, %v", &got, err)
			}
			if r.URL.Path != "/v1/traces" || r.Header.Get("Api-Key") != "k" || r.Header.Get("Content-Type") != contentType || r.Header.Get("Content-Encoding") != compression {
				t.Errorf("the request is %s %v", r.URL, r.Header)
			}
			w.WriteHeader(http.StatusOK)
		})
		if rejected, err := c.Send(t.Context(), sent()); rejected != 0 || err != nil {
			t.Errorf("%d, %v", rejected, err)
		}
	}
}

// A collector that takes a part is not sent the same again, and one that answers nonsense has taken all.
func TestSpansThatWereTakenAreNoFailure(t *testing.T) {
	t.Parallel()
	partly, err := proto.Marshal(&collectorv1.ExportTraceServiceResponse{PartialSuccess: &collectorv1.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: "too old"}})
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]int{string(partly): 1, "<html>": 0, strings.Repeat("x", 1<<20): 0} {
		c := clientOf(t, nil, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, said) })
		if rejected, err := c.Send(t.Context(), sent()); rejected != want || err != nil {
			t.Errorf("after %.20q: %d rejected, %v", said, rejected, err)
		}
	}
}

func TestFailuresSayWhetherToTryAgain(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]Failure{
		400: {}, 413: {TooLarge: true}, 401: {Again: true}, 404: {Again: true}, 302: {Again: true}, 429: {Again: true, After: 7 * time.Second}, 503: {Again: true, After: 7 * time.Second},
	} {
		c := clientOf(t, nil, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				t.Errorf("%d: the keys of the headers are sent elsewhere", status)
				return
			}
			if want.After > 0 {
				w.Header().Set("Retry-After", "7")
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "hunter2")
		})
		_, err := c.Send(t.Context(), sent())
		var f *Failure
		if !errors.As(err, &f) || f.Again != want.Again || f.After != want.After || f.TooLarge != want.TooLarge || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%d: %+v, %v", status, f, err)
		}
	}
}

// A collector that hangs holds the sender for the timeout at most, and for no longer than its context.
func TestCollectorThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	hangs := make(chan struct{})
	c := clientOf(t, map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "50"}, func(http.ResponseWriter, *http.Request) { <-hangs })
	t.Cleanup(func() { close(hangs) }) // Before the server ends, which waits for its handlers.
	var f *Failure
	if _, err := c.Send(t.Context(), sent()); !errors.As(err, &f) || !f.Again {
		t.Errorf("after the timeout: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Send(ctx, sent()); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// What the other end sends is told nowhere: it can be the key that was sent to it.
func TestFailuresHaveNothingOfTheOtherEnd(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = conn.Write([]byte("HTTP/1.1 s3cret s3cret\r\ns3cret\r\n\r\n"))
			_ = conn.Close()
		}
	}()
	away, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = away.Close()
	for address, says := range map[string]string{listener.Addr().String(): "gives no valid answer", away.Addr().String(): "connection refused"} {
		_, err := New(&Config{URL: "http://" + address + "/?key=s3cret", Timeout: time.Minute}).Send(t.Context(), nil)
		if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}
