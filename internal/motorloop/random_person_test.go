// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// randomPerson answers too early, too late, and to questions that were not asked.
type randomPerson struct {
	*play
	answers map[string]string // what the loop is given
	said    map[string]string // the first answer to each question, which counts
}

// soFar returns the answers for a loop: later answers do not reach it.
func (p *randomPerson) soFar() map[string]string {
	return maps.Clone(p.answers)
}

func (p *randomPerson) say(id string) {
	if _, ok := p.answers[id]; ok {
		return
	}
	answer := []string{"Retry", "Done", "Skip", "answer", "AllowOnce", "AllowRun", "Deny"}[p.rng.IntN(7)]
	p.seen["answer "+strings.ToLower(strings.TrimSpace(answer))]++
	if answer == "answer" {
		answer = fmt.Sprintf("answer %d", p.rng.IntN(1000))
	}
	p.answers[id], p.said[id] = answer, answer
}

func (p *randomPerson) answerEarly(attempt int32) {
	for range 10 {
		p.say(turn.ExecutionID(turn.CallID(attempt, int32(1+p.rng.IntN(6)), p.rng.IntN(4)), p.rng.IntN(2)))
	}
}

func (p *randomPerson) maybeAnswer() {
	for _, step := range p.w.journal.load() {
		for i, c := range step.Calls {
			if step.Results[i] == nil && asksLast(c.Tool) && p.rng.IntN(2) == 0 {
				p.say(c.ID)
			}
		}
		for _, u := range step.Unknown {
			if u.Policy == turn.UnknownPerson && p.rng.IntN(2) == 0 {
				p.say(u.Execution)
			}
		}
	}
}

// asksLast reports whether a person is asked by the calls of the tool only when no other call of their turn is open.
func asksLast(tool string) bool {
	return toolapi.WaitsForPerson(tool) && tool != toolapi.ToolRequestApproval
}

// waitedFor checks that the run waits for the open ask: for a call of unknown outcome before everything after it, and for
// a question when no other call is open. It answers the ask, perhaps only later.
func (p *randomPerson) waitedFor(open *turn.Ask) {
	turns := p.w.journal.load()
	last := turns[len(turns)-1]
	if r, ok := last.Ask(open.Kind, open.Execution); !ok || r.Outcome != "" {
		p.t.Fatalf("waits for %+v; recorded is %+v", open, last.Asks)
	}
	c := last.Calls[slices.IndexFunc(last.Calls, func(c turn.Call) bool { return c.ID == open.CallID })]
	c.ID = open.Execution
	found := false
	for i, other := range last.Calls {
		isOpen := last.Results[i] == nil
		asksItself := asksLast(other.Tool)
		switch {
		case isOpen && asksLast(c.Tool) && !asksItself:
			p.t.Fatalf("asks %s while %s has no result", c.ID, other.ID)
		case isOpen && other.ID == c.ID && asksItself:
			found = true
		case isOpen && !asksItself && !found:
			if !strings.HasPrefix(c.ID, other.ID) || last.Unknown[len(last.Unknown)-1].Execution != c.ID {
				p.t.Fatalf("waits for %s; first in line is %s of %+v", c.ID, other.ID, last.Unknown)
			}
			found = true
		}
	}
	if c.Tool == toolapi.ToolRequestDomain {
		p.seen["waits for a domain"]++
	}
	if _, answered := p.answers[c.ID]; !found || answered {
		p.t.Fatalf("waits for %+v, which is not open or was answered", c)
	}
	if p.rng.IntN(3) > 0 {
		p.say(c.ID)
	}
}
