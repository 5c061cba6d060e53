// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// checkEnd checks the invariants at the end of a run.
func (p *play) checkEnd() {
	asked, turns := p.w.model.asked, p.w.journal.load()
	if extra := asked[forStep] + asked[forSummary] - len(turns); extra > p.interruptions {
		p.t.Fatalf("asked %v for %d turns and %d interruptions", asked, len(turns), p.interruptions)
	}
	for _, kind := range []string{forPartial, forHint} {
		if asked[kind] > 1+p.interruptions {
			p.t.Fatalf("asked %v in %d interruptions", asked, p.interruptions)
		}
		if asked[kind] > 1 {
			p.seen[kind+" again"]++
		}
	}
	if lost(*p.ended) {
		p.seen[outcome.ReasonSandboxLost]++
		return
	}
	// A loop that does not know of the end finds the same one, and only repeats the requests about its outcome.
	executed, steps := len(p.w.sandbox.executed), asked[forStep]+asked[forSummary]
	p.breaks, p.takeovers, p.checked = 0, 0, 0
	p.runOnce(p.t.Context(), p.claim(), -1)
	if len(p.w.sandbox.executed) != executed || asked[forStep]+asked[forSummary] != steps || len(p.w.journal.stored) != len(turns) {
		p.t.Fatal("the run went on after its end")
	}
	if p.ended.Failure != nil {
		p.seen[p.ended.Failure.Reason]++
		return
	}
	p.seen[string(p.ended.Kind)]++
}

// checkJournal checks the invariants that hold at any time.
func (p *play) checkJournal() {
	p.t.Helper()
	turns := p.w.journal.load()
	allowed := map[string]bool{}
	steps := 0
	for i, step := range turns {
		if int(step.Index) != i+1 {
			p.t.Fatalf("turn %d has index %d", i+1, step.Index)
		}
		if !step.Settled() && i < len(turns)-1 {
			p.t.Fatalf("turn %d was left unsettled", i+1)
		}
		if i >= p.checked {
			p.checkRequest(turns[:i], step)
		}
		if step.IsSummary() {
			p.seen["summary"]++
		} else {
			steps++
		}
		for n := range step.Calls {
			p.checkCall(step, n, allowed)
		}
		p.approvals.check(step)
	}
	p.checked = len(turns)
	if steps > int(p.w.loop.Config.MaxIterations) {
		p.t.Fatalf("%d iterations of %d", steps, p.w.loop.Config.MaxIterations)
	}
	ran := map[string]bool{}
	for _, c := range p.w.sandbox.executed {
		if ran[c.ID] || !allowed[c.ID] {
			p.t.Fatalf("%s ran twice: %v; was allowed to run: %v", c.ID, ran[c.ID], allowed[c.ID])
		}
		ran[c.ID] = true
	}
	p.approvals.checkOnce()
}

// checkRequest checks that a turn answers the request that follows from the turns before it.
func (p *play) checkRequest(before []*turn.Turn, step *turn.Turn) {
	cfg := p.w.loop.Config
	req := chat.Request{Messages: conversation.Transcript(cfg, before), Tools: cfg.Definitions(catalog.Builtin())}
	if step.IsSummary() {
		req = conversation.SummaryRequest(cfg, before, step.Through)
	}
	if chat.RequestDigest(req) != step.RequestDigest || step.Through != new(conversation.Conversation).SummaryDue(cfg, before) {
		p.t.Fatalf("turn %d was asked for with another conversation than the journal gives", step.Index)
	}
}

// checkCall checks one call of a turn, and records the ids under which it may have been executed.
func (p *play) checkCall(step *turn.Turn, n int, allowed map[string]bool) {
	c, res := step.Calls[n], step.Results[n]
	allowed[c.ID] = true
	said, asked := p.person.said[c.ID]
	times := 0
	for _, u := range step.Unknown {
		if u.CallID != c.ID {
			continue
		}
		if times++; u.Execution != turn.ExecutionID(c.ID, times-1) || times > maxExecutions {
			p.t.Fatalf("call %s has the unknown executions %+v", c.ID, step.Unknown)
		}
		said, asked = p.person.said[u.Execution]
		retry := asked && said == decisionRetry
		if times < maxExecutions && (u.Policy == turn.UnknownRedo || u.Policy == turn.UnknownPerson && retry) {
			allowed[turn.ExecutionID(c.ID, times)] = true
		}
		if (u.Policy == turn.UnknownRedo) != (toolapi.Repeatable(c.Tool) && times < maxExecutions) {
			p.t.Fatalf("policy %s for %s", u.Policy, c.Tool)
		}
		p.seen["unknown "+string(u.Policy)]++
	}
	if _, recorded := step.Ask(turn.AskDomain, c.ID); c.Tool == toolapi.ToolRequestDomain && !recorded {
		said = "" // An answer to what was not asked is none.
	}
	if res != nil && (c.Tool == toolapi.ToolRequestDomain || c.Tool == toolapi.ToolSaveCredential) {
		p.checkServed(c, res, said, times)
		return
	}
	switch {
	case res == nil:
	case strings.HasPrefix(res.Output, "done by "):
		p.seen["done before"]++
	case strings.HasPrefix(res.Output, "perhaps done by "):
		p.seen["perhaps done before"]++
	case res.Output == notAgainText, res.Output == noRetryText:
		p.seen["not approved again"]++
	case res.ErrorCode == toolapi.CodeCommandNotAllowed:
		p.seen[res.ErrorCode]++
	case c.Tool == toolapi.ToolRequestApproval && res.OK:
		p.seen["request_approval ok"]++
	case res.ErrorCode == toolapi.CodeRepeatedCall:
		p.seen[toolapi.CodeRepeatedCall]++
	case res.ErrorCode == toolapi.CodeOutcomeUnknown && times == 0:
		p.t.Fatalf("the result of %s is unknown, but no execution of it is", c.ID)
	case res.Provenance == toolapi.ProvenanceUser && res.Output != doneText && res.Output != said && res.Output != howReplied(&c, said)+said && res.Output != skippedText || res.Output == doneText && !asked:
		p.t.Fatalf("%s was answered %q, not %q", c.ID, said, res.Output)
	}
}
