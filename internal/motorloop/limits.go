// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// bailout is how many times in a row something may go wrong in the same way before the attempt ends.
const bailout = 3

// verdict says whether the attempt is over, and how. It looks at nothing but the recorded turns, the last of which is
// settled: a loop that goes on after a restart comes to the same verdict. An attempt that was completed by its last
// allowed turn is completed.
func verdict(cfg Config, turns []*Turn) (Outcome, bool) {
	if n := len(turns); n > 0 && turns[n-1].final() {
		return Outcome{Kind: Completed, Summary: turns[n-1].Content}, true
	}
	for _, check := range []func(Config, []*Turn) *Failure{
		repeatedToolFailure, emptyAnswers, maxTokens, maxIterations,
	} {
		if f := check(cfg, turns); f != nil {
			return Outcome{Kind: Failed, Failure: f}, true
		}
	}
	return Outcome{}, false
}

// summary says whether the turn stands for others, and is none of the model's steps.
func (t *Turn) summary() bool { return t.Through > 0 }

// final says whether the turn closes the attempt: text, no calls, and not broken off.
func (t *Turn) final() bool { return len(t.Calls) == 0 && !t.summary() && !t.unusable() }

// unusable says whether the turn is an answer that neither does nor says anything: no calls, and no text or a text
// that stopped in the middle.
func (t *Turn) unusable() bool {
	return len(t.Calls) == 0 && !t.summary() && (t.Content == "" || strings.HasSuffix(t.Content, truncatedMark))
}

// iterations are the turns that are not summaries.
func iterations(turns []*Turn) []*Turn {
	return slices.DeleteFunc(slices.Clone(turns), (*Turn).summary)
}

// repeatedToolFailure finds that the last calls, over at least three turns and nothing else between them, all failed
// by the same tool with the same code. Calls of one turn count once: the model could not react between them.
func repeatedToolFailure(_ Config, turns []*Turn) *Failure {
	var tool string
	var last *toolapi.Result
	times := 0
	for i := len(turns) - 1; i >= 0 && times < bailout; i-- {
		t := turns[i]
		for n, c := range slices.Backward(t.Calls) {
			res := countedFailure(turns, i, n)
			if res == nil || res.OK {
				return nil
			}
			if last == nil {
				tool, last = c.Tool, res
			}
			if c.Tool != tool || res.ErrorCode != last.ErrorCode {
				return nil
			}
			if times == bailout-1 {
				return toolFailure(tool, last)
			}
		}
		if len(t.Calls) > 0 {
			times++
		}
	}
	return nil
}

func toolFailure(tool string, last *toolapi.Result) *Failure {
	did := "failed three times"
	if status, ok := strings.CutPrefix(last.ErrorCode, "exit_"); ok {
		did = "exited " + status + " three times"
	}
	f := &Failure{Category: ToolFailure, Reason: ReasonRepeatedToolFailure, Retryable: true}
	if last.ErrorCode == CodeRepeatedCall {
		f.Message = fmt.Sprintf("The model made the same %s call again and again, although its result stayed the same (code %s). "+
			"Say in a retry what it is to do instead.", tool, last.ErrorCode)
		return f
	}
	f.Message = fmt.Sprintf("%s %s (code %s), last: \"%s\". Say in a retry what to do instead, or correct what the output complains of.",
		tool, did, last.ErrorCode, head(last.Output))
	return f
}

func emptyAnswers(_ Config, turns []*Turn) *Failure {
	turns = iterations(turns)
	n := len(turns)
	if n < bailout {
		return nil
	}
	for _, t := range turns[n-bailout:] {
		if !t.unusable() {
			return nil
		}
	}
	return &Failure{
		Category: ModelFailure,
		Reason:   ReasonEmptyAnswers,
		Message: fmt.Sprintf("The model %s gave three answers in a row with neither a tool call nor a complete text. "+
			"Try another model, or one with a larger output limit.", turns[n-1].Model),
		Retryable: true,
	}
}

func maxTokens(cfg Config, turns []*Turn) *Failure {
	if used := usedTokens(cfg, turns); cfg.MaxTokens > 0 && used >= cfg.MaxTokens {
		return outOfTokens(fmt.Sprintf("The run used %d tokens of %d without finishing.", used, cfg.MaxTokens))
	}
	return nil
}

// maxTokensFor is maxTokens before a call: what its request will cost at least counts as used. It keeps a run from a call whose
// answer could not be used any more.
func maxTokensFor(cfg Config, turns []*Turn, req Request) *Failure {
	used, next := usedTokens(cfg, turns), requestTokens(req)
	if cfg.MaxTokens <= 0 || used+next < cfg.MaxTokens {
		return nil
	}
	return outOfTokens(fmt.Sprintf("The run used %d tokens of %d, and the next request alone has about %d.", used, cfg.MaxTokens, next))
}

// usedTokens is what the model calls of the run took so far.
func usedTokens(cfg Config, turns []*Turn) int64 {
	used := cfg.UsedTokens
	for _, t := range turns {
		used += t.Usage.Total() + t.Failed.Total()
	}
	return used
}

func outOfTokens(what string) *Failure {
	return &Failure{
		Category: BudgetExhausted, Reason: ReasonMaxTokens,
		Message: what + " Create a run with a higher limit (spec.limits.maxTokens), or split the task.",
	}
}

func maxIterations(cfg Config, turns []*Turn) *Failure {
	taken := len(iterations(turns))
	if taken < int(cfg.MaxIterations) {
		return nil
	}
	return &Failure{
		Category: BudgetExhausted,
		Reason:   ReasonMaxIterations,
		Message: fmt.Sprintf("The attempt took %d turns, all that it may, without finishing. "+
			"Raise the limit or split the task.", taken),
		Retryable: true,
	}
}

// head is the beginning of a text in one line, for a message.
func head(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const size = 200
	if len(s) <= size {
		return s
	}
	return cut(s, size, size, "…")
}
