// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Words is the field of a response that a person writes.
type Words string

const (
	// NoWords: the decision takes none.
	NoWords Words = ""
	// Answer is the answer to a question.
	Answer Words = "answer"
	// Reason is told to the model with a decision, or stands in the end of the run.
	Reason Words = "reason"
	// Guidance is told to the model with the next attempt.
	Guidance Words = "guidance"
)

// Choice is one way to answer an ask.
type Choice struct {
	// Decision is "" for a question.
	Decision v1alpha1.Decision
	Words    Words
	// Permits says that something is done or allowed which is not otherwise: a person must have seen all of what is asked.
	Permits bool
	// Domains says that hosts can be added.
	Domains bool
}

// Choices are the ways to answer an ask that the API server takes. A question has one, without a decision. An ask of a kind that this version does not
// know has none.
func Choices(p *v1alpha1.PendingInput) []Choice {
	switch p.Kind {
	case v1alpha1.InputQuestion:
		return []Choice{{Words: Answer}}
	case v1alpha1.InputApproval:
		if p.Action == nil {
			return nil
		}
		all := []Choice{{Decision: v1alpha1.DecisionApproveOnce, Words: Reason, Permits: true}}
		if p.Action.Rule != "" {
			all = append(all, Choice{Decision: v1alpha1.DecisionApproveRun, Words: Reason, Permits: true})
		}
		return append(all, Choice{Decision: v1alpha1.DecisionDeny, Words: Reason})
	case v1alpha1.InputDomainRequest:
		return []Choice{
			{Decision: v1alpha1.DecisionAllowOnce, Words: Reason, Permits: true},
			{Decision: v1alpha1.DecisionAllowRun, Words: Reason, Permits: true},
			{Decision: v1alpha1.DecisionDeny, Words: Reason},
		}
	case v1alpha1.InputOutcomeUnknown:
		return []Choice{
			{Decision: v1alpha1.DecisionRetry, Permits: true},
			{Decision: v1alpha1.DecisionDone, Words: Reason, Permits: true},
			{Decision: v1alpha1.DecisionSkip, Words: Reason, Permits: true},
		}
	case v1alpha1.InputRetry:
		return []Choice{
			{Decision: v1alpha1.DecisionRetry, Words: Guidance, Domains: true},
			{Decision: v1alpha1.DecisionStop, Words: Reason},
		}
	case v1alpha1.InputBudgetExhausted:
		if p.RaiseBy == nil {
			return nil
		}
		return []Choice{
			{Decision: v1alpha1.DecisionRaise, Words: Reason, Permits: true},
			{Decision: v1alpha1.DecisionStop, Words: Reason},
		}
	}
	return nil
}

// AmountText is an amount for a person, without its currency.
func AmountText(a *v1alpha1.BudgetAmount) string {
	var parts []string
	if a != nil && a.Cost != nil {
		parts = append(parts, string(*a.Cost))
	}
	if a != nil && a.Tokens != nil {
		parts = append(parts, fmt.Sprintf("%d tokens", *a.Tokens))
	}
	return strings.Join(parts, " and ")
}

// Response is the choice with the words of a person. A decision about a call has its digest: that of the ask that the person saw. Raise has the
// amount that the ask proposes.
func (c Choice) Response(p *v1alpha1.PendingInput, words string) v1alpha1.Response {
	r := v1alpha1.Response{Decision: c.Decision}
	switch c.Words {
	case Answer:
		r.Answer = words
	case Reason:
		r.Reason = words
	case Guidance:
		r.Guidance = words
	case NoWords:
	}
	if c.Decision == v1alpha1.DecisionRaise {
		r.Budget = p.RaiseBy
	}
	if p.Kind == v1alpha1.InputApproval && p.Action != nil {
		r.Digest = p.Action.ArgsDigest
	}
	return r
}
