// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"slices"

	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	noApprovalText = "no person can be asked for approval here: decide by what the task says, and say in your result what you left out"
	approvedText   = "The person approved it: go on."
	deniedText     = "The person said no to this call, and nothing of it was done. Go on without it, and do not bring it about in another way."
	expiredText    = "The person said nothing in time. Go on without it, and say in your result what is left to do."
	notAgainText   = "No, do not make it again."
	saysLead       = "\nThe person says: "
	noRetryText    = "The end of this call is unknown, and no person approved in time that it is made again. It may have done all of its work, a part, " +
		"or nothing. Look at what it changed, and go on without making it again."
)

// leave decides whether an execution of a call may be made. It may if neither a result nor an open ask is returned. A recorded ask is
// waited for, even if the policy has changed since.
func (r *run) leave(ctx context.Context, t *turn.Turn, c *turn.Call, execution string) (*toolapi.Result, *turn.Ask, error) {
	if r.policy == nil {
		return nil, nil, nil
	}
	if _, asked := t.Ask(turn.AskApproval, execution); !asked && !r.policy.NeedsApproval(*c) {
		return nil, nil, nil
	}
	a, err := r.asked(ctx, t, turn.AskApproval, c, execution)
	switch {
	case err != nil:
		return nil, nil, err
	case a.Outcome == "":
		return nil, &a, nil
	case a.Outcome == turn.AskApproved:
		return nil, nil, nil
	}
	return notApproved(a, execution != c.ID, record.OutputShare(t)), nil, nil
}

// notApproved is the result of a call that is not made. A call that was made before, and whose end was not seen, may have had its effect
// all the same.
func notApproved(a turn.Ask, madeBefore bool, share int) *toolapi.Result {
	switch {
	case a.Outcome == turn.AskDenied && madeBefore:
		return result.WithReason(result.Refusal(toolapi.CodeSkipped, notAgainText), " ", a.Reason, share)
	case a.Outcome == turn.AskDenied:
		return result.WithReason(result.Refusal(toolapi.CodeApprovalDenied, deniedText), saysLead, a.Reason, share)
	case madeBefore:
		return result.Refusal(toolapi.CodeOutcomeUnknown, noRetryText)
	}
	return result.Refusal(toolapi.CodeApprovalExpired, expiredText)
}

// requestApproval returns the result of a request for approval that the model makes by itself. The request is decided in its position in
// the turn, like the approval of an execution of it: the calls after it may depend on it.
func (r *run) requestApproval(ctx context.Context, t *turn.Turn, c *turn.Call) (*toolapi.Result, *turn.Ask, error) {
	if r.policy == nil {
		return result.Refusal(toolapi.CodeApprovalDenied, noApprovalText), nil, nil
	}
	a, err := r.asked(ctx, t, turn.AskApproval, c, c.ID)
	switch {
	case err != nil:
		return nil, nil, err
	case a.Outcome == "":
		return nil, &a, nil
	case a.Outcome == turn.AskApproved:
		res := &toolapi.Result{OK: true, Output: approvedText, Provenance: toolapi.ProvenanceInternal}
		return result.WithReason(res, saysLead, a.Reason, record.OutputShare(t)), nil, nil
	}
	return notApproved(a, false, record.OutputShare(t)), nil, nil
}

// forbidden returns the envelope of a call that the run may not make, nil if it may.
func (r *run) forbidden(t *turn.Turn, c *turn.Call) *toolapi.Result {
	if r.policy == nil {
		return nil
	}
	res := r.policy.Refuse(*c)
	if res == nil {
		return nil
	}
	return result.Clean(*res, record.OutputShare(t))
}

// alreadyDone returns the result of a call that is not made because of an earlier one, nil if it must be made.
func (r *run) alreadyDone(ctx context.Context, t *turn.Turn, c *turn.Call) (*toolapi.Result, error) {
	if r.policy == nil || toolapi.Repeatable(c.Tool) || toolapi.WaitsForPerson(c.Tool) {
		return nil, nil
	}
	// The reason is derived from the record. The calls before it in the turn count too: those under a key, and those of unknown outcome.
	if r.key(c) != "" || slices.ContainsFunc(t.Results, func(res *toolapi.Result) bool {
		return res != nil && (res.ErrorCode == toolapi.CodeOutcomeUnknown || res.ErrorCode == toolapi.CodeSkipped)
	}) {
		if err := r.settle(ctx, t); err != nil {
			return nil, err
		}
	}
	res := r.policy.Done(*c)
	if res == nil {
		return nil, nil
	}
	return r.marked(t, c, *res), nil
}

// key names the effect of a call that must not happen twice, "" for any other call.
func (r *run) key(c *turn.Call) string {
	if r.policy == nil {
		return ""
	}
	return r.policy.Key(*c)
}
