// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/worst"
)

// hostileAnswers are what an endpoint could answer to have its reader use up the manager.
func hostileAnswers() []string {
	fill := func(before, unit string) string {
		return before + strings.Repeat(unit, (maxResponseBytes-len(before))/len(unit))
	}
	return []string{
		fill(`{"choices":[`, `{},`) + "{}]}", fill(`{"choices":[{"message":{"tool_calls":[`, `{},`), fill(`{"choices":`, `[`), fill(`{"choices":[{"message":{"content":`, `{"a":`),
		fill(`{`, `"a":1,`), fill(`{"choices":[{"message":{"content":"`, `\u0000`), fill(`{"error":`, `{"error":`), fill(`{"error":{"code":`, `[`), fill(`{"usage":{`, `"prompt_tokens":1,`),
	}
}

// TestWorst has an answer take no more than the manager has for each of its loops.
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
