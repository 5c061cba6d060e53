// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"fmt"
	"strings"
	"time"
)

// The model is told in numbers what it may use: all of it in the system prompt, which does not change, and what is left after an answer, as
// soon as less than half of something is, or when a person let it wait. What was told of a turn stays as it was: time and tokens are
// recorded with its results.

// limits are the limits of the run beside its answers in words, "" for none.
func (cfg Config) limits() string {
	var all []string
	if cfg.TimeLimit > 0 {
		all = append(all, inWords(cfg.TimeLimit))
	}
	if cfg.MaxTokens > 0 {
		all = append(all, fmt.Sprintf("%d tokens", cfg.MaxTokens))
	}
	return strings.Join(all, " and ")
}

// leftNote is what the model is told of what is left after a turn, which is its answer with that number; "" for nothing.
func leftNote(cfg Config, t *Turn, answer int32) string {
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
		left = append(left, inWords(t.Left.Time))
	}
	if t.Left.Tokens > 0 {
		left = append(left, fmt.Sprintf("%d of %d tokens", t.Left.Tokens, cfg.MaxTokens))
	}
	return "[left: " + strings.Join(left, ", ") + "]"
}

// waitedFor reports whether a person was asked in the turn.
func waitedFor(t *Turn) bool { return len(t.Asks) > 0 }

// inWords is a time that a model can plan with.
func inWords(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d seconds", int(d.Seconds()))
	case d < 3*time.Hour:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	}
	return fmt.Sprintf("%d hours", int(d.Hours()))
}

// noteLeft notes what is left when all calls of a turn have results, to be recorded with the last of them.
func (r *run) noteLeft(t *Turn) {
	if !r.unrecorded || !t.Settled() || t.Left != (Left{}) {
		return
	}
	if !r.cfg.Deadline.IsZero() {
		t.Left.Time = max(r.cfg.Deadline.Sub(r.now()), time.Second).Truncate(time.Second)
	}
	if r.cfg.MaxTokens > 0 {
		t.Left.Tokens = max(r.cfg.MaxTokens-usedTokens(r.cfg, r.turns), 1)
	}
}
