// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
)

// shape is what a client can tell about a response.
type shape struct {
	Status     int
	RetryAfter string
	// Broken: the connection ended before the body did. No status: before anything came.
	Broken bool
	// JSON: the body, or every chunk of a stream, parses.
	JSON bool
	// Done: the stream ended with [DONE].
	Done bool
	Text string
}

func shapeOf(g got, stream bool) shape {
	s := shape{Status: g.status, RetryAfter: g.header.Get("Retry-After"), Broken: g.err != nil}
	if !stream || g.status != http.StatusOK {
		var body struct {
			Choices []struct{ Message struct{ Content string } }
			Error   struct{ Message string }
		}
		s.JSON = json.Unmarshal([]byte(g.body), &body) == nil
		s.Text = body.Error.Message
		if len(body.Choices) > 0 {
			s.Text = body.Choices[0].Message.Content
		}
		return s
	}
	s.JSON = true
	for text := range strings.SplitSeq(strings.TrimSuffix(g.body, "\n\n"), "\n\n") {
		data := strings.TrimPrefix(text, "data: ")
		if data == "[DONE]" {
			s.Done = true
			continue
		}
		var c struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		s.JSON = s.JSON && json.Unmarshal([]byte(data), &c) == nil
		if len(c.Choices) > 0 {
			s.Text += c.Choices[0].Delta.Content
		}
	}
	return s
}

// Every kind of fault, as a client sees it, and then the real answer.
func TestFaults(t *testing.T) {
	const text = "a text that is long enough to come in four chunks, no less than that"
	half := text[:24]
	for name, tc := range map[string]struct {
		fault         string
		plain, stream shape
		outcome       string
	}{
		"429": {
			"kind: status, status: 429, retryAfterSeconds: 3, message: slow down",
			shape{Status: 429, RetryAfter: "3", JSON: true, Text: "slow down"},
			shape{Status: 429, RetryAfter: "3", JSON: true, Text: "slow down"}, outcomeSent,
		},
		"529": {
			"kind: status, status: 529",
			shape{Status: 529, JSON: true, Text: "The script answers with status 529 here."},
			shape{Status: 529, JSON: true, Text: "The script answers with status 529 here."}, outcomeSent,
		},
		"slow": {
			"kind: slow, delay: 1s",
			shape{Status: 200, JSON: true, Text: text},
			shape{Status: 200, JSON: true, Done: true, Text: text}, outcomeSent,
		},
		"late": {
			"kind: late, delay: 1s",
			shape{Status: 200, JSON: true, Text: text},
			shape{Status: 200, JSON: true, Done: true, Text: text}, outcomeSent,
		},
		"trickle": {
			"kind: trickle, delay: 1s",
			shape{Status: 200, JSON: true, Text: text},
			shape{Status: 200, JSON: true, Done: true, Text: text}, outcomeSent,
		},
		"529 for a while": {
			"kind: status, status: 529, retryAfterSeconds: 7",
			shape{Status: 529, RetryAfter: "7", JSON: true, Text: "The script answers with status 529 here."},
			shape{Status: 529, RetryAfter: "7", JSON: true, Text: "The script answers with status 529 here."}, outcomeSent,
		},
		"hang": {"kind: hang, delay: 1s", shape{Broken: true}, shape{Broken: true}, outcomeCut},
		"stall": {
			"kind: stall, delay: 1s",
			shape{Status: 200, Broken: true},
			shape{Status: 200, Broken: true, JSON: true, Text: half}, outcomeCut,
		},
		"disconnect": {"kind: disconnect", shape{Broken: true}, shape{Broken: true}, outcomeCut},
		"cutStream": {
			"kind: cutStream",
			shape{Status: 200, Broken: true},
			shape{Status: 200, Broken: true, JSON: true, Text: half}, outcomeCut,
		},
		"cutBody": {
			"kind: cutBody",
			shape{Status: 200, Broken: true},
			shape{Status: 200, Broken: true, JSON: true, Text: half}, outcomeCut,
		},
		"endStream": {"kind: endStream", shape{Status: 200}, shape{Status: 200, JSON: true, Text: half}, outcomeSent},
		"malformedJSON": {
			"kind: malformedJSON",
			shape{Status: 200},
			shape{Status: 200, Done: true, Text: half}, outcomeSent,
		},
		"truncatedJSON": {"kind: truncatedJSON", shape{Status: 200}, shape{Status: 200, Text: half}, outcomeSent},
		"empty": {
			"kind: empty",
			shape{Status: 200, JSON: true},
			shape{Status: 200, JSON: true, Done: true}, outcomeSent,
		},
		"noChoices": {
			"kind: noChoices",
			shape{Status: 200, JSON: true},
			shape{Status: 200, JSON: true, Done: true}, outcomeSent,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "turns: [{content: "+`"`+text+`"`+", fault: {"+tc.fault+", times: 1}}]")
			check := func(request string, stream bool, want shape) {
				t.Helper()
				if diff := cmp.Diff(want, shapeOf(r.complete(t, request), stream)); diff != "" {
					t.Errorf("with the fault, stream %v (-want +got):\n%s", stream, diff)
				}
				after := shape{Status: 200, JSON: true, Done: stream, Text: text}
				if diff := cmp.Diff(after, shapeOf(r.complete(t, request), stream)); diff != "" {
					t.Errorf("after the fault, stream %v (-want +got):\n%s", stream, diff)
				}
				r.faults.reset()
			}
			check(hello, false, tc.plain)
			check(helloStream, true, tc.stream)
			first := r.entries(t)[0]
			kind := strings.Fields(strings.ReplaceAll(tc.fault, ",", ""))[1]
			if first.Fault != kind || first.Outcome != tc.outcome || first.Status != tc.plain.Status {
				t.Errorf("log = %+v", first)
			}
		})
	}
}

