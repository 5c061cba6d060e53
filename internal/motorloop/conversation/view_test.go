// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/chatlog"
)

// promptBytes is a request as an endpoint that caches prefixes reads it.
func promptBytes(r chat.Request) string {
	var b strings.Builder
	b.WriteString(text.JSON(r.Tools))
	for _, m := range r.Messages {
		b.WriteString(text.JSON(m))
	}
	return b.String()
}

// randomTurn is a turn of any form, with results that are sometimes large.
func randomTurn(rng *rand.Rand, index int32) *turn.Turn {
	t := &turn.Turn{Index: index, Content: strings.Repeat("I think. ", rng.IntN(20))}
	if rng.IntN(15) == 0 {
		t.Content = ""
		return t
	}
	for n := range 1 + rng.IntN(4) {
		c := turn.Call{ModelID: fmt.Sprintf("m%d-%d", index, n), Tool: []string{"bash", "read", "write", "ask_user"}[rng.IntN(4)], Arguments: fmt.Sprintf(`{"path":"f%d"}`, rng.IntN(3))}
		if rng.IntN(4) == 0 {
			c.Arguments = fmt.Sprintf(`{"path":"p","content":%q}`, strings.Repeat("text ", rng.IntN(600)))
		}
		res := &toolapi.Result{OK: rng.IntN(3) > 0, Output: strings.Repeat("a line\n", rng.IntN(1<<rng.IntN(11))), Provenance: toolapi.ProvenanceInternal}
		switch {
		case c.Tool == "ask_user":
			res.OK, res.Provenance, res.Output = true, toolapi.ProvenanceUser, strings.Repeat("an answer\n", 1+rng.IntN(20))
		case rng.IntN(4) == 0:
			res.Provenance = toolapi.ProvenanceWeb
		case rng.IntN(2) == 0:
			res.KeptFile = ".motor/output/x"
		}
		if !res.OK {
			res.ErrorCode = "exit_1"
		}
		t.Calls, t.Results = append(t.Calls, c), append(t.Results, res)
	}
	return t
}

// Each request begins with the whole previous request, except for the few steps that shorten, each of which frees a tenth of the window. The
// same turns yield the same messages, and a person's words are always whole.
func TestConversationsOnlyGrow(t *testing.T) {
	t.Parallel()
	const turnsOfRun = 50
	steps, cuts, sums := 0, 0, 0
	for seed := range 8 {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		cfg := config.Config{Task: "the task", Tools: []string{"bash", "read", "write"}, Window: []int64{8000, 16_000, 32_000}[rng.IntN(3)], MaxIterations: 50}
		var turns []*turn.Turn
		before := chat.Request{}
		var sent, shortened int64
		for i := range int32(turnsOfRun) {
			req := chat.Request{Messages: Transcript(cfg, turns), Tools: cfg.Definitions(catalog.Builtin())}
			chatlog.Check(t, req.Messages)
			if again := (chat.Request{Messages: Transcript(cfg, turns), Tools: req.Tools}); chat.RequestDigest(again) != chat.RequestDigest(req) {
				t.Fatalf("seed %d: the same turns give other messages", seed)
			}
			checkPerson(t, turns, req)
			a, b := promptBytes(before), promptBytes(req)
			if steps++; !strings.HasPrefix(b, a) && i > 0 {
				shortened++
				if n := len(turns); turns[n-1].IsSummary() {
					sums++
				} else {
					cuts++
				}
			}
			before = req
			through := viewOf(cfg, turns).due
			if through > 0 {
				whole := wholeSummaryRequest(cfg, turns, 0)
				if a, b := promptBytes(req), promptBytes(whole); !strings.HasPrefix(b, a) && req.Messages[len(req.Messages)-1].Role != chat.RoleUser {
					t.Fatalf("seed %d: the summary is asked for with another conversation", seed)
				}
				turns = append(turns, &turn.Turn{Index: i + 1, Through: through, Content: strings.Repeat("summary ", 100)})
				continue
			}
			step := randomTurn(rng, i+1)
			step.Usage = turn.Usage{PromptTokens: chat.Tokens(req), CompletionTokens: 50}
			sent += chat.Size(turnOf(cfg, step)) / chat.BytesPerToken
			turns = append(turns, step)
		}
		if most := 1 + sent*100/(cfg.AnyWindow()*worthAt); shortened > most {
			t.Errorf("seed %d: %d requests were made shorter, for %d tokens in a window of %d", seed, shortened, sent, cfg.AnyWindow())
		}
	}
	t.Logf("%d requests, %d times cut, %d summaries", steps, cuts, sums)
	if cuts == 0 || sums == 0 {
		t.Errorf("%d times cut, %d summaries: the turns do not reach it", cuts, sums)
	}
}

