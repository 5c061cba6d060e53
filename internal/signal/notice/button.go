// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"encoding/json"
	"fmt"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// ActionChoose begins the action ids of the buttons in a message. What a button does is in its value.
	ActionChoose = "motor.choose"
	// maxButtons is the most options that have a button, and maxLabel the most bytes of a label. Slack takes 25, and 75 characters.
	maxButtons, maxLabel = 10, 70
)

// Button is the value of a button in Slack: an ask, and what it is answered with. Who can write into a channel can make up buttons with any value, so it
// must not be carried out before the person has seen the ask itself.
type Button struct {
	Namespace string `json:"ns"`
	Run       string `json:"run"`
	UID       string `json:"uid"`
	ID        string `json:"id"`
	// Digest is that of a call that waits for approval.
	Digest string `json:"digest,omitempty"`
	// Decision is made, or the option is chosen of that number, counted from 1.
	Decision v1alpha1.Decision `json:"decision,omitempty"`
	Option   int               `json:"option,omitempty"`
}

// element is a button of Slack's Block Kit.
type element struct {
	Type     string     `json:"type"`
	Text     textObject `json:"text"`
	ActionID string     `json:"action_id"`
	Value    string     `json:"value"`
	Style    string     `json:"style,omitempty"`
}

// SlackWithButtons returns the message as Slack does, with buttons for decisions and options.
func SlackWithButtons(n Notice) ([]byte, error) { return slack(n, buttonsOf(n.ask)) }

// decisions are those that have a button.
var decisions = map[v1alpha1.InputKind][]struct {
	decision     v1alpha1.Decision
	label, style string
}{
	v1alpha1.InputApproval:      {{v1alpha1.DecisionApproveOnce, "Approve once", "primary"}, {v1alpha1.DecisionDeny, "Deny", "danger"}},
	v1alpha1.InputDomainRequest: {{v1alpha1.DecisionAllowOnce, "Allow once", ""}, {v1alpha1.DecisionAllowRun, "Allow for the run", "primary"}, {v1alpha1.DecisionDeny, "Deny", "danger"}},
}

// buttonsOf returns the buttons for an ask: none for one that is answered with words.
func buttonsOf(d *signal.Result) []element {
	if d == nil || d.Input == nil {
		return nil
	}
	var all []element
	add := func(label, style string, b Button) {
		b.Namespace, b.Run, b.UID, b.ID, b.Digest = d.Namespace, d.RunID, d.UID, d.Input.ID, d.Input.Digest
		value, err := json.Marshal(b)
		if err != nil {
			return // Strings and numbers have a JSON form.
		}
		all = append(all, element{
			Type: "button", Text: textObject{Type: "plain_text", Text: label, Emoji: new(false)}, ActionID: fmt.Sprintf("%s.%d", ActionChoose, len(all)), Value: string(value), Style: style,
		})
	}
	for _, c := range decisions[d.Input.Kind] {
		add(c.label, c.style, Button{Decision: c.decision})
	}
	if d.Input.Kind == v1alpha1.InputQuestion && len(d.Input.Options) <= maxButtons {
		for i, option := range d.Input.Options {
			add(text.CutBytes(fmt.Sprintf("%d. %s", i+1, line(option, maxLabel)), maxLabel), "", Button{Option: i + 1})
		}
	}
	return all
}
