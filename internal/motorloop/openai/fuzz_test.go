// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"testing"
	"unicode/utf8"
)

// FuzzParseAnswer has no answer and no error of an endpoint panic, and what is said of it be short.
func FuzzParseAnswer(f *testing.F) {
	for _, body := range hostileAnswers() {
		f.Add([]byte(body[:min(len(body), 4<<10)]))
	}
	f.Add([]byte(`{"choices":[{"message":{"content":"x","tool_calls":[{"id":"1","function":{"name":"bash","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`))
	f.Add([]byte(`{"error":{"message":"no","code":1}}`))
	f.Add([]byte(`{"error":"no"}`))
	c, err := New(Endpoint{Model: "m", APIKey: "sk-secret-0000"}, Options{})
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
