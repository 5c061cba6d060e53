// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// TestAnyInterleaving plays random scripts in worlds that break at any operation, before or after its effect, and
// checks what must hold however a run was interrupted.
func TestAnyInterleaving(t *testing.T) {
	seeds := 200
	if testing.Short() {
		seeds = 100
	}
	kinds := map[string]int{}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			kinds[playRandom(t, rand.New(rand.NewPCG(uint64(seed), 7)))]++
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("ends: %v", kinds)
	for _, want := range []string{string(Completed), ReasonRepeatedToolFailure, ReasonEmptyAnswers, ReasonMaxIterations, ReasonSandboxLost} {
		if kinds[want] == 0 {
			t.Errorf("no run of %d ended with %s: the scripts do not reach it any more", seeds, want)
		}
	}
}

// interruptions breaks operations: at each point, with a chance, until it has done so often enough.
type interruptions struct {
	rng    *rand.Rand
	left   int
	done   int
	cancel context.CancelFunc
}

var errAPI = errors.New("the API server is away")

func (i *interruptions) fault(ctx context.Context, _ string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if i.left == 0 || i.rng.IntN(6) > 0 {
		return nil
	}
	i.left--
	i.done++
	if i.rng.IntN(2) == 0 {
		return errAPI
	}
	i.cancel()
	return ctx.Err()
}

// playRandom runs one script to its end and gives the kind of end, or the reason of the failure.
func playRandom(t *testing.T, rng *rand.Rand) string {
	cfg := Config{Attempt: int32(rng.IntN(3)), MaxIterations: int32(3 + rng.IntN(10))}
	behave := func(c toolapi.Call) toolapi.Result {
		// Decided by the call, so that a script is what its seed says whatever is interrupted.
		if c.Arguments[len(c.Arguments)-3] == '!' {
			return toolapi.Result{ErrorCode: "exit_1", Output: "failed"}
		}
		return toolapi.Result{OK: true, Output: "did " + string(c.Arguments)}
	}
	w := newWorld(t, cfg, behave, randomScript(rng)...)
	faults := &interruptions{rng: rng, left: rng.IntN(12)}
	w.setFault(faults.fault)
	person := &randomPerson{rng: rng, answers: map[string]string{}, said: map[string]string{}}
	if rng.IntN(3) == 0 {
		person.answerEarly(cfg.Attempt)
	}
	if rng.IntN(20) == 0 {
		loseSandbox(w, rng.IntN(6))
	}
	runs, pauses := 0, 0
	for {
		runs++
		if runs > 200 {
			t.Fatal("the run does not end")
		}
		out, err := interruptedRun(t, w, faults, person.answers)
		checkJournal(t, w, person)
		switch {
		case errors.Is(err, errAPI) || errors.Is(err, context.Canceled):
			person.maybeAnswer(w)
			continue
		case err != nil:
			t.Fatal(err)
		case out.Kind == Awaiting:
			pauses++
			person.waitedFor(t, w, out.Waiting)
			continue
		}
		checkEnd(t, w, out, faults, pauses)
		if out.Failure != nil {
			return out.Failure.Reason
		}
		return string(out.Kind)
	}
}

func interruptedRun(t *testing.T, w *world, faults *interruptions, answers map[string]string) (Outcome, error) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	faults.cancel = cancel
	w.sandbox.ready = false
	w.loop.Ready = func(context.Context) error { w.sandbox.ready = true; return nil }
	return w.run(ctx, answers)
}

