// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// The most characters of what a person writes, as the API has them.
const (
	maxAnswer   = 16384
	maxReason   = 2048
	maxGuidance = 4096
	// maxName is the most bytes of a name in a label.
	maxName = 256
)

// decision is one way to answer an ask.
type decision struct {
	asks.Choice

	// key chooses it.
	key string
	// label says what it does, and names what it is about.
	label string
}

// prompt is before what a person writes.
func (d *decision) prompt() string {
	switch d.Words {
	case asks.Answer:
		return "answer: "
	case asks.Reason:
		return "reason for the model, or nothing: "
	case asks.Guidance:
		return "what to do differently, or nothing: "
	case asks.NoWords:
	}
	return ""
}

// most is how many characters a person can write.
func (d *decision) most() int {
	switch d.Words {
	case asks.Answer:
		return maxAnswer
	case asks.Guidance:
		return maxGuidance
	case asks.Reason, asks.NoWords:
	}
	return maxReason
}

// decisions are the ways to answer an ask. A question has one, and an ask of a later operator none.
func decisions(p *v1alpha1.PendingInput) []decision {
	var all []decision
	for _, c := range asks.Choices(p) {
		d := decision{Choice: c}
		d.key, d.label = named(p, c.Decision)
		all = append(all, d)
	}
	return all
}

// named are the key and the label of a decision about an ask.
func named(p *v1alpha1.PendingInput, d v1alpha1.Decision) (key, label string) {
	var about string
	switch {
	case p.Action != nil:
		about = fmt.Sprintf("this call of %s, %.14s…", show.Line(p.Action.Tool, maxName), p.Action.ArgsDigest)
	default:
		about = show.Line(string(p.Domain), maxName)
	}
	switch d {
	case v1alpha1.DecisionApproveOnce:
		return "y", "approve " + about
	case v1alpha1.DecisionApproveRun:
		return "r", fmt.Sprintf("approve it, and until the run ends every call of %s by %s", show.Line(p.Action.Tool, maxName), show.Line(p.Action.Rule, 2*maxName))
	case v1alpha1.DecisionDeny:
		return "n", "deny " + about
	case v1alpha1.DecisionAllowOnce:
		return "o", "allow " + about + " for one call"
	case v1alpha1.DecisionAllowRun:
		return "r", "allow " + about + " until the run ends"
	case v1alpha1.DecisionRetry:
		if p.Kind == v1alpha1.InputRetry {
			return "r", "try again"
		}
		return "r", "make the call again"
	case v1alpha1.DecisionDone:
		return "d", "go on as if it succeeded"
	case v1alpha1.DecisionSkip:
		return "s", "go on without it"
	case v1alpha1.DecisionRaise:
		return "r", "raise it by " + asks.AmountText(p.RaiseBy)
	case v1alpha1.DecisionStop:
		return "s", "end the run"
	}
	return "", "answer"
}
