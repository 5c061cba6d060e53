// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"encoding/json"
	"iter"
	"strings"

	"motorcortex.dev/motorcortex/internal/jsonbound"
	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const RepeatedText = "you made this very call twice in a row, and it was not allowed both times, so the person is not asked again. " +
	"Go on without it, or finish with what you have"

// Repeats reports whether call i of turn t is the same as the two calls made before it, neither of which a person allowed. It stops a model
// from wearing a person down with the same request.
func Repeats(turns []*turn.Turn, t, i int) bool {
	c := &turns[t].Calls[i]
	refused := 0
	for prev, res := range callsBefore(turns, t, i) {
		switch {
		case res == nil || prev.Tool != c.Tool || canonical(prev.Arguments) != canonical(c.Arguments):
			return false
		case res.ErrorCode == toolapi.CodeRepeatedCall:
			// The call was refused because of the calls before it, which still count.
		case !NotAllowed(res):
			return false
		default:
			if refused++; refused == 2 {
				return true
			}
		}
	}
	return false
}

// NotAllowed reports whether a person was asked for a call and did not allow it.
func NotAllowed(res *toolapi.Result) bool {
	if res == nil {
		return false
	}
	switch res.ErrorCode {
	case toolapi.CodeDomainDenied, toolapi.CodeApprovalDenied, toolapi.CodeApprovalExpired:
		return true
	}
	return false
}

// callsBefore returns the calls before call i of turn t with their results, the newest first, whatever turn they are of.
func callsBefore(turns []*turn.Turn, t, i int) iter.Seq2[*turn.Call, *toolapi.Result] {
	return func(yield func(*turn.Call, *toolapi.Result) bool) {
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

// canonical returns the same for equivalent arguments: JSON with other spaces or another order of keys.
func canonical(arguments string) string {
	if jsonbound.Check([]byte(arguments), catalog.ArgumentLimits) != nil {
		return arguments
	}
	dec := json.NewDecoder(strings.NewReader(catalog.ObjectOrEmpty(arguments)))
	dec.UseNumber() // A float64 would make different large numbers equal.
	var v any
	if err := dec.Decode(&v); err != nil {
		return arguments
	}
	return text.JSON(v)
}