// randomScript is what the model says, turn by turn; longer than any run.
func randomScript(rng *rand.Rand) []Answer {
	var script []Answer
	mood := rng.IntN(4)
	for range 20 {
		a := says("")
		switch n := rng.IntN(12); {
		case mood == 0 && n < 7:
			a.Calls = []Call{bash("x!")}
		case mood == 1 && n < 6:
			a.Truncated = n%2 == 0
		case mood == 2 && n == 0, mood != 2 && n < 2:
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

func randomCall(rng *rand.Rand) Call {
	switch rng.IntN(8) {
	case 0:
		return question("what?")
	case 1:
		return question("")
	case 2:
		return call("no_such_tool", "{")
	case 3:
		return Call{ModelID: "same", Tool: toolapi.ToolBash, Arguments: `{"command":"dup"}`}
	case 4:
		return bash("bad!")
	default:
		return bash("fine")
	}
}

func loseSandbox(w *world, after int) {
	inner := w.sandbox.fault
	w.sandbox.fault = func(ctx context.Context, point string) error {
		if len(w.sandbox.executed) >= after {
			return &Failure{Category: InfraFailure, Reason: ReasonSandboxLost, Message: "gone"}
		}
		return inner(ctx, point)
	}
}

// randomPerson answers too early, too late, and to questions that were not asked.
type randomPerson struct {
	rng     *rand.Rand
	answers map[string]string // what the loop is given
	said    map[string]string // the first answer to each question, which counts
}

func (p *randomPerson) say(id string) {
	if _, ok := p.answers[id]; !ok {
		p.answers[id] = fmt.Sprintf("answer %d", p.rng.IntN(1000))
		p.said[id] = p.answers[id]
	}
}

func (p *randomPerson) answerEarly(attempt int32) {
	for range 10 {
		p.say(CallID(attempt, int32(1+p.rng.IntN(6)), p.rng.IntN(4)))
	}
}

func (p *randomPerson) maybeAnswer(w *world) {
	for _, turn := range w.journal.load() {
		for i, c := range turn.Calls {
			if turn.Results[i] == nil && c.Tool == toolapi.ToolAskUser && p.rng.IntN(2) == 0 {
				p.say(c.ID)
			}
		}
	}
}

// waitedFor checks that the run waits for a question that is open while nothing else of its turn is, and answers it,
// perhaps only later.
func (p *randomPerson) waitedFor(t *testing.T, w *world, c *Call) {
	turns := w.journal.load()
	last := turns[len(turns)-1]
	found := false
	for i, other := range last.Calls {
		open := last.Results[i] == nil
		found = found || open && other.ID == c.ID
		if open && other.Tool != toolapi.ToolAskUser {
			t.Fatalf("waits for %s while %s has no result", c.ID, other.ID)
		}
	}
	if !found || p.answers[c.ID] != "" {
		t.Fatalf("waits for %+v, which is not open or was answered", c)
	}
	if p.rng.IntN(3) > 0 {
		p.say(c.ID)
	}
}

// checkJournal checks what holds at any time.
func checkJournal(t *testing.T, w *world, p *randomPerson) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range w.sandbox.executed {
		if seen[c.ID] {
			t.Fatalf("call %s ran twice", c.ID)
		}
		seen[c.ID] = true
	}
	turns := w.journal.load()
	for i, turn := range turns {
		if int(turn.Index) != i+1 {
			t.Fatalf("turn %d has index %d", i+1, turn.Index)
		}
		if !turn.Settled() && i < len(turns)-1 {
			t.Fatalf("turn %d was left unsettled", i+1)
		}
		req := Request{Messages: Transcript(w.loop.Config, turns[:i]), Tools: Definitions(w.loop.Config.Tools)}
		if RequestDigest(req) != turn.RequestDigest {
			t.Fatalf("turn %d was asked for with another conversation than the journal gives", i+1)
		}
		for n, c := range turn.Calls {
			delete(seen, c.ID)
			if res := turn.Results[n]; res != nil && res.Provenance == toolapi.ProvenanceUser && res.Output != p.said[c.ID] {
				t.Fatalf("%s was answered %q, not %q", c.ID, p.said[c.ID], res.Output)
			}
		}
	}
	if len(seen) > 0 {
		t.Fatalf("calls without intent: %v", seen)
	}
}

// checkEnd checks what holds when a run is over.
func checkEnd(t *testing.T, w *world, out Outcome, faults *interruptions, pauses int) {
	t.Helper()
	turns := w.journal.load()
	if extra := w.model.calls - len(turns); extra > faults.done {
		t.Fatalf("%d model calls for %d turns and %d interruptions", w.model.calls, len(turns), faults.done)
	}
	if out.Kind == Completed && out.Summary != "done" {
		t.Fatalf("got %+v", out)
	}
	if out.Kind != Completed && out.Kind != Failed || (out.Failure != nil) != (out.Kind == Failed) {
		t.Fatalf("got %+v after %d pauses", out, pauses)
	}
	calls := w.model.calls
	w.setFault(noFault)
	again, err := w.run(t.Context(), nil)
	lost := out.Failure != nil && out.Failure.Reason == ReasonSandboxLost
	if !lost && (err != nil || again.Kind != out.Kind || w.model.calls != calls) {
		t.Fatalf("ended with %+v, then with %+v, %v", out, again, err)
	}
}
