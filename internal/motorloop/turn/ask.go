// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"slices"
	"time"
)

// Ask is one question to a person about a call of a turn, with its outcome. It is recorded before it is shown to the person, and its outcome
// before any consequence. A recorded outcome is final.
//
//	none ──► recorded ──► shown ──► a response, or its time is over ──► recorded ──► what follows
type Ask struct {
	// ID identifies the ask to the responder. It is the same for the same turn, kind and execution.
	ID   string
	Kind AskKind
	// CallID is the ID of the call. Execution identifies the execution that the ask is about: the call's ID, or that of a later execution.
	CallID, Execution string
	// Digest is "sha256:…" of tool and arguments of an AskApproval, Rule the rule by which the call needs it; Domain is the host of an AskDomain.
	Digest, Rule, Domain string
	// ExpiresAt is the end of the time to respond, AskedAt when it was recorded. ClosedAt is zero as long as there is no Outcome.
	AskedAt, ExpiresAt, ClosedAt time.Time
	// OnTimeout is what happens to the ask at ExpiresAt.
	OnTimeout OnTimeout
	// Outcome is "" while it is open.
	Outcome AskOutcome
	// Decision is the decision in the API's words, "" if the response has none; By is the responder, Reason their comment.
	Decision, By, Reason string
	// Answer is the text of the response, and HasFiles whether files go with it. They are not recorded: Person returns them again.
	Answer   string
	HasFiles bool
	// Files are those files of an AskQuestion, as they are recorded with its outcome.
	Files []File
}

// File is a file that goes with an answer.
type File struct {
	// Path is that in the workspace.
	Path              string
	Size              int64
	MediaType, SHA256 string
	// Web is true if the content may come from the web.
	Web bool
	// Problem is why the file could not be had, or not be put into the workspace.
	Problem string
}

// AskKind is the kind of question.
type AskKind string

const (
	// AskQuestion is a question of the model's: a call of ask_user.
	AskQuestion AskKind = "Question"
	// AskDomain is a call of request_domain.
	AskDomain AskKind = "DomainRequest"
	// AskApproval asks whether an execution may be made.
	AskApproval AskKind = "Approval"
	// AskUnknown asks about the effect of an execution whose end was not seen.
	AskUnknown AskKind = "OutcomeUnknown"
)

// AskOutcome is the outcome of an ask.
type AskOutcome string

const (
	// AskAnswered: the response is a text.
	AskAnswered AskOutcome = "Answered"
	// AskApproved: the call may be made, or the domain be reached.
	AskApproved AskOutcome = "Approved"
	// AskDenied: the response was no.
	AskDenied AskOutcome = "Denied"
	// AskExpired: there was no response in time.
	AskExpired AskOutcome = "Expired"
)

// OnTimeout is what happens to an ask without a response in time.
type OnTimeout string

const (
	// OnTimeoutFail ends the run; the controller does that, not the loop.
	OnTimeoutFail OnTimeout = "Fail"
	// OnTimeoutDeny counts as a no.
	OnTimeoutDeny OnTimeout = "Deny"
	// OnTimeoutUseDefault uses the default of the question as the answer.
	OnTimeoutUseDefault OnTimeout = "UseDefault"
)

// Ask is the ask of a kind about an execution, false if there is none.
func (t *Turn) Ask(kind AskKind, execution string) (Ask, bool) {
	i := slices.IndexFunc(t.Asks, func(a Ask) bool { return a.Kind == kind && a.Execution == execution })
	if i < 0 {
		return Ask{}, false
	}
	return t.Asks[i], true
}

// PutAsk adds an ask to the turn, or sets the outcome of an existing one.
func (t *Turn) PutAsk(a Ask) {
	i := slices.IndexFunc(t.Asks, func(b Ask) bool { return a.Kind == b.Kind && a.Execution == b.Execution })
	if i < 0 {
		t.Asks = append(t.Asks, a)
		return
	}
	t.Asks[i] = a
}
