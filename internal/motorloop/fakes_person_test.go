// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// fakePerson responds by execution. Any value of said except Approve and Deny is ignored.
type fakePerson struct {
	// answers are the texts for questions and executions of unknown outcome, and the decisions about domains, with their reason from the second line on.
	answers map[string]string
	// said are the decisions about calls, reasons the comments on them.
	said, reasons map[string]string
	// over has the executions for whose approval there is no more time, defaults the questions.
	over, defaults map[string]bool
	// brings are the executions whose answers have files.
	brings map[string]bool
	now    func() time.Time
}

func (p *fakePerson) instant() time.Time {
	if p.now == nil {
		return time.Unix(1_700_000_000, 0).UTC()
	}
	return p.now()
}

func (p *fakePerson) Ask(kind turn.AskKind, c turn.Call, execution string) turn.Ask {
	a := turn.Ask{ID: execution, Kind: kind, CallID: c.ID, Execution: execution, AskedAt: p.instant(), OnTimeout: turn.OnTimeoutFail}
	switch kind {
	case turn.AskApproval:
		a.ID, a.Digest, a.OnTimeout = execution+"-approval", "digest of "+c.Arguments, turn.OnTimeoutDeny
	case turn.AskQuestion:
		if p.defaults[execution] {
			a.OnTimeout = turn.OnTimeoutUseDefault
		}
	case turn.AskDomain, turn.AskUnknown:
	}
	return a
}

func (p *fakePerson) Reply(a turn.Ask) (turn.Ask, bool) {
	answer, answered := p.answers[a.Execution]
	said := p.said[a.Execution]
	switch {
	case a.Outcome != "":
		a.Answer, a.HasFiles = answer, p.brings[a.Execution]
		return a, true
	case a.Kind == turn.AskApproval && p.over[a.Execution], a.OnTimeout == turn.OnTimeoutUseDefault && !answered && p.over[a.Execution]:
		a.Outcome = turn.AskExpired
	case a.Kind == turn.AskApproval && said == "Approve":
		a.Outcome, a.By, a.Decision = turn.AskApproved, "anna", said
	case a.Kind == turn.AskApproval && said == "Deny":
		a.Outcome, a.By, a.Decision = turn.AskDenied, "anna", said
	case a.Kind == turn.AskApproval || !answered:
		return a, false
	case a.Kind == turn.AskDomain:
		a.Outcome = turn.AskApproved
		if a.Decision, a.Reason, _ = strings.Cut(answer, "\n"); a.Decision == "Deny" {
			a.Outcome = turn.AskDenied
		}
	case a.Kind == turn.AskUnknown:
		a.Outcome = turn.AskAnswered
		if a.Decision, a.Reason, _ = strings.Cut(answer, "\n"); a.Decision != decisionRetry && a.Decision != decisionDone {
			a.Decision = "Skip"
		}
	default:
		a.Outcome, a.Answer, a.HasFiles = turn.AskAnswered, answer, p.brings[a.Execution]
	}
	if a.ClosedAt = p.instant(); a.Kind == turn.AskApproval && a.Outcome != turn.AskExpired {
		a.Reason = p.reasons[a.Execution]
	}
	return a, true
}
