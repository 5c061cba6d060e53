// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"encoding/json"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/golden"
)

func TestTranscript(t *testing.T) {
	cfg := config.Config{Task: "the task", Tools: []string{"bash"}, MaxIterations: 3}
	turns := []*turn.Turn{{
		Content: "looking",
		Calls: []turn.Call{
			{ID: "a1-s1-c0", ModelID: "x", Tool: "bash", Arguments: `{"command":"ls"}`},
			{ID: "a1-s1-c1", ModelID: "y", Tool: "bash", Arguments: `{"command":`},
			{ID: "a1-s1-c2", ModelID: "z", Tool: "bash"},
		},
		Results: []*toolapi.Result{{OK: true, Output: "a.txt"}, {ErrorCode: "invalid_arguments", Output: "no"}, nil},
	}, settled("")}
	b, err := json.MarshalIndent(Transcript(cfg, turns)[1:], "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "transcript.golden.json", string(b)+"\n")
}
