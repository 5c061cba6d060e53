// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/stuck"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
	"motorcortex.dev/motorcortex/internal/toolalias"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// carryOut brings every call of the last turn to a result, in order, and settles the turn. Questions and requests for domains
// come last, and finish after them. It returns the first ask that is open. An ask about a call of unknown outcome, or about an approval, blocks all
// calls after it. A question or a request opens when the other calls are settled.
func (r *run) carryOut(ctx context.Context) (*turn.Ask, error) {
	t := r.turns[len(r.turns)-1]
	defer r.readAhead(ctx, t)()
	for i := range t.Calls {
		if t.Results[i] != nil {
			continue
		}
		res, open, err := r.serve(ctx, t, i)
		switch {
		case err != nil:
			return nil, r.abandon(ctx, t, err)
		case open != nil:
			return open, r.settle(ctx, t)
		case res == nil:
			continue
		}
		t.Results[i] = res
		r.unrecorded = true
		r.tell(ctx, &t.Calls[i], res)
		if r.cfg.SettleEach {
			if err := r.settle(ctx, t); err != nil {
				return nil, err
			}
		}
	}
	open, err := r.askPerson(ctx, t)
	if err != nil {
		return nil, r.abandon(ctx, t, err)
	}
	if open == nil {
		if err := r.finish(ctx, t); err != nil {
			return nil, r.abandon(ctx, t, err)
		}
	}
	if open == nil && r.settleLater(t) {
		return nil, nil
	}
	return open, r.settle(ctx, t)
}

// settleLater has the results of the turn written beside the next question to the model, and reports whether that can be. The first results of a Run are
// written at once. If they cannot be, each Run ends there, and none of them has asked the model in vain.
func (r *run) settleLater(t *turn.Turn) bool {
	if !r.unrecorded || !r.settled {
		return false
	}
	r.noteLeft(t)
	r.unwritten = r.journal.SettleLater(t)
	r.unrecorded = r.unwritten == nil
	return !r.unrecorded
}

// tell reports that a call has its result.
func (r *run) tell(ctx context.Context, c *turn.Call, res *toolapi.Result) {
	r.log.LogAttrs(ctx, slog.LevelInfo, "tool call ended",
		slog.String("call", c.ID), slog.String("tool", c.Tool), slog.Bool("ok", res.OK),
		slog.String("code", res.ErrorCode), slog.Int64("ms", res.DurationMs))
	r.observer.CallEnded(c.Tool, res.ErrorCode, time.Duration(res.DurationMs)*time.Millisecond)
}

// serve returns the result of call i of the turn, from the server of its tool, or the ask that must be answered first.
// If it returns neither, the call waits until all others of the turn are done.
func (r *run) serve(ctx context.Context, t *turn.Turn, i int) (*toolapi.Result, *turn.Ask, error) {
	c := &t.Calls[i]
	if t.Checks {
		if slices.ContainsFunc(t.Results, stuck.NotAllowed) {
			return result.Refusal(toolapi.CodeCancelled, "not made, because a check before it was not approved"), nil, nil
		}
		// The limits on the model's tools and commands do not bind the creator of the run.
		return r.bringToEnd(ctx, t, c)
	}
	if err := r.meetFor(ctx, c.Tool); err != nil {
		return nil, nil, err
	}
	if res := r.refuse(i); res != nil {
		return res, nil, nil
	}
	switch c.Tool {
	case toolapi.ToolAskUser:
		return nil, nil, nil
	case toolapi.ToolFinish:
		return beforeAnswer(t), nil, nil
	case toolapi.ToolRequestDomain:
		return r.judgeDomain(t, c), nil, nil
	case toolapi.ToolRequestApproval:
		return r.requestApproval(ctx, t, c)
	}
	if res := r.forbidden(t, c); res != nil {
		return res, nil, nil
	}
	switch c.Tool {
	case toolapi.ToolSaveCredential:
		return r.serveHere(ctx, t, c, r.saveCredential)
	case toolapi.ToolSearchWeb:
		return r.serveHere(ctx, t, c, r.searchWeb)
	default:
		return r.bringToEnd(ctx, t, c)
	}
}