// What the real client makes of the faults that it could mistake for an answer.
func TestRealClientFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		kind    string
		wantErr error
		finish  string
	}{
		// The stream ends without an error: only the missing finish reason tells.
		"endStream":     {"endStream", nil, ""},
		"cutStream":     {"cutStream", io.ErrUnexpectedEOF, ""},
		"malformedJSON": {"malformedJSON", &json.SyntaxError{}, ""},
		"truncatedJSON": {"truncatedJSON", &json.SyntaxError{}, ""},
		"empty":         {"empty", nil, "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			client := newRig(t, "turns: [{content: some words and then a few more of them, fault: {kind: "+tc.kind+"}}]").client("any")
			stream := client.Chat.Completions.NewStreaming(t.Context(), openai.ChatCompletionNewParams{
				Model: "play", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hi")},
			})
			var acc openai.ChatCompletionAccumulator
			for stream.Next() {
				acc.AddChunk(stream.Current())
			}
			err := stream.Err()
			if syntax, ok := errors.AsType[*json.SyntaxError](tc.wantErr); ok {
				if !errors.As(err, &syntax) {
					t.Errorf("err = %v, want a syntax error", err)
				}
			} else if !errors.Is(err, tc.wantErr) {
				t.Errorf("err = %v, want %v", err, tc.wantErr)
			}
			if acc.Choices[0].FinishReason != tc.finish {
				t.Errorf("finish reason %q, want %q", acc.Choices[0].FinishReason, tc.finish)
			}
		})
	}
}

// Faults are counted by turn and by conversation, in their order.
func TestFaultCounts(t *testing.T) {
	r := newRig(t, `
turns:
- content: zero
  faults:
  - {kind: status, status: 429, times: 2}
  - {kind: status, status: 529, times: 1}
- content: one
  fault: {kind: status, status: 500, times: 1}
`)
	const next = `{"model": "play", "messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "zero"}]}`
	other := strings.ReplaceAll(hello, "hello", "goodbye")
	var statuses []int
	for _, request := range []string{hello, hello, other, hello, hello, next, next, other} {
		statuses = append(statuses, r.complete(t, request).status)
	}
	if diff := cmp.Diff([]int{429, 429, 429, 529, 200, 500, 200, 429}, statuses); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	r.send(t, http.MethodPost, "/reset", "")
	if res := r.complete(t, hello); res.status != 429 {
		t.Errorf("after reset: status %d", res.status)
	}
}

