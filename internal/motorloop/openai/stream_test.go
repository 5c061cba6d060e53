// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/openai/breaker"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/secret"
)

const (
	deltaText = `{"id":"c","model":"m-2026","choices":[{"index":0,"delta":{"role":"assistant","content":"do"}}]}`
	deltaMore = `{"id":"","choices":[{"index":0,"delta":{"content":"ne"}}]}`
	deltaEnd  = `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	deltaCost = `{"id":"c","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":5}}}`
)

// answered is the result of all of these.
func answered() chat.Answer {
	return chat.Answer{Model: "m-2026", Content: "done", Usage: turn.Usage{PromptTokens: 7, CompletionTokens: 3, CachedTokens: 5}}
}

func events(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String()
}

func TestStreams(t *testing.T) {
	t.Parallel()
	calls := events(
		`{"id":"c","model":"m-2026","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"bash","arguments":""}}]}}]}`,
		`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\":"}}]}}]}`,
		`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"ls\"}"}}]}}]}`,
		`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"b","type":"function","function":{"name":"read","arguments":"{}"}}]}}]}`,
		`{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]")
	twoCalls := chat.Answer{Model: "m-2026", Calls: []turn.Call{
		{ModelID: "a", Tool: "bash", Arguments: `{"command":"ls"}`}, {ModelID: "b", Tool: "read", Arguments: "{}"},
	}}
	twoCalls.Usage = turn.Usage{CompletionTokens: 6, Estimated: true}
	cut := answered()
	cut.Truncated = true
	for name, tt := range map[string]struct {
		contentType, body string
		want              chat.Answer
		says              string
		usage             turn.Usage
	}{
		"whole":                           {"text/event-stream", events(deltaText, deltaMore, deltaEnd, deltaCost, "[DONE]"), answered(), "", turn.Usage{}},
		"without an end":                  {"text/event-stream; charset=utf-8", events(deltaText, deltaMore, deltaEnd, deltaCost), answered(), "", turn.Usage{}},
		"called something else":           {"text/plain", events(deltaText, deltaMore, deltaEnd, deltaCost, "[DONE]"), answered(), "", turn.Usage{}},
		"comments keep it alive":          {"text/event-stream", ": ping\n\n" + events(deltaText, deltaMore, deltaEnd, deltaCost), answered(), "", turn.Usage{}},
		"at the output limit":             {"text/event-stream", events(deltaText, deltaMore, strings.Replace(deltaEnd, "stop", "length", 1), deltaCost), cut, "", turn.Usage{}},
		"errors that are none":            {"text/event-stream", strings.ReplaceAll(events(deltaText, deltaMore, deltaEnd, deltaCost, "[DONE]"), `{"id"`, `{"error": null, "id"`), answered(), "", turn.Usage{}},
		"no stream at all":                {"application/json", okBody, answered(), "", turn.Usage{}},
		"calls":                           {"text/event-stream", fmt.Sprintf(calls, 1), twoCalls, "", turn.Usage{}},
		"calls that have all one index":   {"text/event-stream", fmt.Sprintf(calls, 0), twoCalls, "", turn.Usage{}},
		"breaks off":                      {"text/event-stream", events(deltaText, deltaMore), chat.Answer{}, "broke off in the middle", turn.Usage{}},
		"breaks off after it said a cost": {"text/event-stream", events(deltaText, deltaCost), chat.Answer{}, "broke off in the middle", turn.Usage{PromptTokens: 21, CompletionTokens: 9, CachedTokens: 15}},
		"no choices":                      {"text/event-stream", events(deltaCost, "[DONE]"), chat.Answer{}, "without any choices", turn.Usage{PromptTokens: 21, CompletionTokens: 9, CachedTokens: 15}},
		"not JSON":                        {"text/event-stream", events("{'"), chat.Answer{}, "broke off", turn.Usage{}},
		"an error in the middle":          {"text/event-stream", events(deltaText, `{"error":{"message":"overloaded"}}`), chat.Answer{}, "overloaded", turn.Usage{}},
		"a line that never ends":          {"text/event-stream", "data: " + strings.Repeat("x", maxResponseBytes+100), chat.Answer{}, "a part of more than 1 MiB", turn.Usage{}},
		"text that never ends":            {"text/event-stream", strings.Repeat(events(strings.Replace(deltaText, "do", strings.Repeat("x", 1<<18), 1)), 5), chat.Answer{}, "more than 1 MiB", turn.Usage{}},
		"calls that never end":            {"text/event-stream", manyCalls(maxParts + 1), chat.Answer{}, "more than 256 calls", turn.Usage{}},
		"comments that never end":         {"text/event-stream", events(deltaText) + strings.Repeat(": "+strings.Repeat("x", 1<<10)+"\n\n", 64<<10), chat.Answer{}, "streamed more than 64 MiB", turn.Usage{}},
		"another answer beside it":        {"text/event-stream", events(deltaText, strings.Replace(deltaMore, `"index":0`, `"index":1`, 1), deltaMore, deltaEnd, deltaCost), answered(), "", turn.Usage{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := serve(t, quick(), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				_, _ = io.WriteString(w, tt.body)
			})
			got, err := ask(t.Context(), c)
			if tt.says == "" {
				if d := cmp.Diff(tt.want, got); d != "" || err != nil {
					t.Errorf("%s, %v", d, err)
				}
				return
			}
			if f := failureOf(t, err, away); !strings.Contains(f.Message, tt.says) {
				t.Errorf("got %q, want %q", f.Message, tt.says)
			}
			if o, _ := errors.AsType[*chat.Outage](err); o.Usage != tt.usage {
				t.Errorf("its tries cost %+v, want %+v", o.Usage, tt.usage)
			}
		})
	}
}

// manyCalls is a stream that begins so many calls.
func manyCalls(n int) string {
	var chunks []string
	for i := range n {
		chunks = append(chunks, fmt.Sprintf(`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"i%d","function":{"name":"bash"}}]}}]}`, i, i))
	}
	return events(chunks...)
}

// A stream may take longer to begin the more often requests timed out before, within the time for the whole; an answer without a stream has that
// time.
func TestFirstByte(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for name, tt := range map[string]struct {
		idle, request time.Duration
		facts         breaker.Facts
		want          time.Duration
	}{
		"at first":                      {minute, 30 * minute, breaker.Facts{}, minute},
		"after two that were given up":  {minute, 30 * minute, breaker.Facts{SilentFor: 2}, 4 * minute},
		"ten minutes at most":           {2 * minute, 30 * minute, breaker.Facts{SilentFor: 3}, 10 * minute},
		"unless a pause may be longer":  {15 * minute, 30 * minute, breaker.Facts{SilentFor: 1}, 15 * minute},
		"no longer than the whole":      {minute, 3 * minute, breaker.Facts{SilentFor: 3}, 3 * minute},
		"an endpoint that never begins": {minute, 30 * minute, breaker.Facts{SilentFor: 1, NoStream: true}, 30 * minute},
	} {
		c, err := New(Endpoint{BaseURL: "http://model.test/v1", Model: "m"}, Options{IdleTimeout: tt.idle, RequestTimeout: tt.request})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.firstByte(tt.facts); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// An endpoint's error in the middle of a stream has the same meaning as with a status.
func TestErrorsInAStream(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]kind{
		`{"error":{"code":"insufficient_quota","message":"no money"}}`:                                    act,
		`{"error":{"code":"context_length_exceeded","message":"maximum context length is 16000 tokens"}}`: long,
	} {
		c, _ := serve(t, quick(), func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, events(deltaText, body))
		})
		_, err := ask(t.Context(), c)
		failureOf(t, err, want)
		if want == long && c.Window() != 16000 {
			t.Errorf("the window is %d", c.Window())
		}
	}
}

// slowBody returns its parts with a pause before each but the first.
type slowBody struct {
	ctx   context.Context
	parts []string
	pause time.Duration
	begun bool
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.parts) == 0 {
		return 0, io.EOF
	}
	if b.begun {
		select {
		case <-time.After(b.pause):
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
	}
	b.begun = true
	n := copy(p, b.parts[0])
	b.parts = b.parts[1:]
	return n, nil
}

func (b *slowBody) Close() error { return nil }

// An answer may be slow, and must not stall. The clock is synctest's.
func TestSlownessIsNoStall(t *testing.T) {
	t.Parallel()
	stream := []string{events(deltaText), events(deltaMore), ": still there\n\n", events(deltaEnd), events(deltaCost, "[DONE]")}
	for name, tt := range map[string]struct {
		contentType string
		parts       []string
		// pause is before each part of the body, delay before the headers.
		pause, delay time.Duration
		tries        int
		says         string
	}{
		"26 s for each part, 130 s in all":  {"text/event-stream", stream, 26 * time.Second, 26 * time.Second, 1, ""},
		"more than six minutes":             {"text/event-stream", stream, 80 * time.Second, 80 * time.Second, 1, ""},
		"130 s of silence before the whole": {"application/json", []string{okBody}, 0, 130 * time.Second, 2, ""},
		"headers, and the body much later":  {"text/event-stream", append([]string{""}, stream...), 80 * time.Second, 80 * time.Second, 1, ""},
		"a stall in the middle":             {"text/event-stream", stream, 91 * time.Second, 0, 1, "sent nothing more for 1m30s"},
		"longer than an answer may take":    {"text/event-stream", longer(stream, 40), 60 * time.Second, 0, 1, "was not done with its answer within 30m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				c, err := New(Endpoint{BaseURL: "http://model.test/v1", Model: "m"}, Options{HTTPClient: &http.Client{
					Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
						tries++
						select {
						case <-time.After(tt.delay):
						case <-r.Context().Done():
							return nil, r.Context().Err()
						}
						res := response(200, http.Header{}, "")
						res.Header.Set("Content-Type", tt.contentType)
						res.Body = &slowBody{ctx: r.Context(), parts: append([]string(nil), tt.parts...), pause: tt.pause}
						return res, nil
					}),
				}})
				if err != nil {
					t.Fatal(err)
				}
				a, err := ask(t.Context(), c)
				for range tt.tries - 1 {
					if _, ok := errors.AsType[*chat.Outage](err); !ok {
						t.Fatalf("got %v", err)
					}
					a, err = ask(t.Context(), c)
				}
				if tries != tt.tries {
					t.Errorf("%d tries", tries)
				}
				if tt.says != "" {
					if f := failureOf(t, err, away); f.Reason != outcome.ReasonModelTimeout || !strings.Contains(f.Message, tt.says) {
						t.Errorf("got %+v", f)
					}
				} else if err != nil || a.Content != "done" {
					t.Errorf("got %+v, %v", a, err)
				}
			})
		})
	}
}

// longer repeats comments, so that a stream goes on for long.
func longer(stream []string, n int) []string {
	out := stream[:1:1]
	for range n {
		out = append(out, ": still there\n\n")
	}
	return append(out, stream[1:]...)
}

// blackHole forwards connections to a server. From a moment on it holds those that are open then, and forwards none of their data.
type blackHole struct {
	ln    net.Listener
	to    string
	mu    sync.Mutex
	dead  []*atomic.Bool
	conns atomic.Int32
}

func (b *blackHole) serve() {
	for {
		in, err := b.ln.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", b.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		b.conns.Add(1)
		dead := &atomic.Bool{}
		b.mu.Lock()
		b.dead = append(b.dead, dead)
		b.mu.Unlock()
		pass := func(to, from net.Conn) {
			buf := make([]byte, 32<<10)
			for {
				n, err := from.Read(buf)
				if err != nil {
					_ = to.Close()
					return
				}
				if !dead.Load() {
					_, _ = to.Write(buf[:n])
				}
			}
		}
		go pass(in, out)
		go pass(out, in)
	}
}

func (b *blackHole) swallow() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.dead {
		d.Store(true)
	}
}

// A connection that a middlebox has forgotten is replaced: otherwise every loop of the endpoint waits on it.
func TestDeadConnectionIsReplaced(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("%s", r.Proto)
		}
		reply(w, 200, okBody)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	hole := &blackHole{ln: ln, to: s.Listener.Addr().String()}
	go hole.serve()
	transport := newTransport(200 * time.Millisecond)
	transport.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	t.Cleanup(transport.CloseIdleConnections)
	c, err := New(Endpoint{BaseURL: "https://" + ln.Addr().String(), Model: "m"}, Options{HTTPClient: &http.Client{Transport: transport}, Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	hole.swallow()
	// No timeout of the client's own ends a try before a minute and a half.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := ask(ctx, c); err != nil {
		t.Fatal(err)
	}
	if n := hole.conns.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// The loops of an endpoint share its state: while it is down only one probes it, and requests with another key are sent at once.
func TestLoopsShareWhatTheyKnow(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	o := quick()
	o.MaxTries = 1
	c, _ := serve(t, o, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		reply(w, 401, "")
	})
	if c.Away() != nil {
		t.Error("away before it was asked")
	}
	for range 20 {
		if _, err := ask(t.Context(), c); failureOf(t, err, act).Reason != outcome.ReasonModelUnauthorized {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if out := c.Away(); out == nil || !out.MustAct || out.RetryAfter <= 0 {
		t.Errorf("known to be away: %+v", out)
	}
	o = c.opts
	other, err := New(Endpoint{BaseURL: c.endpoint.BaseURL, Model: "m", APIKey: secret.New("another-key")}, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), other); failureOf(t, err, act) == nil || asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
}
