// SPDX-License-Identifier: Apache-2.0

package redacting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// answering is a model that records its request and returns one answer.
type answering struct {
	answer chat.Answer
	asked  chat.Request
}

func (a *answering) Complete(_ context.Context, r chat.Request) (chat.Answer, error) {
	a.asked = r
	return a.answer, nil
}

func TestTruncatedAnswerTellsNothing(t *testing.T) {
	t.Parallel()
	known := &Secrets{}
	known.Add("it", []byte("0123456789abcdef"))
	ask := func(content, arguments string) chat.Answer {
		model := &answering{answer: chat.Answer{Content: content, Truncated: true, Calls: []turn.Call{{Arguments: arguments}}}}
		a, err := Model{Model: model, Secrets: known}.Complete(t.Context(), chat.Request{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	long := strings.Repeat("y ", 500)
	for _, end := range []string{"0123456789", "wwwwwwwwww"} {
		a := ask(long+end, `{"a":"`+long+end)
		if strings.Contains(a.Content, end) || strings.Contains(a.Calls[0].Arguments, end) || len(a.Content) < 800 || len(a.Calls[0].Arguments) < 800 {
			t.Errorf("%d and %d bytes are left", len(a.Content), len(a.Calls[0].Arguments))
		}
	}
	if a := ask("", `{"a":"0123456789abcdef"}`); a.Calls[0].Arguments != `{"a":"<credential:it>"}` {
		t.Errorf("whole arguments became %s", a.Calls[0].Arguments)
	}
}

// For any form of a value, anywhere: no request to a model, answer, result or log line contains it.
func TestNothingShowsASecret(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	var log bytes.Buffer
	for range 300 {
		value := make([]byte, 12+rnd.IntN(40))
		for i := range value {
			value[i] = byte(33 + rnd.IntN(94))
		}
		known := &Secrets{}
		known.Add("it", value)
		logger := slog.New(Handler{Handler: slog.NewJSONHandler(&log, nil), Secrets: known}).With("with", string(value)).WithGroup("g")
		for form, text := range forms(string(value)) {
			text = "a" + text + "-"
			model := &answering{answer: chat.Answer{
				Model: text, Content: text, Truncated: rnd.IntN(2) == 0,
				Calls: []turn.Call{{ModelID: text, Tool: text, Arguments: text}},
			}}
			a, err := Model{Model: model, Secrets: known}.Complete(t.Context(), chat.Request{
				Messages: []chat.Message{{Content: text, Calls: []turn.Call{{Arguments: text}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			logger.Info("said "+text, "s", text, "e", errors.New(text), slog.Group("h", "v", text), "b", struct{ S string }{text})
			shown, _ := json.Marshal([]any{a, model.asked, known.HideResult(toolapi.Result{Output: text, ErrorCode: text, OutputFile: text})})
			if bytes.Contains(shown, []byte(text)) || bytes.Contains(shown, value) || strings.Contains(log.String(), text) || bytes.Contains(log.Bytes(), value) {
				t.Fatalf("the form %s is shown", form)
			}
			log.Reset()
		}
	}
}

// rotating are tools whose results have a value that is known only since the call.
type rotating struct{ known *Secrets }

func (rotating) Call(context.Context, toolapi.Call) (toolapi.Result, error) {
	return toolapi.Result{OK: true, Output: "the new one is 0123456789abcdef"}, nil
}

func (r rotating) refresh(context.Context) error {
	r.known.Add("it", []byte("0123456789abcdef"))
	return nil
}

// A value that replaced another while a call ran is hidden in the result of that call. Without it there is no result.
func TestValueThatCameWhileACallRan(t *testing.T) {
	t.Parallel()
	r := rotating{&Secrets{}}
	got, err := Tools{Tools: r, Secrets: r.known, Refresh: r.refresh}.Call(t.Context(), toolapi.Call{})
	if err != nil || got.Output != "the new one is <credential:it>" {
		t.Errorf("%q, %v", got.Output, err)
	}
	away := errors.New("the API server is away")
	got, err = Tools{Tools: r, Secrets: r.known, Refresh: func(context.Context) error { return away }}.Call(t.Context(), toolapi.Call{})
	if !errors.Is(err, away) || got.Output != "" {
		t.Errorf("%q, %v", got.Output, err)
	}
}

// The answer and the request belong to others: values are hidden in copies.
func TestNothingIsHiddenInPlace(t *testing.T) {
	t.Parallel()
	known := &Secrets{}
	known.Add("it", []byte("0123456789abcdef"))
	model := &answering{answer: chat.Answer{Calls: []turn.Call{{Arguments: `"0123456789abcdef"`}}}}
	request := chat.Request{Messages: []chat.Message{{Content: "0123456789abcdef", Calls: []turn.Call{{Arguments: `"0123456789abcdef"`}}}}}
	a, err := Model{Model: model, Secrets: known}.Complete(t.Context(), request)
	if err != nil || a.Calls[0].Arguments != `"<credential:it>"` || model.asked.Messages[0].Content != "<credential:it>" {
		t.Errorf("%+v, asked %+v, %v", a, model.asked, err)
	}
	if c := model.answer.Calls[0].Arguments; c != `"0123456789abcdef"` {
		t.Errorf("the answer was changed to %s", c)
	}
	if m := request.Messages[0]; m.Content != "0123456789abcdef" || m.Calls[0].Arguments != `"0123456789abcdef"` {
		t.Errorf("the request was changed to %+v", m)
	}
}

// The handler must not drop a record.
func TestHandlerLogs(t *testing.T) {
	t.Parallel()
	known := &Secrets{}
	known.Add("key", []byte("0123456789abcdef"))
	var b strings.Builder
	log := slog.New(Handler{Handler: slog.NewTextHandler(io.MultiWriter(&b), nil), Secrets: known})
	log.With("run", "r").Info("hello", "n", 7, "key", "0123456789abcdef")
	if got := b.String(); !strings.Contains(got, "run=r n=7 key=<credential:key>") {
		t.Error(got)
	}
}
