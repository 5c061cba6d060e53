// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A model ends its attempt by a call of finish, with its own verdict: Succeeded, Partial or Failed. The call is recorded with its
// turn like any other. It is judged when all others of the turn have their results, and its end is recorded by a turn of the loop's own:
//
//	turn with finish ──recorded──► other calls ──► judged ──not accepted──► the model is told why
//	                                                 │
//	                                              accepted ──Succeeded──► checks ──► closing turn ──► Completed
//	                                                 └─────Partial, Failed────────────────► Failed
//
// Text without a call does not end an attempt: a model that announces its next step, or writes a call as text, has not done it.

// finish judges the finish calls of a turn whose other calls all have their results.
func (r *run) finish(ctx context.Context, t *turn.Turn) error {
	for i := range t.Calls {
		c := &t.Calls[i]
		if c.Tool != toolapi.ToolFinish || t.Results[i] != nil {
			continue
		}
		res, err := r.judge(ctx, t, i)
		if err != nil {
			return err
		}
		t.Results[i], r.unrecorded = res, true
		r.tell(ctx, c, res)
	}
	return nil
}

// beforeAnswer refuses a finish call in an answer that also asks a person. The refusal is immediate: the person is asked when all other calls
// of the turn have results.
func beforeAnswer(t *turn.Turn) *toolapi.Result {
	if !slices.ContainsFunc(t.Calls, func(c turn.Call) bool { return toolapi.WaitsForPerson(c.Tool) }) {
		return nil
	}
	return result.Refusal(result.CodeNotFinished, "you ask the person in the same answer: read the reply, and call finish after that")
}

