// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"strings"
	"time"
)

// fakePerson responds by execution. Any value of said except Approve and Deny is ignored.
type fakePerson struct {
	// answers are the texts for questions and executions of unknown outcome, and the decisions about domains, with their reason from the second line on.
	answers map[string]string
	// said are the decisions about calls, reasons the comments on them.
	said, reasons map[string]string
	// over has the executions for whose approval there is no more time, defaults the questions.
	over, defaults map[string]bool
	now            func() time.Time
}

func (p *fakePerson) instant() time.Time {
	if p.now == nil {
		return time.Unix(1_700_000_000, 0).UTC()
	}
	return p.now()
}

func (p *fakePerson) Ask(kind AskKind, c Call, execution string) Ask {
	a := Ask{ID: execution, Kind: kind, CallID: c.ID, Execution: execution, AskedAt: p.instant(), OnTimeout: OnTimeoutFail}
	switch kind {
	case AskApproval:
		a.ID, a.Digest, a.OnTimeout = execution+"-approval", "digest of "+c.Arguments, OnTimeoutDeny
	case AskQuestion:
		if p.defaults[execution] {
			a.OnTimeout = OnTimeoutUseDefault
		}
	case AskDomain, AskUnknown:
	}
	return a
}

func (p *fakePerson) Reply(a Ask) (Ask, bool) {
	answer, answered := p.answers[a.Execution]
	said := p.said[a.Execution]
	switch {
	case a.Outcome != "":
		a.Answer = answer
		return a, true
	case a.Kind == AskApproval && p.over[a.Execution], a.OnTimeout == OnTimeoutUseDefault && !answered && p.over[a.Execution]:
		a.Outcome = AskExpired
	case a.Kind == AskApproval && said == "Approve":
		a.Outcome, a.By, a.Decision = AskApproved, "anna", said
	case a.Kind == AskApproval && said == "Deny":
		a.Outcome, a.By, a.Decision = AskDenied, "anna", said
	case a.Kind == AskApproval || !answered:
		return a, false
	case a.Kind == AskDomain:
		a.Outcome = AskApproved
		if a.Decision, a.Reason, _ = strings.Cut(answer, "\n"); a.Decision == "Deny" {
			a.Outcome = AskDenied
		}
	case a.Kind == AskUnknown:
		a.Outcome = AskAnswered
		if a.Decision, a.Reason, _ = strings.Cut(answer, "\n"); a.Decision != decisionRetry && a.Decision != decisionDone {
			a.Decision = "Skip"
		}
	default:
		a.Outcome, a.Answer = AskAnswered, answer
	}
	if a.ClosedAt = p.instant(); a.Kind == AskApproval && a.Outcome != AskExpired {
		a.Reason = p.reasons[a.Execution]
	}
	return a, true
}