// settle records the results and asks of the turn's calls, if they are not recorded.
func (r *run) settle(ctx context.Context, t *turn.Turn) error {
	if !r.unrecorded {
		return nil
	}
	r.noteLeft(t)
	if err := r.journal.Settle(ctx, t); err != nil {
		return err
	}
	r.unrecorded, r.settled = false, true
	return nil
}

// bringToEnd executes a call until it has a result, or until a person must be asked. It executes a call more than once only if that is
// allowed.
func (r *run) bringToEnd(ctx context.Context, t *turn.Turn, c *turn.Call) (*toolapi.Result, *turn.Ask, error) {
	if !t.Checks {
		if res, err := r.alreadyDone(ctx, t, c); res != nil || err != nil {
			return res, nil, err
		}
	}
	for {
		next, err := r.prospect(ctx, t, c)
		if err != nil || next.result != nil || next.open != nil {
			return next.result, next.open, err
		}
		if res, open, err := r.leave(ctx, t, c, next.approval); res != nil || open != nil || err != nil {
			return res, open, err
		}
		res, err := r.execute(ctx, t, c, next.execution)
		if err == nil {
			res, err = r.onceMore(ctx, c, res, func() (*toolapi.Result, error) { return r.execute(ctx, t, c, next.execution+againSuffix) })
		}
		if err != nil || res.ErrorCode != toolapi.CodeOutcomeUnknown && (!t.Checks || !result.EndedFromOutside(res)) {
			return res, nil, err
		}
		if err := r.foundUnknown(ctx, t, c, next.execution); err != nil {
			return nil, nil, err
		}
	}
}

// execute runs one call in the sandbox under the given id.
func (r *run) execute(ctx context.Context, t *turn.Turn, c *turn.Call, id string) (*toolapi.Result, error) {
	if err := r.gate.wait(ctx); err != nil {
		return nil, err
	}
	res, err := r.call(ctx, t, c, id)
	if err != nil {
		return nil, err
	}
	if res.OutputFile != "" || res.KeptFile != toolapi.OutputPath(id) {
		res.KeptFile = ""
	}
	return r.marked(t, c, res), nil
}

// call makes one call, or waits for it if it is being made already.
func (r *run) call(ctx context.Context, t *turn.Turn, c *turn.Call, id string) (toolapi.Result, error) {
	defer r.watch.Wait()()
	if begun := r.ahead[id]; begun != nil {
		delete(r.ahead, id)
		e := <-begun
		return e.result, e.err
	}
	return r.tools.Call(ctx, r.request(t, c, id))
}

func (r *run) request(t *turn.Turn, c *turn.Call, id string) toolapi.Call {
	return toolapi.Call{
		ID:             id,
		Tool:           c.Tool,
		Arguments:      json.RawMessage(catalog.ObjectOrEmpty(c.Arguments)),
		MaxOutputBytes: int32(record.MaxOutput(t, c.Tool)),
		IdempotencyKey: r.key(c),
	}
}

// marked returns a result of the sandbox, or of a search, as it is recorded.
func (r *run) marked(t *turn.Turn, c *turn.Call, res toolapi.Result) *toolapi.Result {
	if r.carriesWeb(c.Tool, res.OK) {
		// The sandbox marks it too. But the sandbox must not decide that its own output can be trusted, for instance by calling all of it notes.
		res.Provenance = toolapi.ProvenanceWeb
	}
	return result.Clean(res, record.OutputShare(t))
}

// abandonTimeout bounds how long a loop that must end takes to save its results.
const abandonTimeout = time.Second

// abandon saves the results of the calls before the one that ended the loop. The sandbox, which also has them, may be gone. Without them a
// person would be asked about calls whose end was seen, and the record of a failed attempt would lack the very calls that led to the failure.
func (r *run) abandon(ctx context.Context, t *turn.Turn, cause error) error {
	if !r.unrecorded || errors.Is(cause, ErrStale) {
		return cause
	}
	_, failed := errors.AsType[*outcome.Failure](cause)
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
		defer cancel()
		failed = false
	}
	if err := r.settle(ctx, t); err != nil && failed {
		return err
	}
	return cause
}

