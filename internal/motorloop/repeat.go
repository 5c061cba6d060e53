// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"encoding/json"
	"iter"
	"strings"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// CodeRepeatedCall is the error code of a call that was made twice in a row with the same result and is not made again.
const CodeRepeatedCall = "repeated_call"

const repeatedText = "you made this very call twice in a row, with the same result both times, so it was not made again. " +
	"Change the arguments, use another tool, or finish with what you have. " +
	"If you wait for something, make one call that returns when it has happened"

// repeats says whether call i of turn t is the same as the two calls made before it, which had the same result. A call
// whose result said that it may succeed next time is not held back, nor is a question: what a person is asked must not
// depend on what was answered. A request for a domain is: who was denied it twice is not to go on asking.
func repeats(turns []*Turn, t, i int) bool {
	c := &turns[t].Calls[i]
	if c.Tool == toolapi.ToolAskUser {
		return false
	}
	var last *toolapi.Result
	for prev, res := range callsBefore(turns, t, i) {
		switch {
		case res == nil || res.Retryable || res.ErrorCode == CodeTooManyCalls:
			return false
		case prev.Tool != c.Tool || canonical(prev.Arguments) != canonical(c.Arguments):
			return false
		case res.ErrorCode == CodeRepeatedCall:
			// Refused for the calls before it, which still count.
		case last == nil:
			last = res
		default:
			return res.OK == last.OK && res.ErrorCode == last.ErrorCode && res.Output == last.Output
		}
	}
	return false
}

// callsBefore gives the calls before call i of turn t with their results, the newest first, whatever turn they are of.
func callsBefore(turns []*Turn, t, i int) iter.Seq2[*Call, *toolapi.Result] {
	return func(yield func(*Call, *toolapi.Result) bool) {
		for ; t >= 0; t-- {
			for i--; i >= 0; i-- {
				if !yield(&turns[t].Calls[i], turns[t].Results[i]) {
					return
				}
			}
			if t > 0 {
				i = len(turns[t-1].Calls)
			}
		}
	}
}

// countedFailure is the result that counts for call i of turn t when failures are counted. That of a refused repetition
// is the failure that it repeats: refusing it must not put off the end of an attempt that fails the same way each time.
func countedFailure(turns []*Turn, t, i int) *toolapi.Result {
	res := turns[t].Results[i]
	if res == nil || res.ErrorCode != CodeRepeatedCall {
		return res
	}
	for _, prev := range callsBefore(turns, t, i) {
		switch {
		case prev == nil || prev.OK:
			return res
		case prev.ErrorCode != CodeRepeatedCall:
			return prev
		}
	}
	return res
}

// canonical is the same for arguments that mean the same: JSON with other spaces or another order of keys.
func canonical(arguments string) string {
	if jsonbound.Check([]byte(arguments), argumentLimits) != nil {
		return arguments
	}
	dec := json.NewDecoder(strings.NewReader(objectOrEmpty(arguments)))
	dec.UseNumber() // A float64 would make different large numbers equal.
	var v any
	if err := dec.Decode(&v); err != nil {
		return arguments
	}
	return text.JSON(v)
}
