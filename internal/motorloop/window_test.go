// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// narrowModel refuses requests that do not fit, as an endpoint does, and counts tokens.
type narrowModel struct {
	*fakeModel
	window, tells int64
	refused       int
	largest       int64
}

func (m *narrowModel) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	n := chat.Tokens(r)
	if n > m.window {
		m.refused++
		return chat.Answer{}, &chat.TooLong{Window: m.tells, Failure: &outcome.Failure{Category: outcome.ModelFailure, Reason: outcome.ReasonModelWindow, Message: "Too long.", Retryable: true}}
	}
	m.largest = max(m.largest, n)
	a, err := m.fakeModel.Complete(ctx, r)
	a.Usage = turn.Usage{PromptTokens: n, CompletionTokens: 50}
	return a, err
}

// wideResults is a script of n answers, each with as many calls, whose results are of that size each.
func wideResults(t *testing.T, cfg config.Config, n, calls, size int) *world {
	t.Helper()
	var script []chat.Answer
	for i := range n {
		a := says("")
		for c := range calls {
			a.Calls = append(a.Calls, call("read", fmt.Sprintf(`{"path":"f-%d-%d"}`, i, c)))
		}
		script = append(script, a)
	}
	script = append(script, says("all done"))
	cfg.Tools = []string{"bash", "read"}
	return newWorld(t, cfg, func(c toolapi.Call) toolapi.Result {
		return toolapi.Result{OK: true, Output: strings.Repeat("0123456789abcde\n", size/16), Provenance: toolapi.ProvenanceInternal}
	}, script...)
}

// A conversation stays within the window of its model, known beforehand or found out, at any length of the attempt.
func TestConversationsFitTheirWindow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		window, known, tells int64
		turns, calls, size   int
		// refused is how often the endpoint may refuse a request as too long.
		refused int
	}{
		"known, little at a time":           {16000, 16000, 16000, 19, 1, 6000, 0},
		"known, much at a time":             {16000, 16000, 16000, 19, 8, 16 << 10, 0},
		"told by the endpoint":              {16000, 0, 16000, 19, 1, 6000, 1},
		"told by the endpoint, much":        {16000, 0, 16000, 19, 8, 16 << 10, 1},
		"the endpoint says no number":       {16000, 0, 0, 19, 1, 6000, 4},
		"the endpoint says no number, much": {16000, 0, 0, 19, 8, 16 << 10, 12},
		"nothing is known, and it fits":     {128000, 0, 128000, 19, 2, 16 << 10, 0},
		"smaller than it was said to be":    {16000, 64000, 16000, 19, 1, 6000, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := wideResults(t, config.Config{MaxIterations: 20, Window: tt.known}, tt.turns, tt.calls, tt.size)
			m := &narrowModel{fakeModel: w.model, window: tt.window, tells: tt.tells}
			w.loop.Model = m
			out := mustRun(t, w, nil)
			if out.Summary != "all done" {
				t.Fatalf("got %+v, %v", out, out.Failure)
			}
			if m.refused > tt.refused {
				t.Errorf("refused %d times, may be %d times", m.refused, tt.refused)
			}
			t.Logf("largest %d, refused %d, summaries %d", m.largest, m.refused, m.asked[forSummary])
		})
	}
}

// A refusal for the length is a failure only when nothing shorter can be sent.
func TestARequestThatNeverFits(t *testing.T) {
	t.Parallel()
	w := wideResults(t, config.Config{MaxIterations: 20}, 3, 2, 6000)
	m := &narrowModel{fakeModel: w.model, window: 1}
	w.loop.Model = m
	first := mustRun(t, w, nil)
	if first.Failure == nil || first.Failure.Reason != outcome.ReasonModelWindow || m.refused > 2 {
		t.Fatalf("got %+v, refused %d times: what cannot be made shorter is not asked again", first.Failure, m.refused)
	}
	m.window = 1 << 40
	w.fault(t, m)
	out := mustRun(t, w, nil)
	if out.Failure == nil || out.Failure.Reason != outcome.ReasonModelWindow || !out.Failure.Retryable || m.refused < 3 {
		t.Errorf("got %+v, refused %d times", out.Failure, m.refused)
	}
}

// fault lets two answers through, and none after that.
func (w *world) fault(t *testing.T, m *narrowModel) {
	t.Helper()
	w.loop.Model = modelFunc(func(ctx context.Context, r chat.Request) (chat.Answer, error) {
		if answersIn(r.Messages) == 2 {
			m.window = 1
		}
		return m.Complete(ctx, r)
	})
}

type modelFunc func(context.Context, chat.Request) (chat.Answer, error)

func (f modelFunc) Complete(ctx context.Context, r chat.Request) (chat.Answer, error) {
	return f(ctx, r)
}

