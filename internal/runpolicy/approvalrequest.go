// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Bounds of the text about a call that needs approval, in bytes of JSON.
const (
	maxActionArguments = 4096
	maxActionReason    = 512
	// maxActionHead is for the arguments in the question.
	maxActionHead = 300
)

// showApproval asks whether an execution of a call may be made. The writer of the step has found that it needs approval, and that no other rule
// forbids it.
func showApproval(p *v1alpha1.PendingInput, run *v1alpha1.MotorRun, s *v1alpha1.MotorStep, a *v1alpha1.StepAsk, c *v1alpha1.ToolCall) {
	p.ExpirationTime = metav1.NewTime(ExpiresAt(run, a))
	p.Title = fit.Title(fmt.Sprintf("Approve %s?", strings.TrimSuffix(headline(c), "?")))
	p.Action = &v1alpha1.PendingAction{
		Tool: fit.CutEncoded(c.Tool, maxTool), Arguments: fit.CutMiddle(calls.DisplayArguments(c.Arguments), maxActionArguments),
		ArgsDigest: a.Digest, Reason: fit.CutEncoded(approvalReason(run, c, a.Rule), maxActionReason), Rule: a.Rule, Check: s.Spec.Checks,
	}
	for _, d := range approvalDecisions(a.Rule) {
		p.Options = append(p.Options, string(d))
	}
	p.Question = approvalText(run, p)
}

// approvalText returns the question to a person, and how to decide.
func approvalText(run *v1alpha1.MotorRun, p *v1alpha1.PendingInput) string {
	var b strings.Builder
	who := "The model wants to make the call"
	if p.Action.Check {
		who = "The model says that the task is done. To see whether it is, spec.accept, or accept in the policy of its skill, has the run make the call"
	}
	fmt.Fprintf(&b, "%s %s.", who, callText(p.Action.Tool, fit.CutEncoded(p.Action.Arguments, maxActionHead)))
	if p.Action.Reason != "" {
		fmt.Fprintf(&b, " It needs approval: %s.", fit.CutEncoded(p.Action.Reason, maxActionHead))
	}
	decisions := string(v1alpha1.DecisionApproveOnce) + ", or Deny it"
	if p.Action.Rule != "" {
		decisions = fmt.Sprintf("%s, %s (which also approves every further call of %s in this run that needs approval by %s), or Deny it",
			v1alpha1.DecisionApproveOnce, v1alpha1.DecisionApproveRun, p.Action.Tool, p.Action.Rule)
	}
	fmt.Fprintf(&b, "\nstatus.pendingInputs[].stepName has it whole. Decide %s, with a response before %s; then it counts as denied:\n"+
		`kubectl -n %s patch motorrun %s --type=json -p '[{"op":"add","path":"/spec/responses/-","value":{"id":"%s","decision":"ApproveOnce","digest":"%s"}}]'`,
		decisions, p.ExpirationTime.UTC().Format(time.RFC3339), run.Namespace, run.Name, p.ID, p.Action.ArgsDigest)
	return b.String()
}

// headline names a call by its most important part, in one line.
func headline(c *v1alpha1.ToolCall) string {
	what := ""
	switch c.Tool {
	case toolapi.ToolBash:
		what = shownArgument(c, calls.ArgCommand)
	case toolapi.ToolFetch:
		if method, url, err := calls.RequestLine(c.Arguments); err == nil {
			what = calls.Shown(method + " " + url)
		}
	case toolapi.ToolRequestApproval:
		if what = shownArgument(c, argAction); what != "" {
			return what
		}
	}
	if what == "" {
		return callText(calls.Shown(c.Tool), calls.Shown(c.Arguments))
	}
	return c.Tool + ": " + what
}

const (
	argAction = "action"
	argReason = "reason"
)

// shownArgument returns an argument as it can be shown, "" if the call has no such text.
func shownArgument(c *v1alpha1.ToolCall, name string) string {
	text, err := calls.TextArgument(c.Arguments, name)
	if err != nil {
		return ""
	}
	return calls.Shown(text)
}

// approvalReason returns why the call needs approval: by a rule, the first one if none is named, or because the model asks for it.
func approvalReason(run *v1alpha1.MotorRun, c *v1alpha1.ToolCall, rule string) string {
	if c.Tool != toolapi.ToolRequestApproval {
		rules := calls.ApprovalRules(run, c.Tool, c.Arguments)
		for _, r := range rules {
			if r.Name == rule && rule != "" || rule == "" && r.Name == "" {
				return r.Reason
			}
		}
		if len(rules) == 0 {
			return ""
		}
		return rules[0].Reason
	}
	if why := shownArgument(c, argReason); why != "" {
		return "the model is in doubt: " + why
	}
	return "the model is in doubt"
}
