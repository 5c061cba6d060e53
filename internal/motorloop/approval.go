// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"log/slog"
	"slices"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	noApprovalText = "nobody can be asked for approval here: decide by what the task says, and say in your result what you left out"
	approvedText   = "The person approved it: go on."
	deniedText     = "The person decided that this must not be done. Go on without it, and do not bring it about in another way."
	expiredText    = "Nobody approved this in time, so it was not done. Go on without it, and say in your result what is left to do."
	notAgainText   = "No, do not make it again."
	noRetryText    = "Nobody saw this call end, and nobody approved in time that it is made again. It may have done all of its work, a part, " +
		"or nothing. Look at what it changed, and go on without making it again."
)

// waiting is a call that waits for a person; see Outcome.
type waiting struct {
	call *Call
	// approval is the execution that is to be approved, "" if the person is asked something else.
	approval string
}

func (w *waiting) outcome() Outcome {
	return Outcome{Kind: Awaiting, Waiting: w.call, Approval: w.approval}
}

// approval is the request to approve an execution, false if there is none.
func (t *Turn) approval(execution string) (Approval, bool) {
	i := slices.IndexFunc(t.Approvals, func(a Approval) bool { return a.Execution == execution })
	if i < 0 {
		return Approval{}, false
	}
	return t.Approvals[i], true
}

// putApproval adds a request to the turn, or gives one that is there its outcome.
func (t *Turn) putApproval(a Approval) {
	i := slices.IndexFunc(t.Approvals, func(b Approval) bool { return a.Execution == b.Execution })
	if i < 0 {
		t.Approvals = append(t.Approvals, a)
		return
	}
	t.Approvals[i] = a
}

// leave says whether an execution of a call may be made: if neither a result nor what is waited for is given. A request
// that was made once is waited for, whatever the policy says by now.
func (r *run) leave(ctx context.Context, t *Turn, c *Call, execution string) (*toolapi.Result, *waiting, error) {
	if r.policy == nil {
		return nil, nil, nil
	}
	if _, asked := t.approval(execution); !asked && !r.policy.NeedsApproval(*c) {
		return nil, nil, nil
	}
	outcome, err := r.approved(ctx, t, c, execution)
	switch {
	case err != nil:
		return nil, nil, err
	case outcome == "":
		return nil, &waiting{call: new(*c), approval: execution}, nil
	case outcome == ApprovalApproved:
		return nil, nil, nil
	}
	return notApproved(outcome, execution != c.ID), nil, nil
}

// approved gives what became of the request to approve an execution, "" while that is open. Request and outcome are
// recorded, before anybody is asked and before anything follows from them. A recorded outcome counts for ever.
//
//	none ──► recorded ──► asked ──► Approved, Denied, Expired ──► recorded ──► executed, or a result
func (r *run) approved(ctx context.Context, t *Turn, c *Call, execution string) (ApprovalOutcome, error) {
	recorded, asked := t.approval(execution)
	if recorded.Outcome != "" {
		return recorded.Outcome, nil
	}
	now, decided := r.policy.Decision(*c, execution)
	if asked && !decided {
		return "", nil
	}
	t.putApproval(now)
	r.unrecorded = true
	if err := r.settle(ctx, t); err != nil {
		return "", err
	}
	// Another loop may have been faster, and what is recorded counts.
	recorded, _ = t.approval(execution)
	r.log.LogAttrs(ctx, slog.LevelInfo, "approval of a tool call", slog.String("call", execution), slog.String("tool", c.Tool),
		slog.String("outcome", string(recorded.Outcome)), slog.String("by", recorded.By))
	return recorded.Outcome, nil
}

// notApproved is the result of a call that is not made. One that was made before, and whose end nobody saw, may have done
// its work all the same.
func notApproved(outcome ApprovalOutcome, madeBefore bool) *toolapi.Result {
	switch {
	case outcome == ApprovalDenied && madeBefore:
		return refusal(toolapi.CodeSkipped, notAgainText)
	case outcome == ApprovalDenied:
		return refusal(toolapi.CodeApprovalDenied, deniedText)
	case madeBefore:
		return refusal(toolapi.CodeOutcomeUnknown, noRetryText)
	}
	return refusal(toolapi.CodeApprovalExpired, expiredText)
}

// requestApproval gives the result of a request for approval that the model makes by itself. It is decided in its place,
// like the approval of an execution of it: what comes after it may depend on it.
func (r *run) requestApproval(ctx context.Context, t *Turn, c *Call) (*toolapi.Result, *waiting, error) {
	if r.policy == nil {
		return refusal(toolapi.CodeApprovalDenied, noApprovalText), nil, nil
	}
	outcome, err := r.approved(ctx, t, c, c.ID)
	switch {
	case err != nil:
		return nil, nil, err
	case outcome == "":
		return nil, &waiting{call: new(*c), approval: c.ID}, nil
	case outcome == ApprovalApproved:
		return &toolapi.Result{OK: true, Output: approvedText, Provenance: toolapi.ProvenanceInternal}, nil, nil
	}
	return notApproved(outcome, false), nil, nil
}

// forbidden gives the envelope of a call that the run may not make, nil if it may.
func (r *run) forbidden(t *Turn, c *Call) *toolapi.Result {
	if r.policy == nil {
		return nil
	}
	res := r.policy.Refuse(*c)
	if res == nil {
		return nil
	}
	return cleanResult(*res, outputShare(t))
}

// alreadyDone gives the result of a call that is not made because of one before it, nil if it is to be made.
func (r *run) alreadyDone(ctx context.Context, t *Turn, c *Call) (*toolapi.Result, error) {
	if r.policy == nil || toolapi.Repeatable(c.Tool) || toolapi.WaitsForPerson(c.Tool) {
		return nil, nil
	}
	// It is found out from what is recorded, and the calls before it in the turn count too: those under a key, and those of
	// unknown outcome.
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
func (r *run) key(c *Call) string {
	if r.policy == nil {
		return ""
	}
	return r.policy.Key(*c)
}
