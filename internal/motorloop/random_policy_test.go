// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"maps"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// randomApprovals are the decisions about calls: too early, too late, about something else, and none in time.
type randomApprovals struct {
	*play
	// said and over are by execution. A decision never changes, and neither does the end of its time.
	said map[string]string
	over map[string]bool
	// outcomes are those in the journal, of which none may change.
	outcomes map[string]turn.AskOutcome
}

func newRandomApprovals(p *play) *randomApprovals {
	return &randomApprovals{play: p, said: map[string]string{}, over: map[string]bool{}, outcomes: map[string]turn.AskOutcome{}}
}

// tell gives the person the decisions so far: later decisions do not reach the loop.
func (a *randomApprovals) tell(p *fakePerson) {
	p.said, p.over = maps.Clone(a.said), maps.Clone(a.over)
}

func (a *randomApprovals) decide(execution string) {
	if a.said[execution] == "" {
		a.said[execution] = []string{"Approve", "Approve", "Deny", "another digest"}[a.rng.IntN(4)]
	}
	if a.rng.IntN(4) == 0 || a.said[execution] == "another digest" {
		a.over[execution] = true
	}
}

func (a *randomApprovals) decideEarly(attempt int32) {
	for range 6 {
		a.decide(turn.ExecutionID(turn.CallID(attempt, int32(1+a.rng.IntN(6)), a.rng.IntN(4)), a.rng.IntN(2)))
	}
}

func (a *randomApprovals) maybeDecide() {
	for _, step := range a.w.journal.load() {
		for _, r := range step.Asks {
			if r.Kind == turn.AskApproval && r.Outcome == "" && a.rng.IntN(2) == 0 {
				a.decide(r.Execution)
			}
		}
	}
}

// waitedFor checks that the run waits for the first open call, and that the journal has it; and decides, perhaps
// only later.
func (a *randomApprovals) waitedFor(open *turn.Ask) {
	turns := a.w.journal.load()
	last := turns[len(turns)-1]
	for i, other := range last.Calls {
		if last.Results[i] == nil && other.Tool != toolapi.ToolAskUser && other.Tool != toolapi.ToolRequestDomain && other.ID != open.CallID {
			a.t.Fatalf("%s is to be approved while %s before it is open", open.Execution, other.ID)
		}
		if other.ID == open.CallID {
			break
		}
	}
	if r, ok := last.Ask(turn.AskApproval, open.Execution); !ok || r.Outcome != "" || r.CallID != open.CallID {
		a.t.Fatalf("waits for the approval of %s; recorded is %+v", open.Execution, last.Asks)
	}
	a.seen["waits for approval"]++
	if a.rng.IntN(3) > 0 {
		a.decide(open.Execution)
	}
}

// made is called when an execution begins: an execution that needs approval has it, and the journal has recorded that.
func (a *randomApprovals) made(c toolapi.Call) {
	args := string(c.Arguments)
	if strings.Contains(args, "forbidden") {
		a.t.Fatalf("%s was made: %s", c.ID, args)
	}
	if isOnce(args) != (c.IdempotencyKey != "") {
		a.t.Fatalf("%s %s has the key %q", c.ID, args, c.IdempotencyKey)
	}
	if !isGated(args) {
		return
	}
	execution, _, _ := strings.Cut(c.ID, "-r")
	if !toolapi.Repeatable(c.Tool) {
		execution = c.ID
	}
	turns := a.w.journal.load()
	r, _ := turns[len(turns)-1].Ask(turn.AskApproval, execution)
	if r.Outcome != turn.AskApproved || a.said[execution] != "Approve" {
		a.t.Fatalf("%s was made; %q was said, and recorded is %+v", c.ID, a.said[execution], r)
	}
	a.seen["made with approval"]++
}

// check checks the journal's record of approvals.
func (a *randomApprovals) check(step *turn.Turn) {
	for _, r := range step.Asks {
		if r.Kind != turn.AskApproval {
			continue
		}
		if was := a.outcomes[r.Execution]; was != "" && was != r.Outcome {
			a.t.Fatalf("%s was %s and is %s", r.Execution, was, r.Outcome)
		}
		a.outcomes[r.Execution] = r.Outcome
		i := slices.IndexFunc(step.Calls, func(c turn.Call) bool { return c.ID == r.CallID })
		if i < 0 || !isGated(step.Calls[i].Arguments) && step.Calls[i].Tool != toolapi.ToolRequestApproval {
			a.t.Fatalf("%s needs no approval", r.Execution)
		}
		ok := map[turn.AskOutcome]bool{
			"": true, turn.AskApproved: a.said[r.Execution] == "Approve", turn.AskDenied: a.said[r.Execution] == "Deny", turn.AskExpired: a.over[r.Execution],
		}
		if !ok[r.Outcome] {
			a.t.Fatalf("%s is %s; %q was said", r.Execution, r.Outcome, a.said[r.Execution])
		}
		a.seen["approval "+string(r.Outcome)]++
		if res := step.Results[i]; res != nil && r.Execution == r.CallID && r.Outcome != turn.AskApproved && res.OK {
			a.t.Fatalf("%s is %q and gave %+v", r.Execution, r.Outcome, res)
		}
	}
}

// checkOnce checks that no effect that must happen once happened twice.
func (a *randomApprovals) checkOnce() {
	times := map[string]int{}
	for _, c := range a.w.sandbox.executed {
		if c.IdempotencyKey != "" && a.w.sandbox.ledger[c.ID].OK {
			times[c.IdempotencyKey]++
		}
		if times[c.IdempotencyKey] > 1 {
			a.t.Fatalf("%s was brought about twice: %v", c.IdempotencyKey, a.w.sandbox.executedIDs())
		}
	}
}
