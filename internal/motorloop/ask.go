// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Person responds to the questions of a run. Its methods must return soon.
type Person interface {
	// Ask returns the ask about an execution of a call of the last turn in the form in which it is recorded. It has no outcome.
	Ask(kind turn.AskKind, c turn.Call, execution string) turn.Ask
	// Reply returns a recorded ask with its outcome, or false while the ask is open. An ask that has its outcome gets its Answer.
	Reply(a turn.Ask) (turn.Ask, bool)
}

// AnswerFiles serves the files that go with answers. An error says that nothing is decided about them yet.
type AnswerFiles interface {
	// Describe returns the files of the response to an ask in the form in which they are recorded, those with a problem too.
	Describe(ctx context.Context, a turn.Ask) ([]turn.File, error)
	// Put puts the recorded files of an ask into the workspace, and returns them with the problems that arose. To repeat it is harmless.
	Put(ctx context.Context, a turn.Ask) ([]turn.File, error)
}

// absent is a person who never responds.
type absent struct{}

func (absent) Ask(kind turn.AskKind, c turn.Call, execution string) turn.Ask {
	return turn.Ask{ID: execution, Kind: kind, CallID: c.ID, Execution: execution, OnTimeout: turn.OnTimeoutFail}
}

func (absent) Reply(a turn.Ask) (turn.Ask, bool) { return a, a.Outcome != "" }

// asked returns the ask about an execution of a call as it is recorded. Its outcome is "" while it is open.
func (r *run) asked(ctx context.Context, t *turn.Turn, kind turn.AskKind, c *turn.Call, execution string) (turn.Ask, error) {
	a, found := t.Ask(kind, execution)
	if !found {
		t.PutAsk(r.person.Ask(kind, *c, execution))
		if err := r.record(ctx, t); err != nil {
			return turn.Ask{}, err
		}
		a, _ = t.Ask(kind, execution)
	}
	replied, closed := r.person.Reply(a)
	if a.Outcome != "" || !closed {
		return replied, nil
	}
	if err := r.describe(ctx, &replied); err != nil {
		return turn.Ask{}, err
	}
	t.PutAsk(replied)
	r.unrecorded = true
	if kind == turn.AskApproval || kind == turn.AskUnknown || len(replied.Files) > 0 {
		// The outcome of the others is the result of the call, and is recorded with it.
		if err := r.record(ctx, t); err != nil {
			return turn.Ask{}, err
		}
		// Another loop may have been faster, and the record counts.
		a, _ = t.Ask(kind, execution)
		replied, _ = r.person.Reply(a)
	}
	r.log.LogAttrs(ctx, slog.LevelInfo, "an ask was closed", slog.String("kind", string(kind)), slog.String("call", execution),
		slog.String("tool", c.Tool), slog.String("outcome", string(replied.Outcome)), slog.String("by", replied.By))
	return replied, nil
}

// describe adds the files that go with an answer.
func (r *run) describe(ctx context.Context, a *turn.Ask) (err error) {
	if r.files != nil && a.HasFiles && a.Kind == turn.AskQuestion && a.Outcome == turn.AskAnswered {
		a.Files, err = r.files.Describe(ctx, *a)
	}
	return err
}

// receive puts the files of an answer into the workspace.
func (r *run) receive(ctx context.Context, a *turn.Ask) error {
	if r.files == nil || len(a.Files) == 0 {
		return nil
	}
	if err := r.gate.wait(ctx); err != nil {
		return err
	}
	files, err := r.files.Put(ctx, *a)
	if err != nil {
		return err
	}
	a.Files = files
	if slices.ContainsFunc(files, func(f turn.File) bool { return f.Web }) {
		r.cfg.Tainted = true
	}
	return nil
}

// record settles the turn with the newest entries.
func (r *run) record(ctx context.Context, t *turn.Turn) error {
	r.unrecorded = true
	return r.settle(ctx, t)
}

// askPerson asks the questions of those calls of the turn that have no result when all other calls are done, one after the other. It returns
// the first ask that is open.
func (r *run) askPerson(ctx context.Context, t *turn.Turn) (*turn.Ask, error) {
	for i := range t.Calls {
		c := &t.Calls[i]
		if t.Results[i] != nil || c.Tool == toolapi.ToolFinish {
			continue
		}
		kind, result := turn.AskQuestion, r.answered
		if c.Tool == toolapi.ToolRequestDomain {
			kind, result = turn.AskDomain, r.decided
		}
		a, err := r.asked(ctx, t, kind, c, c.ID)
		if err != nil || a.Outcome == "" {
			return &a, err
		}
		if err := r.receive(ctx, &a); err != nil {
			return &a, err
		}
		// A file that could not be put there is recorded with the result that says so: a new workspace is not given it either.
		t.PutAsk(a)
		t.Results[i] = result(t, c, a)
		r.unrecorded = true
		r.tell(ctx, c, t.Results[i])
	}
	return nil, nil
}

// answered returns the result of a question that has its outcome.
func (r *run) answered(t *turn.Turn, c *turn.Call, a turn.Ask) *toolapi.Result {
	res := &toolapi.Result{OK: true, Provenance: toolapi.ProvenanceUser}
	if a.Outcome == turn.AskExpired {
		q, _ := ParseQuestion(*c)
		res.Provenance, a.Answer = toolapi.ProvenanceInternal, q.Default
		res.Output = "There was no reply in time, so the default of your question counts: "
	} else {
		res.Output = howReplied(c, a.Answer)
	}
	// The files are named whatever is left of a long answer.
	share := record.OutputShare(t)
	files := text.Cut(listed(a.Files), toolapi.MaxOutputBytes/2, share/2, turn.OutputCutMark)
	res.Output = text.Cut(res.Output+strings.ToValidUTF8(a.Answer, "\uFFFD"), toolapi.MaxOutputBytes-len(files), share-text.EncodedLen(files), turn.OutputCutMark) + files
	return res
}

// listed says which files came with an answer, and which could not be put into the workspace.
func listed(files []turn.File) string {
	if len(files) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\nFiles with the answer, in the workspace:")
	for _, f := range files {
		if f.Problem != "" {
			fmt.Fprintf(&b, "\n- %s is not there: %s", f.Path, f.Problem)
			continue
		}
		fmt.Fprintf(&b, "\n- %s (%d bytes, %s)", f.Path, f.Size, f.MediaType)
	}
	return b.String()
}

// decided returns the result of a request for a domain that a person decided about.
func (r *run) decided(t *turn.Turn, c *turn.Call, a turn.Ask) *toolapi.Result {
	res := result.Clean(*r.domains.Decided(c.Arguments, a.Decision), record.OutputShare(t))
	return result.WithReason(res, saysLead, a.Reason, record.OutputShare(t))
}

// ParseQuestion returns the arguments of an ask_user call.
func ParseQuestion(c turn.Call) (toolapi.AskUserArgs, error) {
	return toolapi.ParseAskUser(c.Arguments)
}

// howReplied describes how an answer came; the answer follows word for word. A bare number or word could be taken for data.
func howReplied(c *turn.Call, answer string) string {
	if q, err := ParseQuestion(*c); err == nil && len(q.Options) > 0 {
		if slices.Contains(q.Options, strings.TrimSpace(answer)) {
			return "The person chose an option: "
		}
		return "The person replied, with none of the options: "
	}
	return "The person replied: "
}
