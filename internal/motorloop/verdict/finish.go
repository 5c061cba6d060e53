// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"fmt"
	"slices"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// LastClaim returns the summary of the last finish call, "" if there is no readable one.
func LastClaim(turns []*turn.Turn) string {
	for _, t := range slices.Backward(turns) {
		for _, c := range slices.Backward(t.Calls) {
			if c.Tool != toolapi.ToolFinish {
				continue
			}
			if args, err := toolapi.ParseFinish(catalog.ObjectOrEmpty(c.Arguments)); err == nil {
				return args.Summary
			}
		}
	}
	return ""
}

// TryAgain is the result of a finish call that failed for a reason outside of the model. Its repetition does not count as a circle.
func TryAgain(why string) *toolapi.Result {
	res := result.Refusal(result.CodeNotFinished, why)
	res.Retryable = true
	return res
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
	return outcome.Outcome{Kind: outcome.Failed, Partial: text.Cut(text.Printable(summary), MaxPartial, MaxPartial, "…"), Failure: &outcome.Failure{
		Category: outcome.Incomplete, Reason: reason, Retryable: true, Message: fmt.Sprintf("%s, and says: %s", what, text.Cut(summary, maxSaid, 2*maxSaid, "…")),
	}}
}

// MaxPartial is the most bytes of a partial result, as such and as JSON.
const MaxPartial = 4096

// maxSaid is the most bytes of the model's text that the message of a failure repeats.
const maxSaid = 700
