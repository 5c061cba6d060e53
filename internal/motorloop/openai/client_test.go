// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/openai/breaker"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/secret"
)

const (
	testKey = "sk-test-zqxwabcdefghijklmnop"
	okBody  = `{"model":"m-2026","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"done"}}],
		"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":5}}}`
)

// quick returns options with which no test waits.
func quick() Options {
	return Options{
		RequestTimeout: time.Minute,
		Patience:       time.Minute,
		MaxTries:       3,
		InitialBackoff: time.Microsecond,
		MaxRetryAfter:  time.Microsecond,
	}
}

func serve(t *testing.T, o Options, h http.HandlerFunc) (*Client, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	o.HTTPClient = s.Client()
	c, err := New(Endpoint{BaseURL: s.URL + "/v1", APIKey: secret.New(testKey), Model: "m"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return c, strings.TrimPrefix(s.URL, "http://")
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func ask(ctx context.Context, c *Client) (chat.Answer, error) {
	return c.Complete(ctx, chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Content: "hi"}}})
}

// kind is the kind of error of a failed try.
type kind int

const (
	away    kind = iota // It may pass by itself.
	act                 // Something has to be changed.
	refusal             // The request itself is not taken.
	long                // The request does not fit.
)

// Failures that persist, or that pass: their error, and the number of tries.
func TestFailures(t *testing.T) {
	always := func(status int, body string) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) { reply(w, status, body) }
	}
	cutBody := func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(len(okBody)))
		_, _ = io.WriteString(w, okBody[:40])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	cases := map[string]struct {
		handle  func(try int, w http.ResponseWriter, r *http.Request)
		reason  string
		says    string
		kind    kind
		tries   int
		timeout time.Duration
	}{
		"429": {
			handle: always(429, `{"error":{"message":"slow down","type":"rate_limit"}}`),
			reason: outcome.ReasonModelRateLimited, says: "answered 429: slow down.", tries: 3,
		},
		"429 without money": {
			handle: always(429, `{"error":{"message":"no money","code":"insufficient_quota"}}`),
			reason: outcome.ReasonModelQuota, says: "answered 429: no money.", kind: act, tries: 1,
		},
		"529": {
			handle: always(529, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`),
			reason: outcome.ReasonModelUnavailable, says: "answered 529: Overloaded", tries: 3,
		},
		"500 as a page": {
			handle: always(500, `<html>oops</html>`),
			reason: outcome.ReasonModelUnavailable, says: "answered 500.", tries: 3,
		},
		"408":        {handle: always(408, ""), reason: outcome.ReasonModelTimeout, says: "408", tries: 3},
		"409":        {handle: always(409, "{}"), reason: outcome.ReasonModelUnavailable, says: "409", tries: 3},
		"400":        {handle: always(400, `{"error":{"message":"context_length_exceeded"}}`), reason: outcome.ReasonModelWindow, says: "context_length_exceeded", kind: long, tries: 1},
		"400 string": {handle: always(400, `{"error":"bad"}`), reason: outcome.ReasonModelRefused, says: "400: bad", kind: refusal, tries: 1},
		"422":        {handle: always(422, `{"detail":"no"}`), reason: outcome.ReasonModelRefused, says: "422: no", kind: refusal, tries: 1},
		"404 as a page": {
			handle: always(404, `<html><body>not here</body></html>`),
			reason: outcome.ReasonModelNotFound, says: `Check that it has the model "m"`, kind: act, tries: 1,
		},
		"redirect to nowhere": {handle: always(304, ""), reason: outcome.ReasonModelNotFound, says: "answered 304: it redirects", kind: act, tries: 1},
		"402": {
			handle: always(402, `{"error":{"message":"top up"}}`),
			reason: outcome.ReasonModelQuota, says: "needs credit or a higher quota", kind: act, tries: 1,
		},
		"401 with the key": {
			handle: always(401, `{"error":{"message":"Incorrect API key provided: `+testKey+`"}}`),
			reason: outcome.ReasonModelUnauthorized, says: "refused the API key with status 401", kind: act, tries: 1,
		},
		"403": {handle: always(403, ""), reason: outcome.ReasonModelUnauthorized, says: "403", kind: act, tries: 1},
		"400 with the key": {
			handle: always(400, `{"error":{"message":"odd header Bearer `+testKey+` and sk-te***mnop"}}`),
			reason: outcome.ReasonModelRefused, says: "odd header Bearer [redacted] and [redacted]", kind: refusal, tries: 1,
		},
		"no choices":     {handle: always(200, `{"choices":[]}`), reason: outcome.ReasonModelMalformed, says: "without any choices", tries: 3},
		"error in a 200": {handle: always(200, `{"error":{"message":"upstream"}}`), reason: outcome.ReasonModelMalformed, says: "upstream", tries: 3},
		"truncated JSON": {handle: always(200, okBody[:60]), reason: outcome.ReasonModelMalformed, says: "not JSON", tries: 3},
		"malformed JSON": {handle: always(200, `<html>`), reason: outcome.ReasonModelMalformed, says: "not JSON", tries: 3},
		"cut body":       {handle: cutBody, reason: outcome.ReasonModelMalformed, says: "broke off", tries: 3},
		"too large": {
			handle: always(200, strings.Repeat(" ", maxResponseBytes+1)),
			reason: outcome.ReasonModelMalformed, says: "more than 1 MiB", tries: 3,
		},
		"hangs": {
			handle:  func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			timeout: time.Second, // The server has to see each try.
			reason:  outcome.ReasonModelTimeout, says: "was not done with its answer within 1s", tries: 3,
		},
		"hangs in the body": {
			handle: func(_ int, w http.ResponseWriter, r *http.Request) {
				reply(w, 200, okBody[:20])
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			},
			timeout: time.Second,
			reason:  outcome.ReasonModelTimeout, says: "was not done", tries: 3,
		},
		"slow": {
			handle: func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				for _, part := range []string{okBody[:20], okBody[20:40], okBody[40:]} {
					_, _ = io.WriteString(w, part)
					_ = http.NewResponseController(w).Flush()
					<-time.After(5 * time.Millisecond)
				}
			},
			tries: 1,
		},
		"half a stream": {
			handle: func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"do`)
			},
			reason: outcome.ReasonModelMalformed, says: "without any choices", tries: 3,
		},
		"529 then good": {
			handle: func(n int, w http.ResponseWriter, _ *http.Request) {
				if n == 1 {
					w.Header().Set("Retry-After", "1")
					reply(w, 529, "")
					return
				}
				reply(w, 200, okBody)
			},
			tries: 2,
		},
		// The answer to the first try comes after its timeout; the answer to the second one counts.
		"an answer after it was given up": {
			handle: func(n int, w http.ResponseWriter, r *http.Request) {
				if n == 1 {
					<-r.Context().Done()
					reply(w, 200, strings.Replace(okBody, "done", "late", 1))
					return
				}
				reply(w, 200, okBody)
			},
			timeout: 2 * time.Second, // The second is answered within it.
			tries:   2,
		},
		"connection dropped": {
			handle: func(int, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			reason: outcome.ReasonModelUnavailable, says: "cannot be reached: EOF", tries: 3,
		},
		"500 then good": {
			handle: func(n int, w http.ResponseWriter, _ *http.Request) {
				if n < 3 {
					reply(w, 500, "")
					return
				}
				reply(w, 200, okBody)
			},
			tries: 3,
		},
		"cut, then good": {
			handle: func(n int, w http.ResponseWriter, r *http.Request) {
				if n == 1 {
					cutBody(n, w, r)
				}
				reply(w, 200, okBody)
			},
			tries: 2,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int32
			var logged bytes.Buffer
			o := quick()
			o.Logger = slog.New(slog.NewTextHandler(&logged, nil))
			if tc.timeout > 0 {
				o.RequestTimeout = tc.timeout
			}
			c, host := serve(t, o, func(w http.ResponseWriter, r *http.Request) {
				n := int(tries.Add(1))
				_, _ = io.Copy(io.Discard, r.Body)
				tc.handle(n, w, r)
			})
			a, err := ask(t.Context(), c)
			if got := int(tries.Load()); got != tc.tries {
				t.Errorf("%d tries, want %d", got, tc.tries)
			}
			failed := tc.tries
			if tc.reason == "" || tc.kind == refusal || tc.kind == long {
				failed--
			}
			if n := strings.Count(logged.String(), "came to nothing"); n != failed {
				t.Errorf("%d lines about %d tries: %s", n, failed, &logged)
			}
			checkNoKey(t, logged.String())
			if tc.reason == "" {
				if err != nil || a.Content != "done" {
					t.Fatalf("got %+v, %v", a, err)
				}
				return
			}
			f := failureOf(t, err, tc.kind)
			if f.Category != outcome.ModelFailure || f.Reason != tc.reason {
				t.Errorf("got %+v", f)
			}
			if !strings.Contains(f.Message, tc.says) || !strings.Contains(f.Message, host) || !strings.HasSuffix(f.Message, ".") {
				t.Errorf("message %q must contain %q and %q", f.Message, tc.says, host)
			}
			if strings.Contains(f.Message, "http://") || len(f.Message) > 1024 {
				t.Errorf("message %q", f.Message)
			}
			checkNoKey(t, fmt.Sprintf("%v %+v %#v", err, err, *f))
		})
	}
}

