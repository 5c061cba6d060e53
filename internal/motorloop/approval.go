// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	noApprovalText = "nobody can be asked for approval here: decide by what the task says, and say in your result what you left out"
	approvedText   = "The person approved it: go on."
	deniedText     = "The person said no to this call, and nothing of it was done. Go on without it, and do not bring it about in another way."
	expiredText    = "The person said nothing in time. Go on without it, and say in your result what is left to do."
	notAgainText   = "No, do not make it again."
	saysLead       = "\nThe person says: "
	noRetryText    = "Nobody saw this call end, and nobody approved in time that it is made again. It may have done all of its work, a part, " +
		"or nothing. Look at what it changed, and go on without making it again."
)

// Approval is a request to approve an execution of a call, and what became of it. It is recorded before anybody is asked,
// and its outcome before anything follows from that.
type Approval struct {
	Execution string
	// CallID is the ID of the call.
	CallID string
	// ArgsDigest is "sha256:…" of tool and arguments.
	ArgsDigest string
	// Outcome is "" until there is one.
	Outcome ApprovalOutcome
	// By is who decided, "" if nobody did.
	By string
	// Reason is what the person says of it, "" for nothing.
	Reason string
	// DecidedAt is zero as long as there is no Outcome.
	AskedAt, DecidedAt time.Time
}

// ApprovalOutcome is what became of a request for approval.
type ApprovalOutcome string

const (
	ApprovalApproved ApprovalOutcome = "Approved"
	ApprovalDenied   ApprovalOutcome = "Denied"
	// ApprovalExpired: nobody decided in time.
	ApprovalExpired ApprovalOutcome = "Expired"
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
	a, err := r.approved(ctx, t, c, execution)
	switch {
	case err != nil:
		return nil, nil, err
	case a.Outcome == "":
		return nil, &waiting{call: new(*c), approval: execution}, nil
	case a.Outcome == ApprovalApproved:
		return nil, nil, nil
	}
	return notApproved(a, execution != c.ID, outputShare(t)), nil, nil
}

// approved gives the request to approve an execution, whose outcome is "" while that is open. Request and outcome are
// recorded, before anybody is asked and before anything follows from them. A recorded outcome counts for ever.
//
//	none ──► recorded ──► asked ──► Approved, Denied, Expired ──► recorded ──► executed, or a result
func (r *run) approved(ctx context.Context, t *Turn, c *Call, execution string) (Approval, error) {
	recorded, asked := t.approval(execution)
	if recorded.Outcome != "" {
		return recorded, nil
	}
	now, decided := r.policy.Decision(*c, execution)
	if asked && !decided {
		return recorded, nil
	}
	t.putApproval(now)
	r.unrecorded = true
	if err := r.settle(ctx, t); err != nil {
		return Approval{}, err
	}
	// Another loop may have been faster, and what is recorded counts.
	recorded, _ = t.approval(execution)
	r.log.LogAttrs(ctx, slog.LevelInfo, "approval of a tool call", slog.String("call", execution), slog.String("tool", c.Tool),
		slog.String("outcome", string(recorded.Outcome)), slog.String("by", recorded.By))
	return recorded, nil
}

// withReason is the result of what a person decided, with what the person says of it: these are instructions, word for word. What code
// and output say before ends with lead.
func withReason(res *toolapi.Result, lead, reason string, share int) *toolapi.Result {
	reason = strings.ToValidUTF8(reason, "\uFFFD")
	if strings.TrimSpace(reason) == "" {
		return res
	}
	res.Output = cut(res.Output+lead+reason, toolapi.MaxOutputBytes, share, outputCutMark)
	res.Provenance = toolapi.ProvenanceUser
	return res
}

// approvalNote tells that a person approved the call, and what they say of it. The result is the call's own, and has no room for it.
func (t *Turn) approvalNote(i int) string {
	c := t.Calls[i]
	if c.Tool == toolapi.ToolRequestApproval || i >= len(t.Results) || t.Results[i] == nil {
		return ""
	}
	var note strings.Builder
	for _, a := range t.Approvals {
		switch {
		case a.CallID != c.ID || a.Outcome != ApprovalApproved:
		case a.Reason != "":
			fmt.Fprintf(&note, "\n[the person approved this call, and says: %s]", a.Reason)
		default:
			note.WriteString("\n[the person approved this call]")
		}
	}
	return note.String()
}

// notApproved is the result of a call that is not made. One that was made before, and whose end nobody saw, may have done
// its work all the same.
func notApproved(a Approval, madeBefore bool, share int) *toolapi.Result {
	switch {
	case a.Outcome == ApprovalDenied && madeBefore:
		return withReason(refusal(toolapi.CodeSkipped, notAgainText), " ", a.Reason, share)
	case a.Outcome == ApprovalDenied:
		return withReason(refusal(toolapi.CodeApprovalDenied, deniedText), saysLead, a.Reason, share)
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
	a, err := r.approved(ctx, t, c, c.ID)
	switch {
	case err != nil:
		return nil, nil, err
	case a.Outcome == "":
		return nil, &waiting{call: new(*c), approval: c.ID}, nil
	case a.Outcome == ApprovalApproved:
		res := &toolapi.Result{OK: true, Output: approvedText, Provenance: toolapi.ProvenanceInternal}
		return withReason(res, saysLead, a.Reason, outputShare(t)), nil, nil
	}
	return notApproved(a, false, outputShare(t)), nil, nil
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
