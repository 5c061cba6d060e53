// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

var randomRuns = flag.Int("random-runs", 400, "how many random scripts TestAnyInterleaving plays; script n is always the same")

// TestAnyInterleaving plays random scripts in worlds that fail at any operation, before or after its effect. They lose the
// end of tool calls, and hand the run to other loops while the one before continues. It checks the invariants of every
// interrupted run.
func TestAnyInterleaving(t *testing.T) {
	seen := map[string]int{}
	for seed := range *randomRuns {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newPlay(t, rand.New(rand.NewPCG(uint64(seed), 7)), seen).toTheEnd() })
		if t.Failed() {
			return
		}
	}
	t.Logf("seen: %v", seen)
	for _, want := range []string{
		string(outcome.Completed), outcome.ReasonRepeatedToolFailure, outcome.ReasonStuck, outcome.ReasonEmptyAnswers, outcome.ReasonMaxIterations, outcome.ReasonSandboxLost,
		"error", "cancel", "takeover", "stale", "given back", "summary", "partial again", "hint again",
		"unknown Redo", "unknown Person", "unknown Model", "answer retry", "answer done", "answer skip", toolapi.CodeRepeatedCall,
		"request allowed", "request open", "request " + toolapi.CodeDomainDenied, "request " + toolapi.CodeDomainNotAllowed,
		"request " + toolapi.CodeInvalidArguments, "request " + toolapi.CodeToolNotGranted, "request " + toolapi.CodeRepeatedCall, "waits for a domain",
		"saved", "saved again", "waits for approval", "made with approval", "approval Approved", "approval Denied", "approval Expired",
		toolapi.CodeCommandNotAllowed, "done before", "perhaps done before", "request_approval ok", "not approved again",
	} {
		if seen[want] == 0 {
			t.Errorf("no run of %d has seen %q: the scripts do not reach it any more", *randomRuns, want)
		}
	}
}

var errAPI = errors.New("the API server is away")

// play is one random script with its random faults.
type play struct {
	t    *testing.T
	rng  *rand.Rand
	seen map[string]int
	w    *world
	// breaks is the number of remaining faults, takeovers the remaining number of times that another loop takes the
	// run while the one before continues; interruptions counts the past ones of both.
	breaks, takeovers, interruptions int
	epoch                            int64
	person                           *randomPerson
	approvals                        *randomApprovals
	domains                          *fakeDomains
	saved                            map[string]int
	// ended is the first verdict; no later one may differ.
	ended *outcome.Outcome
	runs  int
	// checked is how many turns were checked to answer the request that follows from those before.
	checked int
}

func newPlay(t *testing.T, rng *rand.Rand, seen map[string]int) *play {
	cfg := config.Config{Attempt: int32(1 + rng.IntN(3)), MaxIterations: int32(3 + rng.IntN(10))}
	more := ""
	if rng.IntN(3) == 0 {
		// There is so much text that it is summarized.
		cfg.MaxIterations, cfg.Window = int32(21+rng.IntN(15)), 6000
		more = strings.Repeat(" and more", 70)
	}
	if rng.IntN(3) == 0 {
		cfg.OnUnknown = turn.UnknownModel
	}
	cfg.Tools = []string{toolapi.ToolBash, toolapi.ToolRead, toolapi.ToolSaveCredential, toolapi.ToolRequestApproval}
	cfg.RequestDomain = rng.IntN(4) > 0
	p := &play{
		t: t, rng: rng, seen: seen, breaks: rng.IntN(12), takeovers: rng.IntN(4),
		domains: &fakeDomains{allowed: map[string]bool{}}, saved: map[string]int{},
	}
	p.approvals = newRandomApprovals(p)
	lossy := rng.IntN(2) * 5
	p.w = newWorld(t, cfg, func(c toolapi.Call) toolapi.Result {
		p.approvals.made(c)
		if lossy > 0 && rng.IntN(lossy) == 0 {
			return toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown, Output: "unknown"}
		}
		if strings.Contains(string(c.Arguments), "!") {
			return toolapi.Result{ErrorCode: "exit_1", Output: "failed"}
		}
		return toolapi.Result{OK: true, Output: "did " + string(c.Arguments) + more}
	}, randomScript(rng)...)
	p.w.model.aside = func(kind string) chat.Answer {
		return []chat.Answer{says("the " + kind), says("the " + kind), says(""), says("", bash("oops"))}[rng.IntN(4)]
	}
	p.person = &randomPerson{play: p, answers: map[string]string{}, said: map[string]string{}}
	if rng.IntN(3) == 0 {
		p.person.answerEarly(cfg.Attempt)
		p.approvals.decideEarly(cfg.Attempt)
	}
	return p
}

