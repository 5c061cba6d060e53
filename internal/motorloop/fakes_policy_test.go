// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// fakePolicy decides by words in the arguments of a call: "forbidden" may not be made, "gated" needs approval, "once" has
// a key.
type fakePolicy struct {
	journal *fakeJournal
	*fakePerson
}

func request(action string) turn.Call {
	return call(toolapi.ToolRequestApproval, fmt.Sprintf(`{"action":%q}`, action))
}

func isGated(arguments string) bool { return strings.Contains(arguments, "gated") }

func isOnce(arguments string) bool { return strings.Contains(arguments, "once") }

func (p *fakePolicy) Refuse(c turn.Call) *toolapi.Result {
	if strings.Contains(c.Arguments, "forbidden") {
		return &toolapi.Result{ErrorCode: toolapi.CodeCommandNotAllowed, Output: "not this command"}
	}
	return nil
}

func (p *fakePolicy) NeedsApproval(c turn.Call) bool { return isGated(c.Arguments) }

func (p *fakePolicy) Key(c turn.Call) string {
	if isOnce(c.Arguments) {
		return "key of " + c.Arguments
	}
	return ""
}

func (p *fakePolicy) Risky(c turn.Call) bool { return strings.Contains(c.Arguments, "risky") }

// Done uses the record, like the real one.
func (p *fakePolicy) Done(c turn.Call) *toolapi.Result {
	for _, t := range p.journal.seen() {
		for i, other := range t.Calls {
			res := t.Results[i]
			switch {
			case other.ID == c.ID || other.Tool != c.Tool || other.Arguments != c.Arguments || res == nil:
			case res.OK && isOnce(c.Arguments):
				return &toolapi.Result{ErrorCode: toolapi.CodeAlreadyDone, Output: "done by " + other.ID}
			case res.ErrorCode == toolapi.CodeOutcomeUnknown || res.ErrorCode == toolapi.CodeSkipped:
				return &toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown, Output: "perhaps done by " + other.ID}
			}
		}
	}
	return nil
}
