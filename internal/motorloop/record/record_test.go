// SPDX-License-Identifier: Apache-2.0

package record

import (
	"math"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// Sums of numbers from endpoints must not overflow.
func TestAbsurdUsageIsBounded(t *testing.T) {
	for given, want := range map[int64]int64{-1: 0, 7: 7, 1 << 40: 1 << 40, math.MaxInt64: 1 << 40} {
		step := New(config.Config{Attempt: 1}, nil, chat.Answer{Usage: turn.Usage{PromptTokens: given, CompletionTokens: given, CachedTokens: given}})
		if step.Usage != (turn.Usage{PromptTokens: want, CompletionTokens: want, CachedTokens: want}) {
			t.Errorf("%d tokens are recorded as %+v", given, step.Usage)
		}
	}
}
