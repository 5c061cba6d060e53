// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// Texts, calls and definitions of tools count; roles and ids do not.
func TestEstimated(t *testing.T) {
	t.Parallel()
	calls := []turn.Call{{ID: "a1-s1-c0", ModelID: "m", Tool: "bash", Arguments: strings.Repeat("a", 36)}}
	req := Request{
		Messages: []Message{{Role: RoleUser, Content: strings.Repeat("x", 100)}, {Role: RoleAssistant, Calls: calls}},
		Tools:    []catalog.ToolDefinition{{Name: "bash", Description: strings.Repeat("d", 6), Parameters: json.RawMessage("{}        ")}},
	}
	got := Estimated(req, Answer{Content: strings.Repeat("y", 40), Calls: calls})
	if want := (turn.Usage{PromptTokens: 40, CompletionTokens: 20, Estimated: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
