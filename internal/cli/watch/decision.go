// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
)

// The most characters of what a person writes, as the API has them.
const (
	maxAnswer   = 16384
	maxReason   = 2048
	maxGuidance = 4096
	// maxName is the most bytes of a name in a label.
	maxName = 256
)

// words is which field of a response a person writes.
type words int

const (
	noWords words = iota
	answerWords
	reasonWords
	guidanceWords
)

// decision is one way to answer an ask.
type decision struct {
	// key chooses it.
	key string
	// label says what it does, and names what it is about.
	label    string
	decision v1alpha1.Decision
	words    words
	// reads says that who decides so must have seen all of what is asked.
	reads bool
}

// prompt is before what a person writes.
func (d *decision) prompt() string {
	switch d.words {
	case answerWords:
		return "answer: "
	case reasonWords:
		return "reason for the model, or nothing: "
	case guidanceWords:
		return "what to do differently, or nothing: "
	case noWords:
	}
	return ""
}

// most is how many characters a person can write.
func (d *decision) most() int {
	switch d.words {
	case answerWords:
		return maxAnswer
	case guidanceWords:
		return maxGuidance
	case reasonWords, noWords:
	}
	return maxReason
}

// response is what is sent, with the words of the person. A decision about a call has its digest: that of the call that was shown.
func (d *decision) response(p *v1alpha1.PendingInput, text string) v1alpha1.Response {
	r := v1alpha1.Response{Decision: d.decision}
	switch d.words {
	case answerWords:
		r.Answer = text
	case reasonWords:
		r.Reason = text
	case guidanceWords:
		r.Guidance = text
	case noWords:
	}
	if p.Action != nil {
		r.Digest = p.Action.ArgsDigest
	}
	return r
}

// decisions are the ways to answer an ask. A question has one, and an ask of a later operator none.
func decisions(p *v1alpha1.PendingInput) []decision {
	switch p.Kind {
	case v1alpha1.InputQuestion:
		return []decision{{label: "answer", words: answerWords}}
	case v1alpha1.InputApproval:
		return approvals(p)
	case v1alpha1.InputDomainRequest:
		domain := show.Line(string(p.Domain), maxName)
		return []decision{
			{"o", "allow " + domain + " for one call", v1alpha1.DecisionAllowOnce, reasonWords, true},
			{"r", "allow " + domain + " until the run ends", v1alpha1.DecisionAllowRun, reasonWords, true},
			{"n", "deny " + domain, v1alpha1.DecisionDeny, reasonWords, false},
		}
	case v1alpha1.InputOutcomeUnknown:
		return []decision{
			{"r", "make the call again", v1alpha1.DecisionRetry, noWords, true},
			{"d", "go on as if it succeeded", v1alpha1.DecisionDone, reasonWords, true},
			{"s", "go on without it", v1alpha1.DecisionSkip, reasonWords, true},
		}
	case v1alpha1.InputRetry:
		return []decision{
			{"r", "try again", v1alpha1.DecisionRetry, guidanceWords, false},
			{"s", "end the run", v1alpha1.DecisionStop, reasonWords, false},
		}
	}
	return nil
}

func approvals(p *v1alpha1.PendingInput) []decision {
	if p.Action == nil {
		return nil
	}
	tool := show.Line(p.Action.Tool, maxName)
	call := fmt.Sprintf("this call of %s, %.14s…", tool, p.Action.ArgsDigest)
	all := []decision{{"y", "approve " + call, v1alpha1.DecisionApproveOnce, reasonWords, true}}
	if p.Action.Rule != "" {
		rule := fmt.Sprintf("approve it, and until the run ends every call of %s by %s", tool, show.Line(p.Action.Rule, 2*maxName))
		all = append(all, decision{"r", rule, v1alpha1.DecisionApproveRun, reasonWords, true})
	}
	return append(all, decision{"n", "deny " + call, v1alpha1.DecisionDeny, reasonWords, false})
}