// judge returns the result of call i of a turn, one of finish.
func (r *run) judge(ctx context.Context, t *turn.Turn, i int) (*toolapi.Result, error) {
	for j, res := range t.Results {
		switch {
		case j == i || res == nil:
		case t.Calls[j].Tool == toolapi.ToolFinish && res.OK:
			return result.Refusal(result.CodeNotFinished, "one finish call of an answer counts, and it was the one before"), nil
		case t.Calls[j].Tool == toolapi.ToolFinish:
		case !res.OK:
			// The model has not seen the result.
			return result.Refusal(result.CodeNotFinished, fmt.Sprintf(
				"the %s call of the same answer did not succeed: look at its result, and call finish when that is dealt with", t.Calls[j].Tool)), nil
		}
	}
	args, err := toolapi.ParseFinish(catalog.ObjectOrEmpty(t.Calls[i].Arguments))
	if err != nil {
		return result.Refusal(toolapi.CodeInvalidArguments, err.Error()), nil
	}
	why, err := r.unmet(ctx, &t.Calls[i], args)
	if unseen, ok := errors.AsType[*unseenError](err); ok {
		return tryAgain(unseen.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	if why == "" && args.Status == toolapi.FinishSucceeded && r.unbegun(t) {
		return result.Refusal(result.CodeNotFinished, unbegunText), nil
	}
	if why == "" {
		why, err = r.skillProblems(ctx, &t.Calls[i], args.Status)
	}
	if err != nil {
		return nil, err
	}
	if why != "" {
		return result.Refusal(result.CodeNotAccepted, why), nil
	}
	return &toolapi.Result{OK: true, Provenance: toolapi.ProvenanceInternal}, nil
}

// unbegunText refuses a success that is claimed before any tool was called.
const unbegunText = "no tool was called yet, so nothing was looked at, done or checked. Do what the task needs. If it needs no tool, call finish again"

// unbegun reports whether the turn is the first of the attempt that has calls, and has none but finish, although tools are granted. A model
// that claims success at once has done nothing, or had nothing to do: the claim is refused once. Demands of the task need no
// such refusal, since they are checked.
func (r *run) unbegun(t *turn.Turn) bool {
	works := func(tool string) bool { return tool != toolapi.ToolFinish && !toolapi.WaitsForPerson(tool) }
	if r.cfg.TextEnds || r.cfg.Accept.Any() || len(r.cfg.MCPServers) == 0 && !slices.ContainsFunc(r.cfg.Tools, works) {
		return false
	}
	for _, step := range r.turns {
		if step.Index < t.Index && len(step.Calls) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(t.Calls, func(c turn.Call) bool { return c.Tool != toolapi.ToolFinish })
}

// tryAgain is the result of a finish call that failed for a reason outside of the model. Its repetition does not count as a circle.
func tryAgain(why string) *toolapi.Result {
	res := result.Refusal(result.CodeNotFinished, why)
	res.Retryable = true
	return res
}

// unmet returns the claims of a finish call, or the demands of the task, that do not hold; "" if all do.
func (r *run) unmet(ctx context.Context, c *turn.Call, args toolapi.FinishArgs) (string, error) {
	if args.Status == toolapi.FinishFailed {
		return "", nil
	}
	files, succeeded := args.Files, args.Status == toolapi.FinishSucceeded
	if succeeded {
		if why := valueMisfit(r.cfg.Accept, args.Value); why != "" {
			return why, nil
		}
		files = slices.Concat(files, claimedFiles(args.Summary))
	}
	missing, err := r.missing(ctx, c.ID+"-f", files, r.isThere)
	if err != nil {
		return "", err
	}
	if len(missing) > 0 {
		return fmt.Sprintf("these are not in the workspace: %s. Write what is missing and call finish again, or leave out of files and summary what there is not",
			strings.Join(missing, ", ")), nil
	}
	if !succeeded {
		return "", nil
	}
	missing, err = r.missing(ctx, c.ID+"-a", r.cfg.Accept.Files, r.isDemandMet)
	if err != nil || len(missing) == 0 {
		return "", err
	}
	return "the task demands these files, and they are not in the workspace: " + strings.Join(missing, ", ") +
		". Write them and call finish again, or call it with Partial or Failed and say why", nil
}

// acceptedCall returns the index of a finish call of the turn that was accepted, -1 if there is none.
func acceptedCall(t *turn.Turn) int {
	for i, res := range t.Results {
		if i < len(t.Calls) && t.Calls[i].Tool == toolapi.ToolFinish && res != nil && res.OK {
			return i
		}
	}
	return -1
}

// accepted returns the arguments of an accepted finish call of the turn, nil if there is none.
func accepted(t *turn.Turn) *toolapi.FinishArgs {
	i := acceptedCall(t)
	if i < 0 {
		return nil
	}
	args, err := toolapi.ParseFinish(catalog.ObjectOrEmpty(t.Calls[i].Arguments))
	if err != nil {
		return nil
	}
	return &args
}

// FinishedFiles returns the files of the finish call that ended the attempt, nil if none did.
func FinishedFiles(turns []*turn.Turn) []string {
	for _, t := range slices.Backward(turns) {
		if args := accepted(t); args != nil {
			return args.Files
		}
	}
	return nil
}

// finished is the outcome of an attempt whose last turn has an accepted finish call.
func finished(cfg config.Config, args *toolapi.FinishArgs) outcome.Outcome {
	switch args.Status {
	case toolapi.FinishSucceeded:
		out := outcome.Outcome{Kind: outcome.Completed, Summary: args.Summary}
		if len(cfg.Accept.Schemas) > 0 {
			out.Value = string(args.Value)
		}
		return out
	case toolapi.FinishPartial:
		return incomplete(outcome.ReasonPartial, "The model did a part of the task", args.Summary)
	default:
		return incomplete(outcome.ReasonFailed, "The model did not do the task", args.Summary)
	}
}

func incomplete(reason, what, summary string) outcome.Outcome {
	return outcome.Outcome{Kind: outcome.Failed, Partial: text.Cut(text.Printable(summary), maxPartial, maxPartial, "…"), Failure: &outcome.Failure{
		Category: outcome.Incomplete, Reason: reason, Retryable: true, Message: fmt.Sprintf("%s, and says: %s", what, text.Cut(summary, maxSaid, 2*maxSaid, "…")),
	}}
}

// maxSaid is the most bytes of the model's text that the message of a failure repeats.
const maxSaid = 700

// closing is the turn that records the end of an attempt whose finish call was accepted.
func closing(prior []*turn.Turn, out outcome.Outcome) *turn.Turn {
	answers := iterations(prior)
	return &turn.Turn{
		Index: prior[len(prior)-1].Index + 1, Model: answers[len(answers)-1].Model,
		Content: text.Cut(out.Summary, maxContent, maxContent, turn.ContentCutMark), Value: out.Value, Closes: true,
	}
}

// finishOf returns the finish call that a text is equivalent to, for a model that ends its runs with text and whose task has demands. Text that
// is JSON is the value too.
func finishOf(cfg config.Config, content string) turn.Call {
	args := toolapi.FinishArgs{Status: toolapi.FinishSucceeded, Summary: cutRunes(content, toolapi.MaxFinishSummary)}
	call := turn.Call{Tool: toolapi.ToolFinish, Arguments: text.JSON(args)}
	if trimmed := strings.TrimSpace(content); len(cfg.Accept.Schemas) > 0 && json.Valid([]byte(trimmed)) {
		args.Value = json.RawMessage(trimmed)
		if with := text.JSON(args); fitsFinish(with) {
			call.Arguments = with
		}
	}
	return call
}

// fitsFinish reports whether arguments of finish are within their bounds. A call outside of them would be refused for its form, and the model
// does not know that it made one.
func fitsFinish(arguments string) bool {
	_, err := toolapi.ParseFinish(arguments)
	return err == nil
}

// cutRunes returns s with at most so many characters. A shortened text ends with a mark.
func cutRunes(s string, most int) string {
	const mark = "…"
	n, end := 0, 0
	for i := range s {
		if n++; n == most {
			end = i
		}
		if n > most {
			return s[:end] + mark
		}
	}
	return s
}

// close records the end of an attempt whose last turn has an accepted finish call. It does not wait for a sandbox: the sandbox is no longer
// needed, and its loss must not cost the accepted end.
func (r *run) close(ctx context.Context, out outcome.Outcome) error {
	if out.Kind != outcome.Completed || r.turns[len(r.turns)-1].Closes {
		return nil
	}
	t := closing(r.turns, out)
	if err := r.journal.Append(ctx, t); err != nil {
		return err
	}
	r.turns = append(r.turns, t)
	return nil
}
