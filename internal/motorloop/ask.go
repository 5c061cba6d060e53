// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Ask is one thing that a person is asked about a call of a turn, and what became of it. It is recorded before the person is
// shown it, and its outcome before anything follows from that. A recorded outcome counts for ever.
//
//	none ──► recorded ──► shown ──► a response, or its time is over ──► recorded ──► what follows
type Ask struct {
	// ID names it to whoever responds. It is the same for the same turn, kind and execution.
	ID   string
	Kind AskKind
	// CallID is the ID of the call, Execution what of it the ask is about: the call's ID, or that of a later execution.
	CallID, Execution string
	// Digest is "sha256:…" of tool and arguments of an AskApproval, Rule the rule by which the call needs it; Domain is the host of an AskDomain.
	Digest, Rule, Domain string
	// ExpiresAt is until when there is time, AskedAt when it was recorded. ClosedAt is zero as long as there is no Outcome.
	AskedAt, ExpiresAt, ClosedAt time.Time
	// OnTimeout is what becomes of it at ExpiresAt.
	OnTimeout OnTimeout
	// Outcome is "" while it is open.
	Outcome AskOutcome
	// Decision is the word of the API that was decided, "" if the response has none; By is who responded, Reason what they say of it.
	Decision, By, Reason string
	// Answer is the text of the response. It is not recorded: Person gives it again.
	Answer string
}

// AskKind is what a person is asked.
type AskKind string

const (
	// AskQuestion is a question of the model's: a call of ask_user.
	AskQuestion AskKind = "Question"
	// AskDomain is a call of request_domain.
	AskDomain AskKind = "DomainRequest"
	// AskApproval is whether an execution may be made.
	AskApproval AskKind = "Approval"
	// AskUnknown is what became of an execution whose end was not seen.
	AskUnknown AskKind = "OutcomeUnknown"
)

// AskOutcome is what became of an ask.
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

// OnTimeout is what becomes of an ask without a response in time.
type OnTimeout string

const (
	// OnTimeoutFail ends the run, which is not for the loop to do.
	OnTimeoutFail OnTimeout = "Fail"
	// OnTimeoutDeny counts as a no.
	OnTimeoutDeny OnTimeout = "Deny"
	// OnTimeoutUseDefault takes the default of the question for the answer.
	OnTimeoutUseDefault OnTimeout = "UseDefault"
)

// Person responds to what a run asks. Nothing of it takes long.
type Person interface {
	// Ask gives the ask about an execution of a call of the last turn as it is to be recorded. It has no outcome.
	Ask(kind AskKind, c Call, execution string) Ask
	// Reply gives a recorded ask with its outcome, false while it is open. One that has its outcome gets its Answer.
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

// putAsk adds an ask to the turn, or gives one that is there its outcome.
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
		// The outcome of the others is the result of the call, and recorded with that.
		if err := r.record(ctx, t); err != nil {
			return Ask{}, err
		}
		// Another loop may have been faster, and what is recorded counts.
		a, _ = t.ask(kind, execution)
		replied, _ = r.person.Reply(a)
	}
	r.log.LogAttrs(ctx, slog.LevelInfo, "an ask was closed", slog.String("kind", string(kind)), slog.String("call", execution),
		slog.String("tool", c.Tool), slog.String("outcome", string(replied.Outcome)), slog.String("by", replied.By))
	return replied, nil
}

// record settles the turn with what was just put into it.
func (r *run) record(ctx context.Context, t *Turn) error {
	r.unrecorded = true
	return r.settle(ctx, t)
}

// askPerson asks what the calls of the turn ask that have no result when everything else is done, one after the other. It gives the first ask that
// is open.
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

// answered is the result of a question that has its outcome.
func (r *run) answered(t *Turn, c *Call, a Ask) *toolapi.Result {
	res := &toolapi.Result{OK: true, Provenance: toolapi.ProvenanceUser}
	if a.Outcome == AskExpired {
		q, _ := ParseQuestion(*c)
		res.Provenance, a.Answer = toolapi.ProvenanceInternal, q.Default
		res.Output = "There was no reply in time, so the default of your question counts: "
	} else {
		res.Output = howReplied(c, a.Answer)
	}
	res.Output = cut(res.Output+strings.ToValidUTF8(a.Answer, "\uFFFD"), toolapi.MaxOutputBytes, outputShare(t), outputCutMark)
	return res
}

// decided is the result of a request for a domain that a person decided about.
func (r *run) decided(t *Turn, c *Call, a Ask) *toolapi.Result {
	res := cleanResult(*r.domains.Decided(c.Arguments, a.Decision), outputShare(t))
	return withReason(res, saysLead, a.Reason, outputShare(t))
}

// ParseQuestion returns the arguments of an ask_user call.
func ParseQuestion(c Call) (toolapi.AskUserArgs, error) {
	return toolapi.ParseAskUser(c.Arguments)
}

// howReplied says how an answer came, which follows word for word: a bare number or word could be taken for data.
func howReplied(c *Call, answer string) string {
	if q, err := ParseQuestion(*c); err == nil && len(q.Options) > 0 {
		if slices.Contains(q.Options, strings.TrimSpace(answer)) {
			return "The person chose an option: "
		}
		return "The person replied, with none of the options: "
	}
	return "The person replied: "
}
