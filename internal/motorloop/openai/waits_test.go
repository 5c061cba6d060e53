// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/openai/breaker"
	"motorcortex.dev/motorcortex/internal/secret"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The clock in this test is synctest's, so the waits take no time.
func TestWaits(t *testing.T) {
	cases := map[string]struct {
		header http.Header
		least  time.Duration
	}{
		"seconds":            {http.Header{"Retry-After": {"7"}}, 7 * time.Second},
		"milliseconds":       {http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"7"}}, 1500 * time.Millisecond},
		"date":               {http.Header{"Retry-After": {"Sat, 01 Jan 2000 00:00:20 GMT"}}, 20 * time.Second},
		"a day is bounded":   {http.Header{"Retry-After": {"86400"}}, 5 * time.Minute},
		"huge":               {http.Header{"Retry-After": {"1e300"}}, 5 * time.Minute},
		"nonsense is ours":   {http.Header{"Retry-After": {"soon"}}, time.Second},
		"negative is ours":   {http.Header{"Retry-After": {"-5"}}, time.Second},
		"no header is ours":  {http.Header{}, time.Second},
		"not a number":       {http.Header{"Retry-After": {"NaN"}}, time.Second},
		"a date in the past": {http.Header{"Retry-After": {"Fri, 31 Dec 1999 00:00:00 GMT"}}, time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, 529} {
				// Clients that got the same answer at the same time must not return at the same time.
				if took := waitedAfter(t, status, tc.header); took < tc.least || took > tc.least*3/2 {
					t.Errorf("waited %s after a %d, want %s to %s", took, status, tc.least, tc.least*3/2)
				}
			}
		})
	}
}

// waitedAfter returns how long the client waits between a first answer with the status and header, and its second try: by itself, or, if that is too
// long for it, as it reports to its caller.
func waitedAfter(t *testing.T, status int, header http.Header) (took time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c, err := New(Endpoint{BaseURL: "http://model.test/v1", Model: "m"}, Options{HTTPClient: &http.Client{
			Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				n++
				if n == 1 {
					return response(status, header, ""), nil
				}
				return response(200, http.Header{}, okBody), nil
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = ask(t.Context(), c)
		if o, ok := errors.AsType[*chat.Outage](err); ok {
			took = o.RetryAfter
			if waited := time.Since(start); waited != 0 || n != 1 {
				t.Errorf("waited %s, asked %d times", waited, n)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		took = time.Since(start)
	})
	return took
}

func TestCancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Endpoint{BaseURL: "http://model.test", Model: "m"}, Options{HTTPClient: &http.Client{
			Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				return response(503, http.Header{"Retry-After": {"5"}}, ""), nil
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := ask(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("went on waiting for %s", took-time.Second)
		}
	})
}

func response(status int, h http.Header, body string) *http.Response {
	h = h.Clone()
	h.Set("Content-Type", "application/json")
	return &http.Response{
		StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
}

// An endpoint that hangs for hours is detected within minutes each time, and within idleTimeoutSeconds again once it answered.
func TestHangingEndpointIsFoundOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := true
		c, err := New(Endpoint{BaseURL: "http://model.test", Model: "m"}, Options{HTTPClient: &http.Client{
			Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if hangs {
					<-r.Context().Done()
					return nil, r.Context().Err()
				}
				res := response(200, http.Header{}, events(deltaText, deltaMore, deltaEnd, deltaCost, "[DONE]"))
				res.Header.Set("Content-Type", "text/event-stream")
				return res, nil
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		hang := func() time.Duration {
			start := time.Now()
			_, err := ask(t.Context(), c)
			failureOf(t, err, away)
			<-time.After(2 * maxFirstByte) // The next try is let through.
			return time.Since(start) - 2*maxFirstByte
		}
		for range 10 {
			if took := hang(); took > maxFirstByte+10*time.Second {
				t.Errorf("found out after %s", took)
			}
		}
		if took := hang(); took > 100*time.Second {
			t.Errorf("seems to be away, and was found out again after %s", took)
		}
		hangs = false
		if _, err := ask(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		hangs = true
		if took := hang(); took > 100*time.Second {
			t.Errorf("answered before, and was found out after %s", took)
		}
	})
}

// The requests of one tenant are sent whatever an endpoint answers to another tenant, with any key.
func TestFailuresOfOneTenantHoldUpNoOther(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		body   string
		other  Endpoint
		// shares is true if the other asks with the same key in the same namespace.
		shares bool
	}{
		"server errors, another namespace":    {status: 500, other: Endpoint{Tenant: "b"}},
		"server errors, same namespace":       {status: 500, other: Endpoint{Tenant: "a"}, shares: true},
		"too many requests, another key":      {status: 429, other: Endpoint{Tenant: "a", APIKey: secret.New("theirs")}},
		"a wrong key":                         {status: 401, other: Endpoint{Tenant: "a", APIKey: secret.New("theirs")}},
		"no money, another namespace":         {status: 402, other: Endpoint{Tenant: "b"}},
		"not allowed, another namespace":      {status: 403, other: Endpoint{Tenant: "b"}},
		"no such model, another namespace":    {status: 404, other: Endpoint{Tenant: "b"}},
		"a bad request, same namespace":       {status: 400, other: Endpoint{Tenant: "a"}},
		"a malformed answer, same namespace":  {status: 200, body: `{"choices":[]}`, other: Endpoint{Tenant: "a"}},
		"a malformed answer, other namespace": {status: 200, body: `<html>`, other: Endpoint{Tenant: "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Endpoints: &breaker.Registry{}, Patience: time.Nanosecond, HTTPClient: &http.Client{
				Transport: roundTripper(func(*http.Request) (*http.Response, error) { return response(tt.status, http.Header{}, tt.body), nil }),
			}}
			first := Endpoint{BaseURL: "http://model.test/v1", Model: "m", Tenant: "a"}
			other := tt.other
			other.BaseURL, other.Model = first.BaseURL, first.Model
			failing, err := New(first, o)
			if err != nil {
				t.Fatal(err)
			}
			answered := *o.HTTPClient
			answered.Transport = roundTripper(func(*http.Request) (*http.Response, error) { return response(200, http.Header{}, okBody), nil })
			o.HTTPClient = &answered
			well, err := New(other, o)
			if err != nil {
				t.Fatal(err)
			}
			for range 4 {
				if _, err := ask(t.Context(), failing); err == nil {
					t.Fatal("no error")
				}
			}
			if _, err := ask(t.Context(), well); (err != nil) != tt.shares {
				t.Errorf("the other one's request ends with %v", err)
			}
			if away := well.Away(); (away != nil) != tt.shares {
				t.Errorf("the other one is told of %v", away)
			}
		})
	}
}

// A long wait behind others at an endpoint that accepts few requests at a time is no outage.
func TestWaitForAPlaceIsNoOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		c, err := New(Endpoint{BaseURL: "http://model.test", Model: "m"}, Options{HTTPClient: &http.Client{
			Transport: roundTripper(func(*http.Request) (*http.Response, error) {
				if asked.Add(1) == 1 {
					return response(429, http.Header{}, ""), nil
				}
				<-time.After(time.Minute)
				return response(200, http.Header{}, okBody), nil
			}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		for range 5 {
			go func() {
				_, err := ask(t.Context(), c)
				done <- err
			}()
		}
		for range 5 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}
