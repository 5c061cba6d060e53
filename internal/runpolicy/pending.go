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

// questionSuffix is how many digits of its step's UID a question's id ends with.
const questionSuffix = 8

// QuestionID is the id under which a call of the step, or an execution of it, waits for an answer. It ends with a part of
// the step's UID, which the API server draws, so that nobody can answer a question before it was asked.
func QuestionID(s *v1alpha1.MotorStep, id string) string {
	uid := strings.ReplaceAll(string(s.UID), "-", "")
	return id + "-" + uid[:min(len(uid), questionSuffix)]
}

// pendingOf gives what a step waits for: first that somebody approves a call, or says what became of it, because the calls
// after it wait too, then an answer to a question, when everything else of the turn is done.
func pendingOf(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep) *v1alpha1.PendingInput {
	settled := true
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		if resultOf(s, c.ID) != nil {
			continue
		}
		a := approvalOf(s, c.ID)
		if a != nil && a.Outcome == "" {
			return approvalQuestion(run, s, c, a)
		}
		u := lastUnknown(s, c.ID)
		if u != nil && u.Policy == string(v1alpha1.UnknownAskPerson) && (a == nil || isOver(s, a)) {
			return outcomeQuestion(run, s, c, u)
		}
		settled = settled && asksLast(c.Tool)
	}
	for i := range s.Spec.ToolCalls {
		if !settled || resultOf(s, s.Spec.ToolCalls[i].ID) != nil {
			continue
		}
		if q := question(run, s, i); q != nil {
			return q
		}
	}
	return nil
}

// asksLast says whether the calls of a tool ask a person when everything else of their turn is done.
func asksLast(tool string) bool {
	return tool == toolapi.ToolAskUser || tool == toolapi.ToolRequestDomain
}

// question gives what call i of the step asks a person, nil if it asks nothing: a call that the loop is about to refuse
// must reach nobody, because the loop stops while somebody is asked.
func question(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep, i int) *v1alpha1.PendingInput {
	c := &s.Spec.ToolCalls[i]
	if i >= toolapi.MaxCalls {
		return nil
	}
	var q *v1alpha1.PendingInput
	switch c.Tool {
	case toolapi.ToolAskUser:
		q = userQuestion(c)
	case toolapi.ToolRequestDomain:
		q = domainQuestion(run, c)
	}
	if q == nil {
		return nil
	}
	asked := AskedAt(s)
	q.ID, q.Step, q.AskedAt = QuestionID(s, c.ID), s.Name, metav1.NewTime(asked)
	q.ExpiresAt = metav1.NewTime(asked.Add(time.Duration(run.Spec.Limits.AwaitingInputSeconds) * time.Second))
	return q
}

func userQuestion(c *v1alpha1.ToolCall) *v1alpha1.PendingInput {
	args, err := toolapi.ParseAskUser(c.Arguments)
	if err != nil {
		return nil
	}
	options := make([]string, 0, len(args.Options))
	for _, o := range args.Options {
		options = append(options, CutEncoded(o, toolapi.MaxOption))
	}
	return &v1alpha1.PendingInput{
		Kind:     v1alpha1.InputQuestion,
		Title:    Title(args.Question),
		Question: CutEncoded(args.Question, toolapi.MaxQuestion),
		Options:  options,
		Default:  CutEncoded(args.Default, toolapi.MaxOption),
	}
}

func domainQuestion(run *v1alpha1.MotorRun, c *v1alpha1.ToolCall) *v1alpha1.PendingInput {
	rule, reason, err := ParseDomainRequest(c.Arguments)
	if err != nil || !OffersDomainRequest(run) {
		return nil
	}
	return &v1alpha1.PendingInput{
		Kind:     v1alpha1.InputDomainRequest,
		Title:    Title(fmt.Sprintf("Reach %s?", rule)),
		Question: requestText(rule, reason),
		Domain:   v1alpha1.Domain(rule.String()),
		Options:  []string{string(v1alpha1.DecisionAllowOnce), string(v1alpha1.DecisionAllowRun), string(v1alpha1.DecisionDeny)},
	}
}

