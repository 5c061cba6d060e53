// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Bounds of what is shown of a call that is to be approved, in bytes of JSON.
const (
	maxActionArguments = 4096
	maxActionReason    = 512
	// maxActionHead is for the arguments in the question.
	maxActionHead = 300
)

// approvalQuestion asks whether an execution of a call may be made. Who writes the step has found that it needs approval,
// and that nothing else speaks against it.
func approvalQuestion(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep, c *v1alpha1.ToolCall, a *v1alpha1.StepApproval) *v1alpha1.PendingInput {
	p := &v1alpha1.PendingInput{
		ID:    ApprovalID(s, a.Execution),
		Kind:  v1alpha1.InputApproval,
		Title: Title(fmt.Sprintf("Approve %s?", strings.TrimSuffix(headline(c), "?"))),
		Action: &v1alpha1.PendingAction{
			Tool: CutEncoded(c.Tool, maxTool), Arguments: cutMiddle(DisplayArguments(c.Arguments), maxActionArguments),
			ArgsDigest: a.ArgsDigest, Reason: CutEncoded(approvalReason(run, c), maxActionReason), Check: s.Spec.Checks,
		},
		Options:   []string{string(v1alpha1.DecisionApprove), string(v1alpha1.DecisionDeny)},
		Step:      s.Name,
		AskedAt:   a.AskedAt,
		ExpiresAt: metav1.NewTime(approvalExpires(run, a)),
	}
	p.Question = approvalText(run, p)
	return p
}

// PendingApproval is the question that was asked about an execution of a call of the step, nil if none was.
func PendingApproval(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep, execution string) *v1alpha1.PendingInput {
	i := slices.IndexFunc(s.Status.Approvals, func(a v1alpha1.StepApproval) bool { return a.Execution == execution })
	if i < 0 {
		return nil
	}
	a := &s.Status.Approvals[i]
	n := slices.IndexFunc(s.Spec.ToolCalls, func(c v1alpha1.ToolCall) bool { return c.ID == a.CallID })
	if n < 0 {
		return nil
	}
	return approvalQuestion(run, s, &s.Spec.ToolCalls[n], a)
}

// approvalText is what a person is asked, and how to decide.
func approvalText(run *v1alpha1.MotorRun, p *v1alpha1.PendingInput) string {
	var b strings.Builder
	who := "The model wants to make the call"
	if p.Action.Check {
		who = "The model says that the task is done. To see whether it is, spec.accept, or accept in the policy of its skill, has the run make the call"
	}
	fmt.Fprintf(&b, "%s %s.", who, callText(p.Action.Tool, CutEncoded(p.Action.Arguments, maxActionHead)))
	if p.Action.Reason != "" {
		fmt.Fprintf(&b, " It needs approval: %s.", CutEncoded(p.Action.Reason, maxActionHead))
	}
	fmt.Fprintf(&b, "\nstatus.pendingInput.step has it whole. To approve it, this once, or to Deny it, add a response before %s; then it counts as denied:\n"+
		`kubectl -n %s patch motorrun %s --type=json -p '[{"op":"add","path":"/spec/responses/-","value":{"id":"%s","decision":"Approve","digest":"%s"}}]'`,
		p.ExpiresAt.UTC().Format(time.RFC3339), run.Namespace, run.Name, p.ID, p.Action.ArgsDigest)
	return b.String()
}

// headline names a call by what matters most of it, in one line.
func headline(c *v1alpha1.ToolCall) string {
	what := ""
	switch c.Tool {
	case toolapi.ToolBash:
		what = shownArgument(c, argCommand)
	case toolapi.ToolFetch:
		if method, url, err := requestLine(c.Arguments); err == nil {
			what = shown(method + " " + url)
		}
	case toolapi.ToolRequestApproval:
		if what = shownArgument(c, argAction); what != "" {
			return what
		}
	}
	if what == "" {
		return callText(shown(c.Tool), shown(c.Arguments))
	}
	return c.Tool + ": " + what
}

