// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/worst"
)

// hostileAnswers are answers of an endpoint that try to exhaust the manager.
func hostileAnswers() []string {
	fill := func(before, unit string) string {
		return before + strings.Repeat(unit, (maxResponseBytes-len(before))/len(unit))
	}
	return []string{
		fill(`{"choices":[`, `{},`) + "{}]}", fill(`{"choices":[{"message":{"tool_calls":[`, `{},`), fill(`{"choices":`, `[`), fill(`{"choices":[{"message":{"content":`, `{"a":`),
		fill(`{`, `"a":1,`), fill(`{"choices":[{"message":{"content":"`, `\u0000`), fill(`{"error":`, `{"error":`), fill(`{"error":{"code":`, `[`), fill(`{"usage":{`, `"prompt_tokens":1,`),
	}
}

// TestWorst checks that an answer takes no more than the manager has for each of its loops.
func TestWorst(t *testing.T) {
	c, err := New(Endpoint{Model: "m"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range hostileAnswers() {
		worst.Within(t, body[:min(len(body), 40)], worst.Cost{Stack: worst.Race * 2 << 20, Heap: worst.Race * 24 << 20, Time: 20 * time.Second}, func() {
			_, _ = c.parseAnswer([]byte(body)) // Most of them are none.
		})
		worst.Within(t, "as an error: "+body[:min(len(body), 40)], worst.Cost{Stack: worst.Race * 2 << 20, Heap: worst.Race * 4 << 20, Time: 20 * time.Second}, func() {
			errorBody([]byte(body[:maxErrorBytes]))
		})
	}
}

// TestEventsAreBounded checks that no event of a stream is read that would take much more memory than it has bytes, in any number of lines.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	read := func(text string) error {
		b := &watchedBody{ReadCloser: io.NopCloser(strings.NewReader(text)), exchange: &exchange{silent: time.NewTimer(time.Hour), idle: time.Hour}, stream: true}
		_, err := io.Copy(io.Discard, io.LimitReader(b, int64(len(text))+1))
		return err
	}
	for name, text := range map[string]string{
		"one line": "data: {\"choices\":[" + strings.Repeat("{},", 300_000) + "{}]}\n\n", "many lines": "data: {\"choices\":[\n" + strings.Repeat("data: {},{},\n", 10_000), "deep": "data: " + strings.Repeat("[", 100) + "\n\n",
	} {
		if _, ok := errors.AsType[*tryError](read(text)); !ok {
			t.Errorf("%s: it is read", name)
		}
	}
	chunk := "data: {\"choices\":[{\"delta\":{\"content\":\"[[[,,,\\\"{\"}}]}\n\n"
	for _, end := range []string{"\n", "\r\n"} {
		if err := read(strings.Repeat(strings.ReplaceAll(chunk, "\n", end), 10_000)); err != nil {
			t.Errorf("a long answer ends with %v", err)
		}
	}
}