// AskedAt is when the step's open question was asked: when everything of the step was done that has a result by now.
// It is whole seconds, like every time that is written to the API, so that what is read back is equal to it.
func AskedAt(s *v1alpha1.MotorStep) time.Time {
	var took time.Duration
	for i := range s.Status.Results {
		took += tookOf(&s.Status.Results[i])
	}
	at := s.CreationTimestamp.Add(took)
	for i := range s.Status.Unknown {
		// What a call took that was broken off is in no result.
		u := &s.Status.Unknown[i]
		if r := resultOf(s, u.CallID); r != nil && u.FoundAt.Add(tookOf(r)).After(at) {
			at = u.FoundAt.Add(tookOf(r))
		}
	}
	return at.Add(time.Second - 1).Truncate(time.Second)
}

// tookOf is how long a call took, with what a person took to decide about it.
func tookOf(r *v1alpha1.ToolResult) time.Duration {
	return time.Duration(r.DurationMs+r.WaitedMs) * time.Millisecond
}

// lastUnknown is the last execution of the call of which nobody saw the end, nil if there is none.
func lastUnknown(s *v1alpha1.MotorStep, callID string) *v1alpha1.UnknownExecution {
	for i := range slices.Backward(s.Status.Unknown) {
		if s.Status.Unknown[i].CallID == callID {
			return &s.Status.Unknown[i]
		}
	}
	return nil
}

// outcomeQuestion asks what became of an execution of which nobody saw the end.
func outcomeQuestion(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep, c *v1alpha1.ToolCall, u *v1alpha1.UnknownExecution) *v1alpha1.PendingInput {
	what := callText(c.Tool, oneLine(c.Arguments, maxHead))
	asked := u.FoundAt.Truncate(time.Second)
	check := ""
	if s.Spec.Checks {
		check = " It is a check of spec.accept: as if it had succeeded means that the run counts as done if the others hold, and without it that it does not."
	}
	return &v1alpha1.PendingInput{
		ID:    QuestionID(s, u.Execution),
		Kind:  v1alpha1.InputOutcomeUnknown,
		Title: Title("Outcome unknown: " + what),
		Question: CutEncoded(fmt.Sprintf(
			"The sandbox's tool server ended in the middle of the call %s, between %s and %s. The call may have done all of its work, a "+
				"part, or nothing. Find out which, and answer %s to have it made again, %s to go on as if it had succeeded, or %s to go on "+
				"without it. Any other text counts as %s and is shown to the model.%s",
			what, notBefore(s, u).UTC().Format(time.RFC3339), asked.UTC().Format(time.RFC3339), v1alpha1.UnknownRetry, v1alpha1.UnknownDone, v1alpha1.UnknownSkip, v1alpha1.UnknownSkip, check),
			toolapi.MaxQuestion),
		Options:   []string{v1alpha1.UnknownRetry, v1alpha1.UnknownSkip, v1alpha1.UnknownDone},
		Step:      s.Name,
		AskedAt:   metav1.NewTime(asked),
		ExpiresAt: metav1.NewTime(asked.Add(time.Duration(run.Spec.Limits.AwaitingInputSeconds) * time.Second)),
	}
}

// callText names a call for a person.
func callText(tool, arguments string) string {
	if arguments == "" {
		return oneLine(tool, maxTool)
	}
	return oneLine(tool, maxTool) + " " + arguments
}

// notBefore is the earliest that an execution can have begun of which nobody saw the end: when what came before it in the
// step was done.
func notBefore(s *v1alpha1.MotorStep, u *v1alpha1.UnknownExecution) time.Time {
	at := s.CreationTimestamp.Time
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		if c.ID == u.CallID {
			break
		}
		if r := resultOf(s, c.ID); r != nil {
			at = at.Add(tookOf(r))
		}
	}
	for i := range s.Status.Unknown {
		before := &s.Status.Unknown[i]
		if before.Execution == u.Execution {
			break
		}
		if before.FoundAt.After(at) {
			at = before.FoundAt.Time
		}
	}
	if at.After(u.FoundAt.Time) {
		// The API server's clock and the manager's are not the same.
		return u.FoundAt.Time
	}
	return at
}

