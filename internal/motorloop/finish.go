// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
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
		return verdict.TryAgain(unseen.Error()), nil
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

// unmet returns the claims of a finish call, or the demands of the task, that do not hold; "" if all do.
func (r *run) unmet(ctx context.Context, c *turn.Call, args toolapi.FinishArgs) (string, error) {
	if args.Status == toolapi.FinishFailed {
		return "", nil
	}
	files, succeeded := args.Files, args.Status == toolapi.FinishSucceeded
	if succeeded {
		if why := verdict.ValueMisfit(r.cfg.Accept, args.Value); why != "" {
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

// close records the end of an attempt whose last turn has an accepted finish call. It does not wait for a sandbox: the sandbox is no longer
// needed, and its loss must not cost the accepted end.
func (r *run) close(ctx context.Context, out outcome.Outcome) error {
	if out.Kind != outcome.Completed || r.turns[len(r.turns)-1].Closes {
		return nil
	}
	t := record.Closing(r.turns, out)
	if err := r.journal.Append(ctx, t); err != nil {
		return err
	}
	r.turns = append(r.turns, t)
	return nil
}
