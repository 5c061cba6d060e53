// SPDX-License-Identifier: Apache-2.0

package asks_test

import (
	"fmt"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

func TestChoices(t *testing.T) {
	t.Parallel()
	call := v1alpha1.PendingInput{Kind: v1alpha1.InputApproval, Action: &v1alpha1.PendingAction{ArgsDigest: "sha256:1"}}
	ruled := v1alpha1.PendingInput{Kind: v1alpha1.InputApproval, Action: &v1alpha1.PendingAction{ArgsDigest: "sha256:1", Rule: "bash"}}
	for name, tt := range map[string]struct {
		ask  v1alpha1.PendingInput
		want string
	}{
		"a question":                  {v1alpha1.PendingInput{Kind: v1alpha1.InputQuestion}, "[{ answer false false}]"},
		"a call":                      {call, "[{ApproveOnce reason true false} {Deny reason false false}]"},
		"a call by a rule":            {ruled, "[{ApproveOnce reason true false} {ApproveRun reason true false} {Deny reason false false}]"},
		"a call without a call":       {v1alpha1.PendingInput{Kind: v1alpha1.InputApproval}, "[]"},
		"a domain":                    {v1alpha1.PendingInput{Kind: v1alpha1.InputDomainRequest}, "[{AllowOnce reason true false} {AllowRun reason true false} {Deny reason false false}]"},
		"an unknown outcome":          {v1alpha1.PendingInput{Kind: v1alpha1.InputOutcomeUnknown}, "[{Retry  true false} {Done reason true false} {Skip reason true false}]"},
		"a bound":                     {v1alpha1.PendingInput{Kind: v1alpha1.InputBudgetExhausted, RaiseBy: &v1alpha1.BudgetAmount{}}, "[{Raise reason true false} {Stop reason false false}]"},
		"a bound of a later operator": {v1alpha1.PendingInput{Kind: v1alpha1.InputBudgetExhausted}, "[]"},
		"a failed attempt":            {v1alpha1.PendingInput{Kind: v1alpha1.InputRetry}, "[{Retry guidance false true} {Stop reason false false}]"},
		"of a later operator":         {v1alpha1.PendingInput{Kind: "Later"}, "[]"},
	} {
		if got := fmt.Sprint(asks.Choices(&tt.ask)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// Words go where the choice has them, and a digest with a decision about a call alone.
func TestAResponseIsTheChoice(t *testing.T) {
	t.Parallel()
	call := &v1alpha1.PendingInput{Kind: v1alpha1.InputApproval, Action: &v1alpha1.PendingAction{ArgsDigest: "sha256:1"}}
	other := &v1alpha1.PendingInput{Kind: v1alpha1.InputOutcomeUnknown, Action: &v1alpha1.PendingAction{ArgsDigest: "sha256:1"}}
	for _, tt := range []struct {
		choice asks.Choice
		ask    *v1alpha1.PendingInput
		want   v1alpha1.Response
	}{
		{asks.Choice{Words: asks.Answer}, &v1alpha1.PendingInput{Kind: v1alpha1.InputQuestion}, v1alpha1.Response{Answer: "w"}},
		{asks.Choice{Decision: v1alpha1.DecisionDeny, Words: asks.Reason}, call, v1alpha1.Response{Decision: v1alpha1.DecisionDeny, Reason: "w", Digest: "sha256:1"}},
		{asks.Choice{Decision: v1alpha1.DecisionRetry, Words: asks.Guidance}, other, v1alpha1.Response{Decision: v1alpha1.DecisionRetry, Guidance: "w"}},
		{asks.Choice{Decision: v1alpha1.DecisionRetry}, other, v1alpha1.Response{Decision: v1alpha1.DecisionRetry}},
	} {
		if got := tt.choice.Response(tt.ask, "w"); fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%+v: %+v, want %+v", tt.choice, got, tt.want)
		}
	}
}

// Where no amount can be typed, the one counts that the person was shown.
func TestARaiseHasTheAmountThatIsProposed(t *testing.T) {
	t.Parallel()
	by := &v1alpha1.BudgetAmount{Tokens: new(int64(1000)), Cost: new(v1alpha1.Amount("0.50"))}
	ask := &v1alpha1.PendingInput{Kind: v1alpha1.InputBudgetExhausted, RaiseBy: by}
	if got := (asks.Choice{Decision: v1alpha1.DecisionRaise, Words: asks.Reason}).Response(ask, "w"); got.Budget != by || got.Reason != "w" {
		t.Errorf("%+v", got)
	}
	if got := (asks.Choice{Decision: v1alpha1.DecisionStop, Words: asks.Reason}).Response(ask, "w"); got.Budget != nil {
		t.Errorf("%+v", got)
	}
	if got := asks.AmountText(by); got != "0.50 and 1000 tokens" {
		t.Error(got)
	}
}