func TestDelayIsKept(t *testing.T) {
	r := newRig(t, "turns: [{content: a, fault: {kind: status, status: 500, delay: 250ms}}]")
	waits := make(chan time.Duration, 1)
	r.wait = func(_ context.Context, d time.Duration) error {
		waits <- d
		return nil
	}
	if res := r.complete(t, hello); res.status != 500 {
		t.Errorf("status %d", res.status)
	}
	if d := <-waits; d != 250*time.Millisecond {
		t.Errorf("waited %s", d)
	}
}

// A trickle is spread evenly over its delay, from the first part to the last.
func TestTrickle(t *testing.T) {
	r := newRig(t, "turns: [{content: a text that comes in more than one part, fault: {kind: trickle, delay: 5m, times: 1}}]")
	var waited []time.Duration
	r.wait = func(_ context.Context, d time.Duration) error {
		waited = append(waited, d)
		return nil
	}
	got := r.complete(t, helloStream)
	parts := strings.Count(got.body, "data: ")
	if got.status != http.StatusOK || parts < 4 || len(waited) != parts-1 {
		t.Fatalf("status %d, %d parts, %d pauses", got.status, parts, len(waited))
	}
	for _, d := range waited {
		if want := 5 * time.Minute / time.Duration(parts-1); d != want {
			t.Errorf("paused for %s, want %s", d, want)
		}
	}
}

// A client that gives up ends a hang, and the log tells of it.
func TestClientGivesUp(t *testing.T) {
	for _, kind := range []string{"hang", "slow", "trickle"} {
		t.Run(kind, func(t *testing.T) {
			r := newRig(t, "turns: [{content: a, fault: {kind: "+kind+", delay: 10m}}]")
			waiting := make(chan struct{})
			r.wait = func(ctx context.Context, d time.Duration) error {
				close(waiting)
				return waitTimer(ctx, d)
			}
			ctx, giveUp := context.WithCancel(t.Context())
			go func() {
				<-waiting
				giveUp()
			}()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.http.URL+"/v1/chat/completions", strings.NewReader(hello))
			if err != nil {
				t.Fatal(err)
			}
			res, err := r.http.Client().Do(req)
			if err == nil {
				_ = res.Body.Close()
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("response %v, err %v", res, err)
			}
			r.http.Close() // Returns when no handler runs any more.
			if log := r.log.list(); len(log) != 1 || log[0].Outcome != outcomeClientGone || log[0].Fault != kind {
				t.Errorf("log = %+v", log)
			}
		})
	}
}

// An answer that comes after the client gave up is sent into the void, and the next try gets its own.
func TestLateAnswer(t *testing.T) {
	r := newRig(t, "turns: [{content: a, fault: {kind: late, delay: 10m, times: 1}}]")
	var first sync.Once
	var gone <-chan struct{} // Closed when the server knows that the first client is.
	r.arrived = func(req *http.Request) { first.Do(func() { gone = req.Context().Done() }) }
	waiting, over := make(chan struct{}), make(chan struct{})
	r.wait = func(ctx context.Context, _ time.Duration) error {
		close(waiting)
		<-over
		return ctx.Err()
	}
	ctx, giveUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.http.URL+"/v1/chat/completions", strings.NewReader(hello))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-waiting
		giveUp()
	}()
	res, err := r.http.Client().Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("response %v, err %v", res, err)
	}
	if again := shapeOf(r.complete(t, hello), false); again.Text != "a" {
		t.Errorf("the next try got %+v", again)
	}
	<-gone
	close(over)
	r.http.Close() // Returns when no handler runs any more.
	if log := r.log.list(); len(log) != 2 || log[0].Outcome != outcomeClientGone || log[0].Fault != "late" || log[1].Outcome != outcomeSent {
		t.Errorf("log = %+v", log)
	}
}

func TestWaitTimer(t *testing.T) {
	if err := waitTimer(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := waitTimer(over, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}
