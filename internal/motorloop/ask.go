// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
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
	// Answer is the text of the response. It is not recorded: Person returns it again.
	Answer string
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

// Person responds to the questions of a run. Its methods must return soon.
type Person interface {
	// Ask returns the ask about an execution of a call of the last turn in the form in which it is recorded. It has no outcome.
	Ask(kind AskKind, c Call, execution string) Ask
	// Reply returns a recorded ask with its outcome, or false while the ask is open. An ask that has its outcome gets its Answer.
	Reply(a Ask) (Ask, bool)
}

// absent is a person who never responds.
type absent struct{}

func (absent) Ask(kind AskKind, c Call, execution string) Ask {
	return Ask{ID: execution, Kind: kind, CallID: c.ID, Execution: execution, OnTimeout: OnTimeoutFail}
}

func (absent) Reply(a Ask) (Ask, bool) { return a, a.Outcome != "" }

// ask is the ask of a kind about an execution, false if there is none.
func (t *Turn) ask(kind AskKind, execution string) (Ask, bool) {
	i := slices.IndexFunc(t.Asks, func(a Ask) bool { return a.Kind == kind && a.Execution == execution })
	if i < 0 {
		return Ask{}, false
	}
	return t.Asks[i], true
}

// putAsk adds an ask to the turn, or sets the outcome of an existing one.
func (t *Turn) putAsk(a Ask) {
	i := slices.IndexFunc(t.Asks, func(b Ask) bool { return a.Kind == b.Kind && a.Execution == b.Execution })
	if i < 0 {
		t.Asks = append(t.Asks, a)
		return
	}
	t.Asks[i] = a
}

// asked returns the ask about an execution of a call as it is recorded. Its outcome is "" while it is open.
func (r *run) asked(ctx context.Context, t *Turn, kind AskKind, c *Call, execution string) (Ask, error) {
	a, found := t.ask(kind, execution)
	if !found {
		t.putAsk(r.person.Ask(kind, *c, execution))
		if err := r.record(ctx, t); err != nil {
			return Ask{}, err
		}
		a, _ = t.ask(kind, execution)
	}
	replied, closed := r.person.Reply(a)
	if a.Outcome != "" || !closed {
		return replied, nil
	}
	t.putAsk(replied)
	r.unrecorded = true
	if kind == AskApproval || kind == AskUnknown {
		// The outcome of the others is the result of the call, and is recorded with it.
		if err := r.record(ctx, t); err != nil {
			return Ask{}, err
		}
		// Another loop may have been faster, and the record counts.
		a, _ = t.ask(kind, execution)
		replied, _ = r.person.Reply(a)
	}
	r.log.LogAttrs(ctx, slog.LevelInfo, "an ask was closed", slog.String("kind", string(kind)), slog.String("call", execution),
		slog.String("tool", c.Tool), slog.String("outcome", string(replied.Outcome)), slog.String("by", replied.By))
	return replied, nil
}

// record settles the turn with the newest entries.
func (r *run) record(ctx context.Context, t *Turn) error {
	r.unrecorded = true
	return r.settle(ctx, t)
}

// askPerson asks the questions of those calls of the turn that have no result when all other calls are done, one after the other. It returns
// the first ask that is open.
func (r *run) askPerson(ctx context.Context, t *Turn) (*Ask, error) {
	for i := range t.Calls {
		c := &t.Calls[i]
		if t.Results[i] != nil || c.Tool == toolapi.ToolFinish {
			continue
		}
		kind, result := AskQuestion, r.answered
		if c.Tool == toolapi.ToolRequestDomain {
			kind, result = AskDomain, r.decided
		}
		a, err := r.asked(ctx, t, kind, c, c.ID)
		if err != nil || a.Outcome == "" {
			return &a, err
		}
		t.Results[i] = result(t, c, a)
		r.unrecorded = true
		r.tell(ctx, c, t.Results[i])
	}
	return nil, nil
}

// answered returns the result of a question that has its outcome.
func (r *run) answered(t *Turn, c *Call, a Ask) *toolapi.Result {
	res := &toolapi.Result{OK: true, Provenance: toolapi.ProvenanceUser}
	if a.Outcome == AskExpired {
		q, _ := ParseQuestion(*c)
		res.Provenance, a.Answer = toolapi.ProvenanceInternal, q.Default
		res.Output = "There was no reply in time, so the default of your question counts: "
	} else {
		res.Output = howReplied(c, a.Answer)
	}
	res.Output = text.Cut(res.Output+strings.ToValidUTF8(a.Answer, "\uFFFD"), toolapi.MaxOutputBytes, outputShare(t), outputCutMark)
	return res
}

// decided returns the result of a request for a domain that a person decided about.
func (r *run) decided(t *Turn, c *Call, a Ask) *toolapi.Result {
	res := cleanResult(*r.domains.Decided(c.Arguments, a.Decision), outputShare(t))
	return withReason(res, saysLead, a.Reason, outputShare(t))
}

// ParseQuestion returns the arguments of an ask_user call.
func ParseQuestion(c Call) (toolapi.AskUserArgs, error) {
	return toolapi.ParseAskUser(c.Arguments)
}

// howReplied describes how an answer came; the answer follows word for word. A bare number or word could be taken for data.
func howReplied(c *Call, answer string) string {
	if q, err := ParseQuestion(*c); err == nil && len(q.Options) > 0 {
		if slices.Contains(q.Options, strings.TrimSpace(answer)) {
			return "The person chose an option: "
		}
		return "The person replied, with none of the options: "
	}
	return "The person replied: "
}
