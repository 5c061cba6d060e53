// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	openaigo "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/secret"
)

// FuzzParseAnswer checks that no answer and no error of an endpoint panics, and that its description is short.
func FuzzParseAnswer(f *testing.F) {
	for _, body := range hostileAnswers() {
		f.Add([]byte(body[:min(len(body), 4<<10)]))
	}
	f.Add([]byte(`{"choices":[{"message":{"content":"x","tool_calls":[{"id":"1","function":{"name":"bash","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`))
	f.Add([]byte(`{"error":{"message":"no","code":1}}`))
	f.Add([]byte(`{"error":"no"}`))
	c, err := New(Endpoint{Model: "m", APIKey: secret.New("sk-secret-0000")}, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		_, err := c.parseAnswer(body)
		text := errorBody(body).text
		if err != nil && (len(err.Error()) > 4<<10 || !utf8.ValidString(err.Error())) || len(c.detail(text)) > maxDetail+len("…") {
			t.Errorf("%v, %q", err, c.detail(text))
		}
	})
}

// FuzzStream checks that no event stream of an endpoint panics, that its result is bounded, and that the result is the same for any chunking.
func FuzzStream(f *testing.F) {
	f.Add([]byte(events(deltaText, deltaMore, deltaEnd, deltaCost, "[DONE]")))
	f.Add([]byte(events(deltaText, `{"error":{"message":"overloaded"}}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		whole, err := readStream(t, bytes.NewReader(body))
		size := len(whole.Content)
		for _, call := range whole.Calls {
			size += len(call.ModelID) + len(call.Tool) + len(call.Arguments)
		}
		if size > 2*maxResponseBytes || len(whole.Calls) > maxParts {
			t.Errorf("%d bytes, %d calls", size, len(whole.Calls))
		}
		if _, ok := errors.AsType[*tryError](err); err != nil && (!ok || len(err.Error()) > 4<<10 || !utf8.ValidString(err.Error())) {
			t.Errorf("it fails with %v", err)
		}
		pieces, piecesErr := readStream(t, iotest.OneByteReader(bytes.NewReader(body)))
		if (err == nil) != (piecesErr == nil) || !cmp.Equal(whole, pieces) {
			t.Errorf("as a whole %+v, %v; in pieces %+v, %v", whole, err, pieces, piecesErr)
		}
	})
}

// readStream reads a stream like a client that got it as an answer.
func readStream(t *testing.T, body io.Reader) (chat.Answer, error) {
	t.Helper()
	c, err := New(Endpoint{Model: "m", APIKey: secret.New("sk-secret-0000")}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	silent := time.NewTimer(time.Hour)
	defer silent.Stop()
	watched := &watchedBody{ReadCloser: io.NopCloser(body), exchange: &exchange{client: c, silent: silent, idle: time.Hour}, stream: true}
	decoder := ssestream.NewDecoder(&http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: watched})
	return c.collect(ssestream.NewStream[openaigo.ChatCompletionChunk](noErrors{decoder}, nil))
}