// An unavailable model decides nothing, and the same loop resumes later.
func TestAnOutageDecidesNothing(t *testing.T) {
	t.Parallel()
	away := &chat.Outage{Reason: outcome.ReasonModelUnavailable, Message: "away", Usage: turn.Usage{PromptTokens: 5}}
	w := newWorld(t, config.Config{}, nil, says("", bash("x")), says("done"))
	times := 0
	w.setFault(func(ctx context.Context, p string) error {
		if p == "model: before" {
			if times++; times == 2 {
				return away
			}
		}
		return ctx.Err()
	})
	_, err := w.run(t.Context(), nil)
	if o, ok := errors.AsType[*chat.Outage](err); !ok || o != away {
		t.Fatalf("got %v", err)
	}
	if out := mustRun(t, w, nil); out.Summary != "done" || len(w.sandbox.executed) != 1 {
		t.Errorf("got %+v after %d calls", out, len(w.sandbox.executed))
	}
}

// The tokens of the run are checked before a call, whatever they were for.
func TestTokensAreCountedBeforeACall(t *testing.T) {
	t.Parallel()
	plain := newWorld(t, config.Config{MaxTokens: 100_000}, nil, says("done"))
	mustRun(t, plain, nil)
	first := chat.Tokens(plain.model.seen[0])
	for name, tt := range map[string]struct {
		cfg   config.Config
		asked int
	}{
		"there are enough":          {config.Config{MaxTokens: 100_000}, 2},
		"other calls used them":     {config.Config{MaxTokens: 100_000, UsedTokens: 100_000}, 0},
		"the request alone is more": {config.Config{MaxTokens: 100_000, UsedTokens: 100_000 - first}, 0},
		"after the first answer":    {config.Config{MaxTokens: 100_000, UsedTokens: 100_000 - first - 5}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tt.cfg, nil, says("", bash("x")), says("done"))
			out := mustRun(t, w, nil)
			if (out.Failure == nil) != (tt.asked == 2) || w.model.asked[forStep] != tt.asked {
				t.Errorf("asked %d times, got %+v", w.model.asked[forStep], out.Failure)
			}
			if out.Failure != nil && (out.Failure.Reason != outcome.ReasonMaxTokens || out.Failure.Retryable) {
				t.Errorf("got %+v", out.Failure)
			}
		})
	}
}

// The endpoint's report of its window makes it smaller and never larger: the MotorCortex may know better.
func TestLearnWindow(t *testing.T) {
	t.Parallel()
	req := chat.Request{Messages: []chat.Message{{Content: strings.Repeat("x", 4000)}}}
	for name, tt := range map[string]struct{ known, told, want int64 }{
		"not known":                  {0, 8000, 8000},
		"smaller":                    {16000, 8000, 8000},
		"larger":                     {16000, 128_000, 16000},
		"no number":                  {0, 0, 900},
		"no number, and known":       {16000, 0, 900},
		"no number, smaller already": {500, 0, 500},
	} {
		r := &run{cfg: config.Config{Window: tt.known}}
		r.learnWindow(&chat.TooLong{Window: tt.told}, req)
		if r.cfg.Window != tt.want {
			t.Errorf("%s: %d, want %d", name, r.cfg.Window, tt.want)
		}
	}
}

// refusing refuses, for its length, the first so many requests for the step after so many answers. Each costs tokens.
func refusing(w *world, after, times int) (sizes *[]int64) {
	sizes = new([]int64)
	next := w.loop.Model
	w.loop.Model = modelFunc(func(ctx context.Context, r chat.Request) (chat.Answer, error) {
		if answersIn(r.Messages) == after && len(*sizes) < times {
			*sizes = append(*sizes, chat.Tokens(r))
			return chat.Answer{}, &chat.TooLong{
				Window: 1 << 40, Usage: turn.Usage{PromptTokens: 7},
				Failure: &outcome.Failure{Category: outcome.ModelFailure, Reason: outcome.ReasonModelWindow, Message: "Too long.", Retryable: true},
			}
		}
		return next.Complete(ctx, r)
	})
	return sizes
}

// A request is made shorter three times before it fails, each time by more, and the cost of the refusals counts.
func TestARequestIsShortenedThreeTimes(t *testing.T) {
	t.Parallel()
	w := wideResults(t, config.Config{MaxIterations: 20}, 2, 8, 16<<10)
	sizes := refusing(w, 2, conversation.MaxLevel)
	if out := mustRun(t, w, nil); out.Summary != "all done" {
		t.Fatalf("got %+v after requests of %v tokens", out.Failure, *sizes)
	}
	if s := *sizes; len(s) != conversation.MaxLevel || s[0] <= s[1] || s[1] <= s[2] {
		t.Errorf("the requests had %v tokens", s)
	}
	var failed turn.Usage
	for _, step := range w.journal.load() {
		failed = failed.Add(step.Failed)
	}
	if failed.Total() != 7*conversation.MaxLevel {
		t.Errorf("the refusals count %d tokens, want %d", failed.Total(), 7*conversation.MaxLevel)
	}
}

