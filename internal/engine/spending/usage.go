// SPDX-License-Identifier: Apache-2.0

package spending

import (
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

const (
	// unseenInput is how many tokens an endpoint can add to a request: templates, and a prompt of its own.
	unseenInput = 1 << 16
	// unseenOutput is how many tokens an answer can have that are not in it: those of the model's reasoning.
	unseenOutput = 1 << 18
	// mostTries is how many failed tries a usage can be the sum of.
	mostTries = 16
)

// limits are what the usage of a call can be.
type limits struct {
	// input and answered are the estimates of the request and of the answer. output is the longest answer.
	input, answered, output int64
	// tries is how many requests the usage is the sum of.
	tries int64
}

// believed returns a reported usage as it counts, in the step and in all sums. A single wrong report would otherwise fill the sums of a namespace until its month is
// over, or make room that is not there. A negative number says nothing, so the call counts with the most that it may take. A number that is too large for the request
// or the answer is bounded: no token is shorter than a byte.
func (l limits) believed(u turn.Usage) turn.Usage {
	prompt, completion := u.PromptTokens, u.CompletionTokens
	if prompt < 0 {
		prompt = l.input
	}
	if completion < 0 {
		completion = max(l.answered, l.output)
	}
	prompt = min(prompt, l.tries*(chat.BytesPerToken*(l.input+1)+unseenInput))
	completion = min(completion, l.tries*(chat.BytesPerToken*(l.answered+1)+max(l.output, unseenOutput)))
	u.Estimated = u.Estimated || prompt != u.PromptTokens || completion != u.CompletionTokens
	u.PromptTokens, u.CompletionTokens = prompt, completion
	u.CachedTokens = min(max(u.CachedTokens, 0), prompt)
	return u
}