// failureOf returns the text of an error of that kind, and fails if it is of another.
func failureOf(t *testing.T, err error, want kind) *outcome.Failure {
	t.Helper()
	got, f := refusal, &outcome.Failure{}
	if o, ok := errors.AsType[*chat.Outage](err); ok {
		if got = away; o.MustAct {
			got = act
		}
		if o.RetryAfter <= 0 {
			t.Errorf("no time for the next try: %+v", o)
		}
		f = &outcome.Failure{Category: outcome.ModelFailure, Reason: o.Reason, Message: o.Message}
	} else if found, ok := errors.AsType[*outcome.Failure](err); ok {
		if f = found; !f.Retryable {
			t.Errorf("another attempt has another conversation: %+v", f)
		}
		if _, ok := errors.AsType[*chat.TooLong](err); ok {
			got = long
		}
	}
	if got != want {
		t.Fatalf("error %T: %v, want kind %d", err, err, want)
	}
	return f
}

// checkNoKey fails if the key, or so much of its beginning that it can be recognized, is in s.
func checkNoKey(t *testing.T, s string) {
	t.Helper()
	if strings.Contains(s, testKey[:6]) || strings.Contains(s, "zqxw") {
		t.Errorf("the key shows in %q", s)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var followed atomic.Int32
			elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				followed.Add(1)
				reply(w, 200, okBody)
			}))
			defer elsewhere.Close()
			var asked atomic.Int32
			c, _ := serve(t, quick(), func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				http.Redirect(w, r, elsewhere.URL, status)
			})
			_, err := ask(t.Context(), c)
			f := failureOf(t, err, act)
			if !strings.Contains(f.Message, fmt.Sprintf("answered %d: it redirects", status)) || !strings.Contains(f.Message, "baseURL must name the final address") {
				t.Errorf("message %q", f.Message)
			}
			if asked.Load() != 1 || followed.Load() != 0 {
				t.Errorf("%d requests, %d to the other address", asked.Load(), followed.Load())
			}
		})
	}
}