// If nothing is old, the newest results are made shorter at once.
func TestTheNewestResultsAreShortened(t *testing.T) {
	t.Parallel()
	w := wideResults(t, config.Config{MaxIterations: 20}, 1, 8, 64<<10)
	sizes := refusing(w, 1, 1)
	if out := mustRun(t, w, nil); out.Summary != "all done" || len(*sizes) != 1 {
		t.Errorf("got %+v after requests of %v tokens", out.Failure, *sizes)
	}
}

// The cost of a refused request for a summary counts as well, and the summary is one of our own.
func TestARefusedSummaryCounts(t *testing.T) {
	t.Parallel()
	w := wideResults(t, config.Config{MaxIterations: 50, Window: 6000}, 40, 1, 400)
	next := w.loop.Model
	w.loop.Model = modelFunc(func(ctx context.Context, r chat.Request) (chat.Answer, error) {
		if kindOfRequest(r) == forSummary {
			return chat.Answer{}, &chat.TooLong{Usage: turn.Usage{PromptTokens: 7}, Failure: &outcome.Failure{Category: outcome.ModelFailure, Reason: outcome.ReasonModelWindow, Message: "Too long."}}
		}
		return next.Complete(ctx, r)
	})
	if out := mustRun(t, w, nil); out.Summary != "all done" {
		t.Fatalf("got %+v", out.Failure)
	}
	turns := w.journal.load()
	used, summaries, tries := verdict.UsedTokens(config.Config{}, turns), int64(0), int64(0)
	for _, step := range turns {
		used -= step.Usage.Total()
		if step.IsSummary() {
			summaries++
			tries += step.Failed.Total() / 7
			if step.Failed.Total() == 0 || !strings.HasPrefix(step.Content, ownMark) && !strings.Contains(step.Content, "\n"+ownMark) {
				t.Errorf("the summary is %+v", step)
			}
		}
	}
	// The conversation is refused, and then the record of it, until it is known that the conversation does not fit.
	if summaries == 0 || tries <= summaries || tries > 2*summaries || used != 7*tries {
		t.Errorf("%d tokens are counted for %d tries of %d summaries", used, tries, summaries)
	}
}

// sentBytes is a request as an endpoint that caches prefixes reads it.
func sentBytes(r chat.Request) string {
	var b strings.Builder
	b.WriteString(text.JSON(r.Tools))
	for _, m := range r.Messages {
		b.WriteString(text.JSON(m))
	}
	return b.String()
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// In a run of 40 turns the endpoint reads no more than a twentieth of the sent text again.
func TestPromptsAreCacheable(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var script []chat.Answer
	for i := range 40 {
		a := says(fmt.Sprintf("Step %d: I look at the next part.", i+1))
		switch i % 4 {
		case 0:
			a.Calls = []turn.Call{call("write", fmt.Sprintf(`{"path":"part-%d.txt","content":%q}`, i, strings.Repeat("line\n", 200)))}
		case 1:
			a.Calls = []turn.Call{read(fmt.Sprintf("part-%d.txt", i)), bash(fmt.Sprintf("grep -n x part-%d.txt", i))}
		default:
			a.Calls = []turn.Call{bash(fmt.Sprintf("python3 -m pytest -k part_%d", i))}
		}
		script = append(script, a)
	}
	w := newWorld(t, config.Config{MaxIterations: 50, Tools: []string{"bash", "read", "write", "edit", "patch", "grep", "glob", "list"}}, func(toolapi.Call) toolapi.Result {
		return toolapi.Result{OK: true, Output: strings.Repeat("0123456789abcde\n", 10+rng.IntN(200)), Provenance: toolapi.ProvenanceInternal}
	}, append(script, says("done"))...)
	mustRun(t, w, nil)
	all, cached, before := 0, 0, ""
	for _, r := range w.model.seen {
		now := sentBytes(r)
		all, cached = all+len(now), cached+commonPrefix(before, now)
		before = now
	}
	share := 100 * float64(cached) / float64(all)
	t.Logf("%.1f %% of %d bytes in %d requests are a prefix of the request before", share, all, len(w.model.seen))
	if share < 95 || len(w.model.seen) != 41 {
		t.Errorf("%.1f %% of the bytes of %d requests are a prefix of the request before", share, len(w.model.seen))
	}
}