// turnOf is a turn as it is sent at first.
func turnOf(cfg config.Config, t *turn.Turn) []chat.Message {
	return viewOf(cfg, []*turn.Turn{t}).turnMessages(t)
}

func checkPerson(t *testing.T, turns []*turn.Turn, req chat.Request) {
	t.Helper()
	all := strings.ReplaceAll(promptBytes(req), `\\n`, `\n`)
	for _, step := range turns {
		for _, res := range step.Results {
			if res.Provenance == toolapi.ProvenanceUser && !strings.Contains(all, strings.Trim(text.JSON(strings.TrimSpace(res.Output)), `"`)) {
				t.Fatalf("what the person said in turn %d is not whole", step.Index)
			}
		}
	}
}

// sized is a turn with one result of so many tokens, after which the endpoint had counted so many.
func sized(index int32, tokens int, change func(*turn.Turn)) *turn.Turn {
	step := &turn.Turn{
		Index: index, Calls: []turn.Call{{ModelID: fmt.Sprint("id", index), Tool: "bash", Arguments: fmt.Sprintf(`{"command":"do %d"}`, index)}},
		Results: []*toolapi.Result{{OK: true, Output: strings.Repeat("abc\n", tokens), Provenance: toolapi.ProvenanceInternal}},
	}
	if change != nil {
		change(step)
	}
	return step
}

// The texts that are shortened, and when. The window has 10000 tokens, of which the prompt takes a part.
func TestMakeRoom(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Task: "the task", Window: 10_000}
	fixed := int(viewOf(cfg, nil).fixed / chat.BytesPerToken)
	person := func(t *turn.Turn) { t.Calls[0].Tool, t.Results[0].Provenance = "ask_user", toolapi.ProvenanceUser }
	for name, tt := range map[string]struct {
		turns []*turn.Turn
		cut   []int32 // the turns with a cut result
		due   int32
	}{
		"below 60 %":                 {[]*turn.Turn{sized(1, 2500, nil), sized(2, 5900-fixed-2500-40, nil)}, nil, 0},
		"above, the largest is cut":  {[]*turn.Turn{sized(1, 500, nil), sized(2, 3000, nil), sized(3, 500, nil), sized(4, 6100-fixed-4000, nil)}, []int32{2}, 0},
		"as many as are needed":      {[]*turn.Turn{sized(1, 1500, nil), sized(2, 1600, nil), sized(3, 300, nil), sized(4, 6100-fixed-3400, nil)}, []int32{1, 2}, 0},
		"the newest is never cut":    {[]*turn.Turn{sized(1, 200, nil), sized(2, 6000, nil)}, nil, 0},
		"what a person said neither": {[]*turn.Turn{sized(1, 3000, person), sized(2, 6100-fixed-3000, nil)}, nil, 1},
		"small ones need a summary":  {slicesOf(40, func(i int32) *turn.Turn { return sized(i, 150, nil) }), nil, 34},
	} {
		v := viewOf(cfg, tt.turns)
		var got []int32
		for _, step := range tt.turns {
			if v.cut[part{step.Index, 0, ofResult}] > 0 {
				got = append(got, step.Index)
			}
		}
		if d := cmp.Diff(tt.cut, got); d != "" || v.due != tt.due {
			t.Errorf("%s: due %d, want %d; %s", name, v.due, tt.due, d)
		}
	}
}

func slicesOf(n int32, of func(int32) *turn.Turn) []*turn.Turn {
	var turns []*turn.Turn
	for i := range n {
		turns = append(turns, of(i+1))
	}
	return turns
}

// The endpoint's count decides, unless it cannot be of this conversation.
func TestTheEndpointCounts(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Task: "the task", Window: 10_000}
	v := viewOf(cfg, nil)
	about := v.fixed / chat.BytesPerToken
	for counted, want := range map[int64]int64{0: about, 10: about, about * 3 / 2: about * 3 / 2, about * 5: about} {
		step := sized(1, 100, nil)
		step.Usage.PromptTokens = counted
		v.sizes[1] = 400
		if got := v.tokens(step, v.fixed); got != want+100 {
			t.Errorf("counted %d: %d tokens, want %d", counted, got, want+100)
		}
	}
}