const (
	argAction = "action"
	argReason = "reason"
)

// shownArgument is an argument as it can be shown, "" if the call has no such text.
func shownArgument(c *v1alpha1.ToolCall, name string) string {
	text, err := textArgument(c.Arguments, name)
	if err != nil {
		return ""
	}
	return shown(text)
}

// approvalReason says why the call needs approval: by a rule, or because the model asks for it.
func approvalReason(run *v1alpha1.MotorRun, c *v1alpha1.ToolCall) string {
	if c.Tool != toolapi.ToolRequestApproval {
		return ApprovalReason(run, c.Tool, c.Arguments)
	}
	if why := shownArgument(c, argReason); why != "" {
		return "the model is in doubt: " + why
	}
	return "the model is in doubt"
}

func approvalExpires(run *v1alpha1.MotorRun, a *v1alpha1.StepApproval) time.Time {
	return a.AskedAt.Add(time.Duration(run.Spec.Limits.ApprovalSeconds) * time.Second)
}

// DecideApproval says what became of a request to approve an execution of a call of the step, and the response that says so: "" as long
// as it is open. A decision counts if it names the digest of what was asked about, and is put to use in time.
func DecideApproval(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep, a *v1alpha1.StepApproval, now time.Time) (v1alpha1.ApprovalOutcome, v1alpha1.Response) {
	if !now.Before(approvalExpires(run, a)) {
		return v1alpha1.ApprovalExpired, v1alpha1.Response{}
	}
	id := ApprovalID(s, a.Execution)
	for i := range run.Spec.Responses {
		r := &run.Spec.Responses[i]
		if r.ID != id || !fits(r, v1alpha1.InputApproval, a.ArgsDigest) {
			continue
		}
		if r.Decision == v1alpha1.DecisionApprove {
			return v1alpha1.ApprovalApproved, *r
		}
		return v1alpha1.ApprovalDenied, *r
	}
	return "", v1alpha1.Response{}
}

// AwaitsApproval says whether a call of the step has no result because somebody is to approve it: then its arguments are
// shown.
func AwaitsApproval(s *v1alpha1.MotorStep, callID string) bool {
	a := approvalOf(s, callID)
	return a != nil && a.Outcome == "" && resultOf(s, callID) == nil
}

// approvalOf is the last request to approve an execution of the call, nil if there is none.
func approvalOf(s *v1alpha1.MotorStep, callID string) *v1alpha1.StepApproval {
	for i := range slices.Backward(s.Status.Approvals) {
		if s.Status.Approvals[i].CallID == callID {
			return &s.Status.Approvals[i]
		}
	}
	return nil
}

// isOver says whether it is known of the execution that a request is about that nobody saw its end.
func isOver(s *v1alpha1.MotorStep, a *v1alpha1.StepApproval) bool {
	return slices.ContainsFunc(s.Status.Unknown, func(u v1alpha1.UnknownExecution) bool { return u.Execution == a.Execution })
}

// approvalWaits is how long people took to approve calls that have no result yet. What a result has to say of it, and
// what askedBefore counts, is not in it, nor what is still open.
func approvalWaits(s *v1alpha1.MotorStep) time.Duration {
	var sum time.Duration
	for i := range s.Status.Approvals {
		a := &s.Status.Approvals[i]
		if resultOf(s, a.CallID) != nil {
			continue
		}
		until := a.AskedAt
		if a.Outcome != "" {
			until = a.DecidedAt
		}
		u := lastUnknown(s, a.CallID)
		switch {
		case a.Execution == a.CallID:
			sum += max(0, until.Sub(a.AskedAt.Time))
		case u != nil && !isOver(s, a):
			// It was asked because somebody has it made again.
			sum += max(0, until.Sub(u.FoundAt.Time))
		}
	}
	return sum
}