// randomScript returns the model's answers, turn by turn; longer than any run.
func randomScript(rng *rand.Rand) []chat.Answer {
	var script []chat.Answer
	mood := rng.IntN(5)
	for range 40 {
		a := says("")
		switch n := rng.IntN(12); {
		case mood == 0 && n < 7:
			a.Calls = []turn.Call{bash("x!")}
		case mood == 1 && n < 6:
			a.Truncated = n%2 == 0
		case mood == 3 && n < 5:
			a.Calls = []turn.Call{bash("gated")}
		case mood == 4 && n < 9:
			a.Calls = []turn.Call{wants("c.org")}
		case mood == 2 && rng.IntN(40) == 0, mood != 2 && n < 2:
			a.Content = "done"
		default:
			for range 1 + rng.IntN(4) {
				a.Calls = append(a.Calls, randomCall(rng))
			}
		}
		script = append(script, a)
	}
	return script
}

func randomCall(rng *rand.Rand) turn.Call {
	switch rng.IntN(20) {
	case 0:
		return question("what?")
	case 1:
		return question("")
	case 2:
		return call("no_such_tool", "{")
	case 3:
		return turn.Call{ModelID: "same", Tool: toolapi.ToolBash, Arguments: `{"command":"dup"}`}
	case 4:
		return bash("bad!")
	case 10, 11:
		return wants([]string{"", "open", "never", "a.org", "a.org", "b.org"}[rng.IntN(6)])
	case 12:
		return saves([]string{"one", "two", "refused"}[rng.IntN(3)])
	case 14:
		return bash([]string{"gated", "gated!", "gated", "forbidden", "forbidden gated"}[rng.IntN(5)])
	case 15:
		return bash(fmt.Sprint("gated", rng.IntN(2)))
	case 16:
		return bash([]string{"once", "gated once"}[rng.IntN(2)])
	case 17:
		return read("gated file")
	case 18:
		return saves("gated")
	case 19:
		return request([]string{"push", "push", ""}[rng.IntN(3)])
	case 5, 6:
		return read(fmt.Sprint("file", rng.IntN(3)))
	default:
		return bash(fmt.Sprint("fine", rng.IntN(3)))
	}
}

// claim makes a loop that carries the run on under the next epoch.
func (p *play) claim() *world {
	p.epoch++
	w := *p.w
	w.sandbox = &fakeSandbox{epoch: p.epoch, mu: &sync.Mutex{}, sandboxState: p.w.sandbox.sandboxState}
	w.journal = &fakeJournal{epoch: p.epoch, mu: w.sandbox.mu, store: p.w.journal.store, late: p.rng.IntN(2) == 0}
	w.person = &fakePerson{}
	p.approvals.tell(w.person)
	w.loop = &Loop{
		Config: p.w.loop.Config, Model: patientModel{w.model, w.journal}, Tools: w.sandbox, Journal: w.journal, HintModel: w.model, Domains: p.domains,
		Person:      w.person,
		Policy:      &fakePolicy{journal: w.journal, fakePerson: w.person},
		Credentials: &fakeStore{fault: noFault, saved: p.saved, ready: func() bool { return w.sandbox.ready }},
		Ready:       func(context.Context) error { w.sandbox.ready = true; return nil },
		GivesBack:   func(_ int, began bool) bool { return p.rng.IntN(10) == 0 && !began },
	}
	return &w
}

