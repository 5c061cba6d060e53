// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// NewAsk returns an ask about an execution of a call of the last step, as it is recorded at an instant. The steps are those of all attempts. Times
// are whole seconds, like every time that is written to the API, and never make a wait seem shorter than it was.
func NewAsk(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep, kind v1alpha1.InputKind, c *v1alpha1.ToolCall, execution string, now time.Time) v1alpha1.StepAsk {
	now = now.Truncate(time.Second)
	s := &steps[len(steps)-1]
	a := v1alpha1.StepAsk{
		ID: calls.AskID(s, kind, execution), Kind: kind, CallID: c.ID, Execution: execution,
		AskTime: metav1.NewTime(now), OnTimeout: v1alpha1.OnTimeoutFail,
	}
	seconds := run.Spec.Limits.InputDeadlineSeconds
	switch kind {
	case v1alpha1.InputApproval:
		seconds = run.Spec.Limits.ApprovalDeadlineSeconds
		a.Digest, a.OnTimeout = calls.ArgsDigest(c.Tool, c.Arguments), v1alpha1.OnTimeoutDeny
		if rule := calls.OpenRule(run, steps, c.Tool, c.Arguments); rule != nil && fit.EncodedSize(rule.Name) <= maxActionReason {
			a.Rule = rule.Name
		}
	case v1alpha1.InputDomainRequest:
		if rule, _, err := parseDomainRequest(c.Arguments); err == nil {
			a.Domain = v1alpha1.Domain(rule.String())
		}
	case v1alpha1.InputQuestion:
		if args, err := toolapi.ParseAskUser(c.Arguments); err == nil && args.Default != "" && usesDefaults(run) {
			a.OnTimeout = v1alpha1.OnTimeoutUseDefault
		}
	case v1alpha1.InputOutcomeUnknown, v1alpha1.InputRetry, v1alpha1.InputBudgetExhausted:
	}
	a.ExpirationTime = metav1.NewTime(now.Add(time.Duration(seconds) * time.Second))
	return a
}

func usesDefaults(run *v1alpha1.MotorRun) bool {
	return run.Spec.Questions != nil && run.Spec.Questions.OnTimeout == v1alpha1.OnTimeoutUseDefault
}

// CloseAsk returns an open ask with its outcome, false while it has none. A response that fits counts. A response to an ask that is denied at its
// end must also be used in time: the call must not be made long after the decision.
func CloseAsk(run *v1alpha1.MotorRun, a v1alpha1.StepAsk, o observed.Time, now time.Time) (v1alpha1.StepAsk, bool) {
	r := UsableResponse(run, &a)
	over := a.OnTimeout != v1alpha1.OnTimeoutFail && o.Wait(o.Extend(a.AskTime.Time, ExpiresAt(run, &a)), now) == 0
	switch {
	case over && (r == nil || a.OnTimeout == v1alpha1.OnTimeoutDeny):
		a.Outcome = v1alpha1.AskExpired
	case r == nil:
		return a, false
	case a.Kind == v1alpha1.InputOutcomeUnknown:
		a.Outcome = v1alpha1.AskAnswered
	case r.Decision == v1alpha1.DecisionDeny:
		a.Outcome = v1alpha1.AskDenied
	case r.Decision != "":
		a.Outcome = v1alpha1.AskApproved
	default:
		a.Outcome = v1alpha1.AskAnswered
	}
	if a.Outcome != v1alpha1.AskExpired {
		a.Decision, a.By, a.Reason = r.Decision, r.RespondedBy, r.Reason
	}
	a.CloseTime = metav1.NewTime(now.Add(time.Second - 1).Truncate(time.Second))
	return a, true
}

// ExpiresAt returns when the time for a response ends: that of approvals where the ask does not say it.
func ExpiresAt(run *v1alpha1.MotorRun, a *v1alpha1.StepAsk) time.Time {
	if a.ExpirationTime.IsZero() {
		return a.AskTime.Add(time.Duration(run.Spec.Limits.ApprovalDeadlineSeconds) * time.Second)
	}
	return a.ExpirationTime.Time
}

// ResponseTo returns the response to an ask, nil if there is none that fits.
func ResponseTo(run *v1alpha1.MotorRun, a *v1alpha1.StepAsk) *v1alpha1.Response {
	for i := range run.Spec.Responses {
		if r := &run.Spec.Responses[i]; r.ID == a.ID && fits(r, a) {
			return r
		}
	}
	return nil
}

// UsableResponse returns the response to an ask if the run can use it now, nil otherwise. A response to a request for a domain is usable once it is
// in effect, which status.pendingInputs shows.
func UsableResponse(run *v1alpha1.MotorRun, a *v1alpha1.StepAsk) *v1alpha1.Response {
	p := run.Status.Pending()
	if a.Kind == v1alpha1.InputDomainRequest && (p == nil || p.ID != a.ID || !p.Answered) {
		return nil
	}
	return ResponseTo(run, a)
}

