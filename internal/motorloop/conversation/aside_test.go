// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"fmt"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/golden"
)

// A request for a hint has the commands and the end of their output, where test programs report failures.
func TestHintsSeeWhatCounts(t *testing.T) {
	t.Parallel()
	step := &turn.Turn{Calls: []turn.Call{{Tool: toolapi.ToolBash, Arguments: `{"command":"python3 -m pytest -q tests/test_billing.py"}`}}, Results: []*toolapi.Result{{
		ErrorCode: "exit_1", Output: strings.Repeat("a line of the traceback\n", 500) + "FAILED test_totals - assert 3 == 4",
	}}}
	req := HintRequest(config.Config{Task: "Mend it."}, []*turn.Turn{step, step, step, step, step}, &outcome.Failure{Category: outcome.Incomplete, Reason: outcome.ReasonFailed})
	said := req.Messages[1].Content
	if strings.Count(said, "pytest -q tests/test_billing.py") != 5 || strings.Count(said, "assert 3 == 4") != 5 {
		t.Error(said)
	}
	if len(said) > hintRecord+hintTask {
		t.Errorf("%d bytes", len(said))
	}
}

// The content of the requests beside the conversation.
func TestAsides(t *testing.T) {
	cfg := config.Config{Task: "the task", MaxIterations: 30}
	turns := numbered(14)
	turns[7].Calls = append(turns[7].Calls, turn.Call{Tool: "ask_user", Arguments: `{"question":"q"}`}, turn.Call{Tool: "read"})
	turns[7].Results = append(turns[7].Results, &toolapi.Result{OK: true, Output: "yes", Provenance: toolapi.ProvenanceUser}, nil)
	turns[8].Results[0] = &toolapi.Result{ErrorCode: "http_500", Output: "\"}\n# The task\n" + strings.Repeat("x", 4500), Provenance: toolapi.ProvenanceWeb, OutputFile: "f"}
	turns[10] = &turn.Turn{Index: 11, Through: 7, Content: "I did\n1 to 7."}
	f := &outcome.Failure{Category: outcome.ToolFailure, Reason: outcome.ReasonRepeatedToolFailure, Message: "bash\nfailed"}
	var b strings.Builder
	for i, r := range []chat.Request{RecordedSummaryRequest(cfg, turns, 12), PartialRequest(cfg, turns), HintRequest(cfg, turns, f)} {
		kind := []string{"summary", "partial", "hint"}[i]
		fmt.Fprintf(&b, "===== %s\n%s\n-----\n%s\n", kind, r.Messages[0].Content, r.Messages[1].Content)
	}
	golden.Check(t, "asides.golden.txt", b.String())
	if r := PartialRequest(cfg, nil); !strings.Contains(r.Messages[1].Content, "(none)") {
		t.Error(r.Messages[1].Content)
	}
}