func TestHeadersAreBounded(t *testing.T) {
	for size, fits := range map[int]bool{maxHeaderBytes / 2: true, 2 * maxHeaderBytes: false} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Padding", strings.Repeat("x", size))
			reply(w, 200, okBody)
		}))
		defer s.Close()
		c, err := New(Endpoint{BaseURL: s.URL, Model: "m"}, quick())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(t.Context(), c); (err == nil) != fits {
			t.Errorf("%d bytes of headers: %v", size, err)
		}
	}
}

func TestContextEndsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, _ := serve(t, quick(), func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	if _, err := ask(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A try that panics releases its slot: others can call the endpoint afterwards.
func TestTryThatPanicsKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	o := quick()
	panics := true
	o.HTTPClient = &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		if panics {
			panic("a test")
		}
		return response(200, http.Header{}, okBody), nil
	})}
	c, err := New(Endpoint{BaseURL: "http://model.test", Model: "m"}, o)
	if err != nil {
		t.Fatal(err)
	}
	// The probing caller panics.
	report, err := c.shared.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	report(breaker.Verdict{Err: errors.New("away"), RetryAfter: time.Nanosecond})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = ask(t.Context(), c)
	}()
	panics = false
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := ask(ctx, c); err != nil {
		t.Error(err)
	}
}