// fits reports whether a response is of the kind that an ask accepts. For an approval it must be about the call with that digest. The API refuses
// other responses once the ask is shown, but not before.
func fits(r *v1alpha1.Response, a *v1alpha1.StepAsk) bool {
	switch a.Kind {
	case v1alpha1.InputDomainRequest:
		return allows(r.Decision) || r.Decision == v1alpha1.DecisionDeny
	case v1alpha1.InputApproval:
		return slices.Contains(approvalDecisions(a.Rule), r.Decision) && a.Digest != "" && r.Digest == a.Digest
	case v1alpha1.InputOutcomeUnknown:
		return slices.Contains(unknownDecisions, r.Decision)
	case v1alpha1.InputRetry:
		return fitsRetry(r)
	case v1alpha1.InputBudgetExhausted:
		return r.Decision == v1alpha1.DecisionRaise || r.Decision == v1alpha1.DecisionStop
	case v1alpha1.InputQuestion:
	}
	return r.Answer != ""
}

// unknownDecisions are the decisions about a call of unknown outcome.
var unknownDecisions = []v1alpha1.Decision{v1alpha1.DecisionRetry, v1alpha1.DecisionSkip, v1alpha1.DecisionDone}

// approvalDecisions returns the decisions about a call that needs approval by a rule, "" for one that can be approved alone.
func approvalDecisions(rule string) []v1alpha1.Decision {
	if rule == "" {
		return []v1alpha1.Decision{v1alpha1.DecisionApproveOnce, v1alpha1.DecisionDeny}
	}
	return []v1alpha1.Decision{v1alpha1.DecisionApproveOnce, v1alpha1.DecisionApproveRun, v1alpha1.DecisionDeny}
}

// Answered reports whether the spec has a response to the pending input. A pending input of kind Retry disappears when the next attempt begins.
func Answered(run *v1alpha1.MotorRun, p *v1alpha1.PendingInput) bool {
	if p == nil || p.Kind == v1alpha1.InputRetry {
		return false
	}
	a := v1alpha1.StepAsk{ID: p.ID, Kind: p.Kind}
	if p.Action != nil {
		a.Digest, a.Rule = p.Action.ArgsDigest, p.Action.Rule
	}
	return ResponseTo(run, &a) != nil
}

// OpenAsk returns the open ask of the step, nil if there is none.
func OpenAsk(s *v1alpha1.MotorStep) *v1alpha1.StepAsk {
	asks := s.Status.Asks
	for i := range asks {
		if a := &asks[i]; a.Outcome == "" && calls.ResultOf(s, a.CallID) == nil {
			return a
		}
	}
	return nil
}

// IsAsked reports whether a person is asked about a call of the step now. Its arguments are shown then.
func IsAsked(s *v1alpha1.MotorStep, callID string) bool {
	a := OpenAsk(s)
	return a != nil && a.CallID == callID
}

// waitedIn returns how long people took for the asks of a step. Open asks count nothing.
func waitedIn(s *v1alpha1.MotorStep) time.Duration {
	var asked time.Duration
	for _, a := range s.Status.Asks {
		if a.Outcome != "" {
			asked += max(0, a.CloseTime.Sub(a.AskTime.Time))
		}
	}
	return asked
}

// askedRetry returns the ask about a further attempt, false if no attempt can have that id.
func askedRetry(id string) (v1alpha1.StepAsk, bool) {
	for n := int32(1); n < maxAttempts; n++ {
		if id == retryID(n) {
			return v1alpha1.StepAsk{ID: id, Kind: v1alpha1.InputRetry}, true
		}
	}
	return v1alpha1.StepAsk{}, false
}

// UnknownResponses describes the responses that answer nothing that was asked.
func UnknownResponses(run *v1alpha1.MotorRun, p Progress) []string {
	var unknown []string
	for i := range run.Spec.Responses {
		r := &run.Spec.Responses[i]
		a, asked := p.Asked[r.ID]
		if !asked {
			a, asked = askedRetry(r.ID)
		}
		if !asked && budget.IsAskID(r.ID) {
			// The journal has the last of them only.
			a, asked = v1alpha1.StepAsk{ID: r.ID, Kind: v1alpha1.InputBudgetExhausted}, true
		}
		switch {
		case !asked:
			unknown = append(unknown, fmt.Sprintf("spec.responses[%d].id %q", i, r.ID))
		case !fits(r, &a):
			how := "that takes an answer"
			switch {
			case r.Digest != "":
				how = "with the digest that it names"
			case r.Decision != "" && a.Kind == v1alpha1.InputApproval:
				how = "that takes a decision without a digest"
			case r.Decision != "":
				how = "that takes a decision"
			}
			unknown = append(unknown, fmt.Sprintf("spec.responses[%d].id %q %s", i, r.ID, how))
		}
	}
	return unknown
}
