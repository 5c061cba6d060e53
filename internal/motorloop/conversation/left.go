// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/prompt"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// The model sees its limits in numbers. The system prompt, which does not change, has all of them. A note after an answer has the remainder, as
// soon as less than half of a limit is left, or when a person let the model wait. The note of a turn never changes: time and tokens are recorded
// with its results.

// leftNote returns the note about the remaining limits after a turn, which is its answer with that number; "" for no note.
func leftNote(cfg config.Config, t *turn.Turn, answer int32) string {
	answers := cfg.MaxIterations - answer
	if answers <= 0 || !t.Settled() {
		return ""
	}
	little := answers*2 < cfg.MaxIterations || t.Left.Tokens > 0 && t.Left.Tokens*2 < cfg.MaxTokens || t.Left.Time > 0 && t.Left.Time*2 < cfg.TimeLimit
	if !little && !waitedFor(t) {
		return ""
	}
	if answers == 1 {
		return "[your next answer is the last one: call finish in it, with what there is]"
	}
	left := []string{fmt.Sprintf("%d of %d answers", answers, cfg.MaxIterations)}
	if t.Left.Time > 0 {
		left = append(left, prompt.InWords(t.Left.Time))
	}
	if t.Left.Tokens > 0 {
		left = append(left, fmt.Sprintf("%d of %d tokens", t.Left.Tokens, cfg.MaxTokens))
	}
	return "[left: " + strings.Join(left, ", ") + "]"
}

// waitedFor reports whether a person was asked in the turn.
func waitedFor(t *turn.Turn) bool { return len(t.Asks) > 0 }
