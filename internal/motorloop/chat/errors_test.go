// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"errors"
	"fmt"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

func TestCostOf(t *testing.T) {
	t.Parallel()
	cost := turn.Usage{PromptTokens: 7}
	failure := &outcome.Failure{Reason: outcome.ReasonModelWindow}
	for name, tt := range map[string]struct {
		err  error
		want turn.Usage
	}{
		"outage":   {fmt.Errorf("asked: %w", &Outage{Usage: cost}), cost},
		"too long": {&TooLong{Failure: failure, Usage: cost}, cost},
		"failure":  {failure, turn.Usage{}},
		"none":     {nil, turn.Usage{}},
	} {
		if got := CostOf(tt.err); got != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if f, ok := errors.AsType[*outcome.Failure](error(&TooLong{Failure: failure})); !ok || f != failure {
		t.Error("a request that is too long is no failure of the attempt")
	}
}
