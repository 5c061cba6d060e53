// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Shown returns an ask of the step in the form that a person is shown.
func Shown(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep, a *v1alpha1.StepAsk) *v1alpha1.PendingInput {
	c := calls.CallOf(s, a.CallID)
	if c == nil {
		return nil
	}
	p := &v1alpha1.PendingInput{
		ID: a.ID, Kind: a.Kind, StepName: s.Name, AskTime: a.AskTime, ExpirationTime: a.ExpirationTime, OnTimeout: a.OnTimeout,
	}
	switch a.Kind {
	case v1alpha1.InputQuestion:
		showQuestion(p, c)
	case v1alpha1.InputDomainRequest:
		showDomainRequest(p, a, c)
	case v1alpha1.InputApproval:
		showApproval(p, run, s, a, c)
	case v1alpha1.InputOutcomeUnknown:
		showOutcomeUnknown(p, s, a, c)
	case v1alpha1.InputRetry, v1alpha1.InputBudgetExhausted:
	}
	return p
}

func showQuestion(p *v1alpha1.PendingInput, c *v1alpha1.ToolCall) {
	args, err := toolapi.ParseAskUser(c.Arguments)
	if err != nil {
		return
	}
	p.Options = make([]string, 0, len(args.Options))
	for _, o := range args.Options {
		p.Options = append(p.Options, fit.CutEncoded(o, toolapi.MaxOption))
	}
	for _, f := range args.Files {
		p.Files = append(p.Files, fit.CutEncoded(f, toolapi.MaxAskFile))
	}
	p.Title, p.Question, p.Default = fit.Title(args.Question), fit.CutEncoded(args.Question, toolapi.MaxQuestion), fit.CutEncoded(args.Default, toolapi.MaxOption)
}

func showDomainRequest(p *v1alpha1.PendingInput, a *v1alpha1.StepAsk, c *v1alpha1.ToolCall) {
	rule, reason, err := parseDomainRequest(c.Arguments)
	if err != nil {
		return
	}
	p.Title, p.Question, p.Domain = fit.Title(fmt.Sprintf("Reach %s?", rule)), requestText(rule, reason), a.Domain
	p.Options = []string{string(v1alpha1.DecisionAllowOnce), string(v1alpha1.DecisionAllowRun), string(v1alpha1.DecisionDeny)}
}

// busySince returns when all results of the step until now were done. It is whole seconds, like every time that is written to the API, so that the
// value that is read back is equal to it.
func busySince(s *v1alpha1.MotorStep) time.Time {
	var took time.Duration
	for i := range s.Status.Results {
		took += tookOf(&s.Status.Results[i])
	}
	at := s.CreationTimestamp.Add(took)
	for i := range s.Status.Unknown {
		// The time of an execution that was broken off is in no result.
		u := &s.Status.Unknown[i]
		if r := calls.ResultOf(s, u.CallID); r != nil && u.DetectionTime.Add(tookOf(r)).After(at) {
			at = u.DetectionTime.Add(tookOf(r))
		}
	}
	for _, a := range s.Status.Asks {
		// The time for an approval is in no result before the call has one.
		if a.CloseTime.After(at) {
			at = a.CloseTime.Time
		}
	}
	return at.Add(time.Second - 1).Truncate(time.Second)
}

// tookOf returns how long a call took, including the time of a person's decision about it.
func tookOf(r *v1alpha1.ToolResult) time.Duration {
	return time.Duration(r.DurationMilliseconds+r.WaitedMilliseconds) * time.Millisecond
}

// showOutcomeUnknown asks for the outcome of an execution whose end was not observed.
func showOutcomeUnknown(p *v1alpha1.PendingInput, s *v1alpha1.MotorStep, a *v1alpha1.StepAsk, c *v1alpha1.ToolCall) {
	what := callText(c.Tool, fit.OneLine(c.Arguments, fit.MaxHead))
	check := ""
	if s.Spec.Checks {
		check = " It is a check of spec.accept: as if it had succeeded means that the run counts as done if the others hold, and without it that it does not."
	}
	p.Title = fit.Title("Outcome unknown: " + what)
	p.Question = fit.CutEncoded(fmt.Sprintf(
		"The sandbox's tool server ended in the middle of the call %s, between %s and %s. The call may have done all of its work, a "+
			"part, or nothing. Find out which, and decide Retry to have it made again, Done to go on as if it had succeeded, or Skip to go on "+
			"without it. The reason of Done and Skip is shown to the model.%s",
		what, notBefore(s, a).UTC().Format(time.RFC3339), a.AskTime.UTC().Format(time.RFC3339), check),
		toolapi.MaxQuestion)
	for _, d := range unknownDecisions {
		p.Options = append(p.Options, string(d))
	}
}

// callText names a call for a person.
func callText(tool, arguments string) string {
	if arguments == "" {
		return fit.OneLine(tool, maxTool)
	}
	return fit.OneLine(tool, maxTool) + " " + arguments
}

// notBefore returns the earliest time at which an execution can have begun whose end was not observed. It is when the step was recorded, when the
// execution before it was found to have ended so, or when a person last responded to an ask of the step.
func notBefore(s *v1alpha1.MotorStep, open *v1alpha1.StepAsk) time.Time {
	at := s.CreationTimestamp.Time
	for _, a := range s.Status.Asks {
		if a.ID != open.ID && a.CloseTime.After(at) {
			at = a.CloseTime.Time
		}
	}
	for i := range s.Status.Unknown {
		if u := &s.Status.Unknown[i]; u.Execution != open.Execution && u.DetectionTime.After(at) {
			at = u.DetectionTime.Time
		}
	}
	if at.After(open.AskTime.Time) {
		// The API server's clock and the manager's are not the same.
		return open.AskTime.Time
	}
	return at
}