// refuse returns the envelope of call i of the last turn if it must not be carried out, or nil. It depends on the recorded
// turns, the grant and the answers only, so a loop that resumes after a restart refuses the same calls.
func (r *run) refuse(i int) *toolapi.Result {
	t := r.turns[len(r.turns)-1]
	c := &t.Calls[i]
	offered := r.cfg.Offered(r.catalog)
	switch {
	case i >= t.MaxCalls():
		return result.Refusal(toolapi.CodeTooManyCalls, fmt.Sprintf(
			"this call was not made. Only the first %d calls of an answer are, or %d if all of them are of tools that only read: "+
				"make it again in your next answer, like those after the first %d, which are not shown",
			toolapi.MaxCalls, toolapi.MaxReads, record.MaxCalls))
	case strings.HasSuffix(c.Arguments, turn.ArgumentsCutMark):
		return result.Refusal(toolapi.CodeTooLarge, fmt.Sprintf(
			"the arguments of one call may have %d bytes, those of all calls of an answer together not much more: "+
				"split the work, for example by several write calls with append", toolapi.MaxArgumentsBytes))
	case !r.catalog.Knows(c.Tool) && r.cfg.Withheld(c.Tool):
		return nil
	case !r.catalog.Knows(c.Tool):
		return result.Refusal(toolapi.CodeUnknownTool, fmt.Sprintf("there is no tool %q: %s", c.Tool, instead(c, offered)))
	case !slices.Contains(offered, c.Tool):
		return result.Refusal(toolapi.CodeToolNotGranted, fmt.Sprintf("this run was not granted the tool %q: %s", c.Tool, instead(c, offered)))
	}
	if err := r.checkArguments(t, c); err != nil {
		msg := err.Error()
		if strings.HasSuffix(t.Content, turn.TruncatedMark) {
			msg += "; your answer was cut off at your output limit, so make it shorter"
		}
		return result.Refusal(toolapi.CodeInvalidArguments, msg)
	}
	if _, asked := t.Ask(turn.AskDomain, c.ID); !asked && stuck.Repeats(r.turns, len(r.turns)-1, i) {
		return result.Refusal(toolapi.CodeRepeatedCall, stuck.RepeatedText)
	}
	return nil
}

// instead names the tools to call in place of a tool that is not offered.
func instead(c *turn.Call, offered []string) string {
	tools := "the tools are " + strings.Join(offered, ", ")
	if use := toolalias.Use(c.Tool, c.Arguments, offered); use != "" {
		return use + "; " + tools
	}
	return tools
}

// checkArguments returns an error if the arguments of a call are wrong. For the calls that a person decides, the schema only improves the
// wording: ParseQuestion and notRequested find out whether there is anything to decide.
func (r *run) checkArguments(t *turn.Turn, c *turn.Call) error {
	err := r.catalog.ValidateArguments(c.Tool, c.Arguments)
	var notAsked error
	switch c.Tool {
	case toolapi.ToolAskUser:
		_, notAsked = ParseQuestion(*c)
	case toolapi.ToolRequestDomain:
		notAsked = r.notRequested(t, c)
	default:
		return err
	}
	if notAsked != nil && err != nil {
		return err
	}
	return notAsked
}

// noteLeft records the remaining limits when all calls of a turn have results, together with the last of the results.
func (r *run) noteLeft(t *turn.Turn) {
	if !r.unrecorded || !t.Settled() || t.Left != (turn.Left{}) {
		return
	}
	if !r.cfg.Deadline.IsZero() {
		t.Left.Time = max(r.cfg.Deadline.Sub(r.now()), time.Second).Truncate(time.Second)
	}
	if r.cfg.MaxTokens > 0 {
		t.Left.Tokens = max(r.cfg.MaxTokens-verdict.UsedTokens(r.cfg, r.turns), 1)
	}
}