func (p *play) toTheEnd() {
	lostAfter := -1
	if p.rng.IntN(20) == 0 {
		lostAfter = p.rng.IntN(6)
	}
	for p.ended == nil {
		p.runOnce(p.t.Context(), p.claim(), lostAfter)
	}
	p.checkEnd()
}

// runOnce carries the run on until it ends, waits, or fails, and checks the state after it.
func (p *play) runOnce(ctx context.Context, w *world, lostAfter int) {
	if p.runs++; p.runs > 300 {
		p.t.Fatal("the run does not end")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	broken := func(ctx context.Context, point string) error {
		if lostAfter >= 0 && len(w.sandbox.executed) >= lostAfter && strings.HasPrefix(point, "tool") {
			return &outcome.Failure{Category: outcome.InfraFailure, Reason: outcome.ReasonSandboxLost, Message: "gone"}
		}
		return p.interrupt(ctx, cancel, lostAfter)
	}
	w.journal.fault, w.sandbox.fault, w.loop.Credentials.(*fakeStore).fault = broken, broken, broken
	before := p.w.model.fault
	w.model.fault = broken
	out, err := w.run(ctx, p.person.soFar())
	w.model.fault = before
	p.checkJournal()
	stale := w.journal.epoch < p.epoch
	switch {
	case errors.Is(err, ErrStale) || errors.Is(err, errMovedOn):
		p.seen["stale"]++
		if !stale {
			p.t.Fatalf("the newest loop is told: %v", err)
		}
	case errors.Is(err, ErrGivenBack):
		p.seen["given back"]++
	case errors.Is(err, errAPI) || errors.Is(err, context.Canceled):
		p.person.maybeAnswer()
		p.approvals.maybeDecide()
	case err != nil:
		p.t.Fatal(err)
	case out.Kind != outcome.Awaiting:
		p.conclude(out)
	case stale:
	case out.Waiting.Kind == turn.AskApproval:
		p.approvals.waitedFor(out.Waiting)
	default:
		p.person.waitedFor(out.Waiting)
	}
}

// interrupt decides at each operation whether it fails. Before it continues, other loops may have had the run.
func (p *play) interrupt(ctx context.Context, cancel context.CancelFunc, lostAfter int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.takeovers > 0 && p.rng.IntN(15) == 0 {
		p.takeovers--
		p.interruptions++
		p.seen["takeover"]++
		for n := 1 + p.rng.IntN(3); n > 0 && p.ended == nil; n-- {
			p.runOnce(ctx, p.claim(), lostAfter)
		}
	}
	if p.breaks == 0 || p.rng.IntN(8) > 0 {
		return nil
	}
	p.breaks--
	p.interruptions++
	if p.rng.IntN(2) == 0 {
		p.seen["error"]++
		return errAPI
	}
	p.seen["cancel"]++
	cancel()
	return ctx.Err()
}

// conclude records the verdict, which must be the same from every loop that reaches one.
func (p *play) conclude(out outcome.Outcome) {
	if (out.Failure != nil) != (out.Kind == outcome.Failed) || out.Kind != outcome.Completed && out.Kind != outcome.Failed {
		p.t.Fatalf("got %+v", out)
	}
	if p.ended == nil {
		p.ended = &out
	}
	if lost(out) || lost(*p.ended) {
		return
	}
	if out.Kind != p.ended.Kind || out.Summary != p.ended.Summary || out.Failure != nil && *out.Failure != *p.ended.Failure {
		p.t.Fatalf("ended with %+v, %v, then with %+v, %v", *p.ended, p.ended.Failure, out, out.Failure)
	}
}

// lost reports whether the attempt ended for a reason that is not in the journal.
func lost(out outcome.Outcome) bool {
	return out.Failure != nil && out.Failure.Reason == outcome.ReasonSandboxLost
}