// Answers gives the answers of the spec, for the questions of the steps: by call id for a question of the model's, where
// the answer to a request for a domain is the word of the decision and, from the next line on, its reason, and by execution id for a question about an execution of
// which nobody saw the end. Decisions about calls are none of them: see DecideApproval.
func Answers(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) map[string]string {
	byQuestion := make(map[string]*v1alpha1.Response, len(run.Spec.Responses))
	for i := range run.Spec.Responses {
		byQuestion[run.Spec.Responses[i].ID] = &run.Spec.Responses[i]
	}
	answers := map[string]string{}
	for i := range steps {
		s := &steps[i]
		for _, c := range s.Spec.ToolCalls {
			switch r := byQuestion[QuestionID(s, c.ID)]; {
			case r == nil:
			case c.Tool == toolapi.ToolAskUser && fits(r, v1alpha1.InputQuestion, ""):
				answers[c.ID] = r.Answer
			case c.Tool == toolapi.ToolRequestDomain && fits(r, v1alpha1.InputDomainRequest, ""):
				if answers[c.ID] = string(r.Decision); r.Reason != "" {
					answers[c.ID] += "\n" + r.Reason
				}
			}
		}
		for _, u := range s.Status.Unknown {
			r := byQuestion[QuestionID(s, u.Execution)]
			if r != nil && fits(r, v1alpha1.InputOutcomeUnknown, "") && u.Policy == string(v1alpha1.UnknownAskPerson) {
				answers[u.Execution] = r.Answer
			}
		}
	}
	return answers
}

// fits says whether a response is of the sort that a question of that kind takes, which for an approval means that it is
// about the call with that digest. The API refuses others once the question is shown, but not before.
func fits(r *v1alpha1.Response, kind v1alpha1.InputKind, digest string) bool {
	switch kind {
	case v1alpha1.InputDomainRequest:
		return r.Decision != ""
	case v1alpha1.InputApproval:
		return (r.Decision == v1alpha1.DecisionApprove || r.Decision == v1alpha1.DecisionDeny) && digest != "" && r.Digest == digest
	default:
		return r.Answer != ""
	}
}

// Answered says whether the spec has a response to the pending input. To one of kind Retry nobody responds: it goes away
// when the next attempt begins.
func Answered(run *v1alpha1.MotorRun, pending *v1alpha1.PendingInput) bool {
	if pending == nil || pending.Kind == v1alpha1.InputRetry {
		return false
	}
	digest := ""
	if pending.Action != nil {
		digest = pending.Action.ArgsDigest
	}
	return slices.ContainsFunc(run.Spec.Responses, func(r v1alpha1.Response) bool {
		return r.ID == pending.ID && fits(&r, pending.Kind, digest)
	})
}

// UnknownResponses describes the responses that answer nothing that was asked.
func UnknownResponses(run *v1alpha1.MotorRun, p Progress) []string {
	var unknown []string
	for i := range run.Spec.Responses {
		r := &run.Spec.Responses[i]
		kind, asked := p.Asked[r.ID]
		switch {
		case !asked:
			unknown = append(unknown, fmt.Sprintf("spec.responses[%d].id %q", i, r.ID))
		case !fits(r, kind, p.Approvals[r.ID].ArgsDigest):
			how := "that takes an answer"
			switch {
			case r.Digest != "":
				how = "with the digest that it names"
			case r.Decision != "" && kind == v1alpha1.InputApproval:
				how = "that takes a decision without a digest"
			case r.Decision != "":
				how = "that takes a decision"
			}
			unknown = append(unknown, fmt.Sprintf("spec.responses[%d].id %q %s", i, r.ID, how))
		}
	}
	return unknown
}
