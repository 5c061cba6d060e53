// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A model ends its attempt by a call of finish, with what it says of itself: Succeeded, Partial or Failed. The call is recorded with its
// turn like any other, judged when all others of the turn have their results, and its end is recorded by a turn of the loop's own:
//
//	turn with finish ──recorded──► other calls ──► judged ──not accepted──► the model is told why
//	                                                 │
//	                                              accepted ──Succeeded──► closing turn ──► Completed
//	                                                 └─────Partial, Failed────────────────► Failed
//
// Text without a call does not end an attempt: a model that says what it will do next, or writes a call as text, has not done it.

const (
	// CodeNotFinished is the error code of a finish call that came too early: what it rests on was not seen yet.
	CodeNotFinished = "not_finished"
	// CodeNotAccepted is the error code of a finish call whose claims do not hold.
	CodeNotAccepted = "not_accepted"
	// maxRefusedFinishes is how many finish calls whose claims do not hold end the attempt.
	maxRefusedFinishes = 3
)

// finish judges the finish calls of a turn whose other calls all have their results.
func (r *run) finish(ctx context.Context, t *Turn) error {
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

// beforeAnswer refuses a finish call in an answer that asks a person too. It is refused at once: the person is asked when all other calls
// of the turn have results.
func beforeAnswer(t *Turn) *toolapi.Result {
	if !slices.ContainsFunc(t.Calls, func(c Call) bool { return toolapi.WaitsForPerson(c.Tool) }) {
		return nil
	}
	return refusal(CodeNotFinished, "you ask the person in the same answer: read the reply, and call finish after that")
}

// judge gives finish call i of a turn its result.
func (r *run) judge(ctx context.Context, t *Turn, i int) (*toolapi.Result, error) {
	for j, res := range t.Results {
		switch {
		case j == i || res == nil:
		case t.Calls[j].Tool == toolapi.ToolFinish && res.OK:
			return refusal(CodeNotFinished, "one finish call of an answer counts, and it was the one before"), nil
		case t.Calls[j].Tool == toolapi.ToolFinish:
		case !res.OK:
			// The model has not seen it.
			return refusal(CodeNotFinished, fmt.Sprintf(
				"the %s call of the same answer did not succeed: look at its result, and call finish when that is dealt with", t.Calls[j].Tool)), nil
		}
	}
	args, err := toolapi.ParseFinish(objectOrEmpty(t.Calls[i].Arguments))
	if err != nil {
		return refusal(toolapi.CodeInvalidArguments, err.Error()), nil
	}
	missing, err := r.missingFiles(ctx, &t.Calls[i], args)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		return refusal(CodeNotAccepted, fmt.Sprintf(
			"these are not in the workspace: %s. Write what is missing and call finish again, or leave out of files and summary what there is not",
			strings.Join(missing, ", "))), nil
	}
	return &toolapi.Result{OK: true, Provenance: toolapi.ProvenanceInternal}, nil
}

// missingFiles are the files that a finish call names and the workspace does not have. They are looked for, not read: what is claimed
// may have any size.
func (r *run) missingFiles(ctx context.Context, c *Call, args toolapi.FinishArgs) ([]string, error) {
	if args.Status == toolapi.FinishFailed {
		return nil, nil
	}
	var missing []string
	for n, file := range slices.Compact(slices.Sorted(slices.Values(args.Files))) {
		list, err := json.Marshal(toolapi.ListArgs{Path: file})
		if err != nil {
			return nil, fmt.Errorf("encode the arguments of list: %w", err)
		}
		if err := r.gate.wait(ctx); err != nil {
			return nil, err
		}
		res, err := r.tools.Call(ctx, toolapi.Call{
			ID: fmt.Sprintf("%s-f%d", c.ID, n), Tool: toolapi.ToolList, Arguments: list, MaxOutputBytes: minOutputShare,
		})
		if err != nil {
			return nil, err
		}
		switch res.ErrorCode {
		case toolapi.CodeNotFound, toolapi.CodeOutsideWorkspace, toolapi.CodeInvalidArguments:
			missing = append(missing, text.Printable(fmt.Sprintf("%q", file)))
		}
	}
	return missing, nil
}

// accepted gives what an accepted finish call of the turn says, nil if there is none.
func (t *Turn) accepted() *toolapi.FinishArgs {
	for i, c := range t.Calls {
		if c.Tool != toolapi.ToolFinish || i >= len(t.Results) || t.Results[i] == nil || !t.Results[i].OK {
			continue
		}
		if args, err := toolapi.ParseFinish(objectOrEmpty(c.Arguments)); err == nil {
			return &args
		}
	}
	return nil
}

// finished is the outcome of an attempt whose last turn has an accepted finish call.
func finished(args *toolapi.FinishArgs) Outcome {
	switch args.Status {
	case toolapi.FinishSucceeded:
		return Outcome{Kind: Completed, Summary: args.Summary}
	case toolapi.FinishPartial:
		return incomplete(ReasonPartial, "The model did a part of the task", args.Summary)
	default:
		return incomplete(ReasonFailed, "The model did not do the task", args.Summary)
	}
}

func incomplete(reason, what, summary string) Outcome {
	return Outcome{Kind: Failed, Partial: cut(text.Printable(summary), maxPartial, maxPartial, "…"), Failure: &Failure{
		Category: Incomplete, Reason: reason, Retryable: true, Message: fmt.Sprintf("%s, and says: %s", what, cut(summary, maxSaid, 2*maxSaid, "…")),
	}}
}

// maxSaid is the most bytes that the message of a failure repeats of what the model said.
const maxSaid = 700

// refusedFinishes finds that the model went on to claim what does not hold.
func refusedFinishes(_ Config, turns []*Turn) *Failure {
	times := 0
	var last *toolapi.Result
	for _, t := range turns {
		for _, res := range t.Results {
			if res != nil && res.ErrorCode == CodeNotAccepted {
				times, last = times+1, res
			}
		}
	}
	if times < maxRefusedFinishes {
		return nil
	}
	return &Failure{Category: Incomplete, Reason: ReasonAcceptanceFailed, Retryable: true, Message: fmt.Sprintf(
		"The model called finish %d times, and what it claimed did not hold. Last: %s.", times, cut(last.Output, maxSaid, 2*maxSaid, "…"))}
}

// closing is the turn that records the end of an attempt whose finish call was accepted.
func closing(prior []*Turn, summary string) *Turn {
	last := prior[len(prior)-1]
	return &Turn{Index: last.Index + 1, Model: last.Model, Content: cut(summary, maxContent, maxContent, contentCutMark), Closes: true}
}

// close records the end of an attempt whose last turn has an accepted finish call. It does not wait for a sandbox: nothing is done in it
// any more, and one that is lost must not cost the end that was accepted.
func (r *run) close(ctx context.Context, out Outcome) error {
	if out.Kind != Completed || r.turns[len(r.turns)-1].Closes {
		return nil
	}
	t := closing(r.turns, out.Summary)
	if err := r.journal.Append(ctx, t); err != nil {
		return err
	}
	r.turns = append(r.turns, t)
	return nil
}
