// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// windowTokens is the window that every request of a long attempt has to fit into.
const windowTokens = 16 << 10

// Marks of a summary that is the loop's own, or incomplete.
const (
	ownMark = "The answers in short, one JSON object each:"
	cutMark = "\n[cut: the summary was too long]"
)

// tokensIn counts a request as bytes/4 of its JSON: messages, calls, and definitions of tools with their schemas. The count
// exceeds that of the sent request, because the names of our fields are longer than those of the wire.
func tokensIn(r chat.Request) int { return len(text.JSON(r)) / 4 }

// An attempt of 50 iterations with results of 2 to 4 KB, texts and long arguments stays in the window in every request.
func TestLongAttemptFitsTheWindow(t *testing.T) {
	const iterations = 50
	var script []chat.Answer
	for i := range iterations - 1 {
		a := says(fmt.Sprintf("Step %d: %s", i+1, strings.Repeat("I look at the next part. ", 8)))
		switch i % 3 {
		case 0:
			a.Calls = []turn.Call{call("write", fmt.Sprintf(`{"path":"part-%d.txt","content":%q}`, i, strings.Repeat("line\n", 600)))}
		default:
			a.Calls = []turn.Call{bash(fmt.Sprintf("cat part-%d.txt", i))}
		}
		script = append(script, a)
	}
	script = append(script, says("all done"))
	sizes := 0
	behave := func(toolapi.Call) toolapi.Result {
		sizes++
		return toolapi.Result{OK: true, Output: strings.Repeat("0123456789abcde\n", 128+sizes%128), Provenance: toolapi.ProvenanceInternal}
	}
	w := newWorld(t, config.Config{MaxIterations: iterations, Window: windowTokens, Tools: []string{"bash", "code", "read", "write", "list"}}, behave, script...)
	w.loop.Config.Task = strings.Repeat("Do this and that. ", 120)
	w.model.aside = func(string) chat.Answer { return says(strings.Repeat("Part 7 holds 128 lines. ", 500)) }
	if out := mustRun(t, w, nil); out.Summary != "all done" {
		t.Fatalf("got %+v", out)
	}
	largest := 0
	for i, r := range w.model.seen {
		n := tokensIn(r)
		if largest = max(largest, n); n >= windowTokens {
			t.Errorf("request %d takes %d tokens", i+1, n)
		}
		if kindOfRequest(r) == forStep && (!strings.HasPrefix(r.Messages[0].Content, "You carry out one task") || r.Messages[1].Content != w.loop.Config.Task) {
			t.Errorf("request %d: prompt or task are not whole", i+1)
		}
	}
	t.Logf("the largest of %d requests takes %d tokens", len(w.model.seen), largest)
	var through []int32
	for _, step := range w.journal.load() {
		if step.IsSummary() {
			through = append(through, step.Through)
		}
	}
	if n := len(through); n == 0 || n > 4 || w.model.asked[forSummary] != n || w.model.asked[forStep] != iterations {
		t.Errorf("summed up through %v, asked %v", through, w.model.asked)
	}
}

// For any answer of a model to the request for a summary, the run continues with a summary, after one call.
func TestSummaries(t *testing.T) {
	tooLong := strings.Repeat("summary ", 4000)
	truncated := says("half a sum")
	truncated.Truncated = true
	cases := map[string]struct {
		answer chat.Answer
		want   string // the beginning of the recorded summary
	}{
		"text":        {says(" What was done. \n"), "What was done."},
		"empty":       {says(" \n"), ownMark},
		"calls":       {says("I look.", bash("ls")), ownMark},
		"too long":    {says(tooLong), "summary summary"},
		"cut off":     {truncated, "half a sum" + cutMark},
		"bad UTF-8":   {says("a\xffb"), "a\uFFFDb"},
		"like a page": {says(turn.TruncatedMark), strings.TrimSpace(turn.TruncatedMark)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var script []chat.Answer
			for i := range 21 {
				script = append(script, says("", bash(fmt.Sprintf("do %d", i))))
			}
			w := newWorld(t, config.Config{MaxIterations: 30, Window: 6000}, func(c toolapi.Call) toolapi.Result {
				return toolapi.Result{OK: true, Output: "output of " + c.ID + strings.Repeat(" and more of it", 30), Provenance: toolapi.ProvenanceInternal}
			}, append(script, says("done"))...)
			w.model.aside = func(string) chat.Answer { return tc.answer }
			if out := mustRun(t, w, nil); out.Kind != outcome.Completed {
				t.Fatalf("got %+v", out)
			}
			turns := w.journal.load()
			sums := slices.DeleteFunc(slices.Clone(turns), func(t *turn.Turn) bool { return !t.IsSummary() })
			if len(sums) == 0 {
				t.Fatal("nothing was summed up")
			}
			for _, s := range sums {
				if len(s.Content) > 2<<10 || !s.Settled() || s.Usage.PromptTokens != 10 || len(s.Calls) > 0 {
					t.Errorf("%d bytes: %+v", len(s.Content), s)
				}
				if s.RequestDigest != chat.RequestDigest(conversation.SummaryRequest(w.loop.Config, turns[:s.Index-1], s.Through)) {
					t.Errorf("summary %d: another request", s.Index)
				}
			}
			if !strings.HasPrefix(sums[0].Content, tc.want) || w.model.asked[forSummary] != len(sums) {
				t.Errorf("%s, asked %v", sums[0].Content, w.model.asked)
			}
		})
	}
}
