// SPDX-License-Identifier: Apache-2.0

// Package verdict decides by the turns of an attempt whether it is over, and how: by its finish calls, the checks of its demands, its limits,
// and whether it gets on.
package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/stuck"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// Judge decides turn by turn whether an attempt is over. The zero value has seen none. It is not safe for concurrent use.
type Judge struct {
	judging Judging
	watch   stuck.Watch
}

// Of reports whether the attempt is over, and how. It uses only the recorded turns, the last of which is
// settled: a loop that resumes after a restart reaches the same verdict. An attempt that was completed by its last
// allowed turn is completed.
func (j *Judge) Of(cfg config.Config, turns []*turn.Turn) (outcome.Outcome, bool) {
	if ChecksDue(cfg, turns) {
		return outcome.Outcome{}, false
	}
	if n := len(turns); n > 0 && turns[n-1].Closes {
		return outcome.Outcome{Kind: outcome.Completed, Summary: turns[n-1].Content, Value: turns[n-1].Value}, true
	}
	list := j.judging.Of(turns)
	if len(list) > 0 {
		if args := accepted(list[len(list)-1]); args != nil {
			return finished(cfg, args), true
		}
	}
	answers := iterations(list)
	f := cmp.Or(acceptanceFailed(turns), j.watch.GetsNowhere(list), stuck.StaysIdle(answers), maxTokens(cfg, turns), maxIterations(cfg, len(answers)))
	if f != nil {
		return outcome.Outcome{Kind: outcome.Failed, Failure: f}, true
	}
	return outcome.Outcome{}, false
}

// Iterations returns the turns that are answers of the model, as they were judged: no summaries, no checks, and not the record of an end.
func Iterations(turns []*turn.Turn) []*turn.Turn { return iterations(Judged(turns)) }

func iterations(turns []*turn.Turn) []*turn.Turn {
	if n := len(turns); n > 1 && turns[n-1].Closes && accepted(turns[n-2]) != nil {
		turns = turns[:n-1]
	}
	return slices.DeleteFunc(slices.Clone(turns), (*turn.Turn).IsSummary)
}

func maxTokens(cfg config.Config, turns []*turn.Turn) *outcome.Failure {
	if used := UsedTokens(cfg, turns); cfg.MaxTokens > 0 && used >= cfg.MaxTokens {
		return outOfTokens(fmt.Sprintf("The run used %d tokens of %d without finishing.", used, cfg.MaxTokens))
	}
	return nil
}

// MaxTokensFor is maxTokens before a call: the minimum cost of the request counts as used. It prevents a call whose
// answer could no longer be used.
func MaxTokensFor(cfg config.Config, turns []*turn.Turn, req chat.Request) *outcome.Failure {
	used, next := UsedTokens(cfg, turns), chat.Tokens(req)
	if cfg.MaxTokens <= 0 || used+next < cfg.MaxTokens {
		return nil
	}
	return outOfTokens(fmt.Sprintf("The run used %d tokens of %d, and the next request alone has about %d.", used, cfg.MaxTokens, next))
}

// UsedTokens returns how many tokens the model calls of the run took so far.
func UsedTokens(cfg config.Config, turns []*turn.Turn) int64 {
	used := cfg.UsedTokens
	for _, t := range turns {
		used += t.Usage.Total() + t.Failed.Total()
	}
	return used
}

func outOfTokens(what string) *outcome.Failure {
	return &outcome.Failure{
		Category: outcome.BudgetExhausted, Reason: outcome.ReasonMaxTokens,
		Message: what + " Create a run with a higher limit (spec.limits.maxTokens), or split the task.",
	}
}

func maxIterations(cfg config.Config, taken int) *outcome.Failure {
	if taken < int(cfg.MaxIterations) {
		return nil
	}
	return &outcome.Failure{
		Category: outcome.BudgetExhausted,
		Reason:   outcome.ReasonMaxIterations,
		Message: fmt.Sprintf("The attempt took %d turns, all that it may, without finishing. "+
			"Raise the limit or split the task.", taken),
		Retryable: true,
	}
}
