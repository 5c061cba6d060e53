// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A conversation that follows the turns is the one that is made of all of them at once: in windows of any size, with summaries and checks, when the
// configuration changes, and when the turns are those of another attempt.
func TestAConversationFollows(t *testing.T) {
	t.Parallel()
	cut, summed, checked := 0, 0, 0
	c := &Conversation{}
	for seed := range 6 {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		cfg := config.Config{Task: "the task", Tools: []string{"bash", "read", "write"}, Window: []int64{8000, 16_000, 1 << 40}[seed%3], MaxIterations: 60}
		cfg.Accept.Commands = []config.AcceptCommand{{Command: "test -e file"}}
		var turns []*turn.Turn
		check := func() int32 {
			t.Helper()
			v := viewOf(cfg, turns)
			cut += min(len(v.cut), 1)
			if d := cmp.Diff(v.messages(), c.At(cfg, turns, 0)); d != "" {
				t.Fatalf("seed %d, turn %d (-at once +followed):\n%s", seed, len(turns), d)
			}
			if due := c.SummaryDue(cfg, turns); due != v.due {
				t.Fatalf("seed %d, turn %d: a summary is due through %d, want %d", seed, len(turns), due, v.due)
			}
			for level := 1; level <= MaxLevel; level++ {
				if d := cmp.Diff(At(cfg, turns, level), c.At(cfg, turns, level)); d != "" {
					t.Fatalf("seed %d, turn %d, level %d:\n%s", seed, len(turns), level, d)
				}
			}
			return v.due
		}
		for i := range int32(40) {
			index := i + 1
			switch due := check(); {
			case due > 0:
				turns = append(turns, &turn.Turn{Index: index, Through: due, Content: "the summary"})
				summed++
			case i%10 == 7:
				turns = append(turns, &turn.Turn{
					Index: index, Calls: []turn.Call{{ID: "f", ModelID: "f", Tool: toolapi.ToolFinish, Arguments: `{"status":"Succeeded","summary":"s"}`}},
					Results: []*toolapi.Result{{OK: true, Provenance: toolapi.ProvenanceInternal}},
				})
			case i%10 == 8 && turns[len(turns)-1].Calls != nil && turns[len(turns)-1].Calls[0].Tool == toolapi.ToolFinish:
				turns = append(turns, &turn.Turn{
					Index: index, Checks: true, Calls: []turn.Call{{ID: "c", ModelID: "c", Tool: toolapi.ToolBash, Arguments: `{"command":"test -e file"}`}},
					Results: []*toolapi.Result{{ErrorCode: "exit_1", Output: "no", Provenance: toolapi.ProvenanceInternal}},
				})
				checked++
			default:
				turns = append(turns, randomTurn(rng, index))
			}
			if i == 20 {
				cfg.Window /= 2
			}
		}
		check()
	}
	if cut == 0 || summed == 0 || checked == 0 {
		t.Errorf("cut in %d conversations, %d summaries, %d checks: the turns do not reach it", cut, summed, checked)
	}
}
