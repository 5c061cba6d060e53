// SPDX-License-Identifier: Apache-2.0

package turn

import "testing"

func TestUsageAdd(t *testing.T) {
	t.Parallel()
	got := Usage{PromptTokens: 1, CompletionTokens: 2, CachedTokens: 3}.Add(Usage{PromptTokens: 10, CompletionTokens: 20, CachedTokens: 30, Estimated: true})
	if want := (Usage{PromptTokens: 11, CompletionTokens: 22, CachedTokens: 33, Estimated: true}); got != want || got.Total() != 33 {
		t.Errorf("%+v, in all %d", got, got.Total())
	}
}
