// SPDX-License-Identifier: Apache-2.0

// Package chatlog checks conversations as a strict model endpoint does.
package chatlog

import (
	"encoding/json"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
)

// Check fails if an endpoint would refuse the messages: every call has its tool message, at once, in
// order, under an id of its own, and user and assistant take turns.
func Check(t *testing.T, msgs []chat.Message) {
	t.Helper()
	if len(msgs) < 2 || msgs[0].Role != chat.RoleSystem || msgs[1].Role != chat.RoleUser {
		t.Fatalf("the conversation begins with %v", msgs)
	}
	ids := map[string]bool{}
	for i := 2; i < len(msgs); {
		m := msgs[i]
		i++
		if m.Role == chat.RoleTool {
			t.Fatalf("message %d: a result without a call: %+v", i-1, m)
		}
		if m.Role == msgs[i-2].Role {
			t.Fatalf("messages %d and %d are both of the %s", i-2, i-1, m.Role)
		}
		if m.Content == "" && len(m.Calls) == 0 {
			t.Fatalf("message %d is empty", i-1)
		}
		for _, c := range m.Calls {
			var args map[string]any
			if ids[c.ModelID] || c.ModelID == "" || c.Tool == "" || json.Unmarshal([]byte(c.Arguments), &args) != nil {
				t.Fatalf("call %+v: no id, an id used twice, no tool or no JSON object", c)
			}
			ids[c.ModelID] = true
			if i >= len(msgs) || msgs[i].Role != chat.RoleTool || msgs[i].ToolCallID != c.ModelID || msgs[i].Content == "" {
				t.Fatalf("call %+v has no result after it", c)
			}
			i++
		}
	}
}
