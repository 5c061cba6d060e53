// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"math"
	"testing"
)

func TestUsageAdd(t *testing.T) {
	t.Parallel()
	got := Usage{PromptTokens: 1, CompletionTokens: 2, CachedTokens: 3}.Add(Usage{PromptTokens: 10, CompletionTokens: 20, CachedTokens: 30, Estimated: true})
	if want := (Usage{PromptTokens: 11, CompletionTokens: 22, CachedTokens: 33, Estimated: true}); got != want || got.Total() != 33 {
		t.Errorf("%+v, in all %d", got, got.Total())
	}
}

// An endpoint that reports the largest number would otherwise make a sum negative.
func TestSumsOfUsagesDoNotOverflow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ a, b, want int64 }{
		"up":      {math.MaxInt64, 40, math.MaxInt64},
		"down":    {math.MinInt64, -40, math.MinInt64},
		"between": {math.MaxInt64, -40, math.MaxInt64 - 40},
	} {
		got := Usage{PromptTokens: tt.a}.Add(Usage{PromptTokens: tt.b})
		if got.PromptTokens != tt.want || (Usage{PromptTokens: tt.a, CompletionTokens: tt.b}).Total() != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
