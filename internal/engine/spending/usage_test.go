// SPDX-License-Identifier: Apache-2.0

package spending

import (
	"context"
	"math"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

func TestAUsageCountsOnlyAsFarAsItCanBeTrue(t *testing.T) {
	t.Parallel()
	l := limits{input: 60, answered: 10, output: 40, tries: 1}
	const mostInput, mostOutput = 4*61 + 65_536, 4*11 + 262_144
	for name, tt := range map[string]struct{ reported, want turn.Usage }{
		"plausible":         {turn.Usage{PromptTokens: 70, CompletionTokens: 12, CachedTokens: 50}, turn.Usage{PromptTokens: 70, CompletionTokens: 12, CachedTokens: 50}},
		"none":              {turn.Usage{}, turn.Usage{}},
		"reasoning":         {turn.Usage{PromptTokens: 70, CompletionTokens: 100_000}, turn.Usage{PromptTokens: 70, CompletionTokens: 100_000}},
		"negative answer":   {turn.Usage{PromptTokens: 70, CompletionTokens: -1_000_000}, turn.Usage{PromptTokens: 70, CompletionTokens: 40, Estimated: true}},
		"negative request":  {turn.Usage{PromptTokens: math.MinInt64, CompletionTokens: 12}, turn.Usage{PromptTokens: 60, CompletionTokens: 12, Estimated: true}},
		"negative cache":    {turn.Usage{PromptTokens: 70, CachedTokens: -1}, turn.Usage{PromptTokens: 70}},
		"more cached":       {turn.Usage{PromptTokens: 70, CachedTokens: 71}, turn.Usage{PromptTokens: 70, CachedTokens: 70}},
		"too large request": {turn.Usage{PromptTokens: math.MaxInt64, CompletionTokens: 40}, turn.Usage{PromptTokens: mostInput, CompletionTokens: 40, Estimated: true}},
		"too large answer":  {turn.Usage{PromptTokens: 70, CompletionTokens: math.MaxInt64}, turn.Usage{PromptTokens: 70, CompletionTokens: mostOutput, Estimated: true}},
	} {
		if got := l.believed(tt.reported); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	l.tries = 2
	if got := l.believed(turn.Usage{PromptTokens: math.MaxInt64}); got.PromptTokens != 2*mostInput {
		t.Errorf("the sum of two tries: %+v", got)
	}
}

// lying is a model whose endpoint reports what cannot be.
type lying struct {
	usage turn.Usage
	asked int
}

func (m *lying) Complete(context.Context, chat.Request) (chat.Answer, error) {
	m.asked++
	return chat.Answer{Usage: m.usage}, nil
}

// A day of 1000 tokens has room for ten calls of 100, whatever the endpoint reports, and a wrong report does not fill it for good.
func TestAWrongReportMakesNoRoomAndTakesNone(t *testing.T) {
	t.Parallel()
	for name, usage := range map[string]turn.Usage{
		"negative": {PromptTokens: 60, CompletionTokens: -1_000_000},
		"huge":     {PromptTokens: math.MaxInt64, CompletionTokens: 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster(t, &v1alpha1.Budget{PerDay: tokens(1000)})
			a, m := account(t, c, "a"), &lying{usage: usage}
			var paid int64
			for range 100 {
				answer, err := Model{Model: m, Account: a, Name: "m"}.Complete(t.Context(), request)
				if err != nil {
					break
				}
				paid += answer.Usage.Total()
			}
			if err := a.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if st := sums(t, c); m.asked > 10 || st.Day.Tokens > 100_000 || st.Day.Tokens != paid || st.Month.Tokens != paid {
				t.Errorf("asked %d times, the steps have %d, the sums %+v", m.asked, paid, st)
			}
		})
	}
}

// A sum of tries that failed, of which one is negative or too large, is bounded as well.
func TestTheCostOfFailedTriesIsBounded(t *testing.T) {
	t.Parallel()
	a := account(t, cluster(t, &v1alpha1.Budget{}), "a")
	lie := &chat.Outage{Usage: turn.Usage{PromptTokens: math.MaxInt64, CompletionTokens: -1}}
	_, err := Model{Model: &answering{err: lie}, Account: a, Name: "m"}.Complete(t.Context(), request)
	got := chat.CostOf(err)
	if got.PromptTokens > 16*100_000 || got.CompletionTokens != 40 || a.Used != (budget.Spent{Tokens: got.Total(), Cost: got.Cost}) {
		t.Errorf("%+v, used %+v", got, a.Used)
	}
}
