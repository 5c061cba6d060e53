// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"encoding/json"
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/notice"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// maxBlock is the most bytes of a text of Slack's Block Kit, and maxBlocks the most blocks that the call takes. Slack takes 3000 characters and 50 blocks.
	maxBlock, maxBlocks = 2800, 20
	// actionConfirm is the action id of the button by which a person confirms.
	actionConfirm = "motor.confirm"
	// elsewhere is what a person can do when Slack is no place for an ask.
	elsewhere = "Answer it on the page or with kubectl motor."
)

// secretive refuses an ask, or what is chosen, that Slack must not get.
var secretive = refusal{text: "The ask has what looks like a secret, and is not shown in Slack. " + elsewhere}

// tooLong refuses an ask of which a person would see a part.
var tooLong = refusal{text: "The ask is too long for Slack. " + elsewhere}

// reply is a message to the person who pressed a button, and to no one else.
type reply struct {
	Type            string  `json:"response_type"`
	ReplaceOriginal bool    `json:"replace_original"`
	Text            string  `json:"text"`
	Blocks          []block `json:"blocks,omitempty"`
}

type block struct {
	Type     string      `json:"type"`
	Text     *textObject `json:"text,omitempty"`
	Elements []button    `json:"elements,omitempty"`
}

type textObject struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type button struct {
	Type     string     `json:"type"`
	Text     textObject `json:"text"`
	ActionID string     `json:"action_id"`
	Value    string     `json:"value"`
	Style    string     `json:"style,omitempty"`
}

// saying is a reply of one text. Slack shows it as it is: it is no markup.
func saying(text string, replace bool) reply {
	return reply{Type: "ephemeral", ReplaceOriginal: replace, Text: escape(cut(text)), Blocks: []block{plain(text)}}
}

func plain(s string) block {
	return block{Type: "section", Text: &textObject{Type: "plain_text", Text: cut(s)}}
}

func cut(s string) string { return text.CutBytes(text.Shown(s), maxBlock) }

// escape replaces the three characters that control Slack's markup.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// chosen is what a person is about to do, in words.
type chosen struct{ label, effect string }

// choose returns what a button does with an ask, if the ask is the one that the button names and offers that.
func choose(a *ask, b *notice.Button) (chosen, error) {
	switch {
	case !a.May:
		return chosen{}, refusal{text: "You may not answer that: the role " + a.Role + " has the right."}
	case a.Action != nil && a.Action.Digest != b.Digest, a.Action == nil && b.Digest != "":
		return chosen{}, refusal{text: "The call is another one than that of the message."}
	case b.Option > 0 && b.Option <= len(a.Options) && a.Kind == v1alpha1.InputQuestion:
		return chosen{"Answer: " + text.Line(a.Options[b.Option-1], 60), "The run goes on with this answer: " + a.Options[b.Option-1]}, nil
	}
	for _, c := range a.Choices {
		if c.Decision == b.Decision && b.Option == 0 {
			return chosen{c.Label, c.Effect}, nil
		}
	}
	return chosen{}, refusal{text: "The run does not offer that."}
}

// partsOf are the texts of an ask, in their order.
func partsOf(a *ask, b *notice.Button) []string {
	parts := []string{fmt.Sprintf("Run %s/%s asks:", b.Namespace, b.Run), "Question: " + a.Question}
	add := func(label, value string) {
		if value != "" {
			parts = append(parts, label+": "+value)
		}
	}
	add("It is for", a.Requester)
	for i, o := range a.Options {
		add(fmt.Sprintf("Option %d", i+1), o)
	}
	add("Files that are asked for", strings.Join(a.Files, ", "))
	add("Domain", a.Domain)
	add("The run reaches", strings.Join(a.Reaches, ", "))
	add("It has the credentials", strings.Join(a.Credentials, ", "))
	if a.Action != nil {
		parts = append(parts, ofCall(a)...)
	}
	add("Without an answer", a.OnTimeout)
	return parts
}

// ofCall are the texts of the call that an ask is about.
func ofCall(a *ask) []string {
	parts := []string{"Tool: " + a.Action.Tool}
	for _, p := range a.Action.Parts {
		name := "Argument " + p.Name
		if p.End != "" {
			name += " (" + p.End + ")"
		}
		parts = append(parts, name+":\n"+p.Text)
	}
	if a.Action.Check {
		parts = append(parts, "It is a command by which the run's success is checked.")
	}
	if a.Action.Reason != "" {
		parts = append(parts, "Why it needs approval: "+a.Action.Reason)
	}
	if a.Action.Rule != "" {
		parts = append(parts, "Rule: "+a.Action.Rule)
	}
	return append(parts, "Digest: "+a.Action.Digest)
}

// showing returns the ask whole, with a button that confirms what was chosen. An ask that cannot be shown whole here is refused, but a denial needs no more
// than its beginning.
func showing(a *ask, b *notice.Button, c chosen, value string) (reply, error) {
	denies := b.Decision == v1alpha1.DecisionDeny
	if a.Action != nil && a.Action.Problem != "" && !denies {
		return reply{}, refusal{text: a.Action.Problem}
	}
	parts := partsOf(a, b)
	// The effect and the label have the words of an option, which are the model's.
	if signal.HasSecret(c.effect) || signal.HasSecret(c.label) {
		return reply{}, secretive
	}
	blocks, err := blocksOf(parts, denies)
	if err != nil {
		return reply{}, err
	}
	style := "primary"
	if denies {
		style = "danger"
	}
	blocks = append(blocks, plain(c.effect), block{Type: "actions", Elements: []button{{
		Type: "button", Text: textObject{"plain_text", text.CutBytes(text.Shown("Confirm: "+c.label), 70)}, ActionID: actionConfirm, Value: value, Style: style,
	}}})
	return reply{Type: "ephemeral", Text: escape(parts[0]), Blocks: blocks}, nil
}

// blocksOf shows texts whole, or refuses to. inPart shows as much of them as may be shown.
func blocksOf(parts []string, inPart bool) ([]block, error) {
	whole := 0
	for _, p := range parts {
		whole += len(p)
	}
	if whole > maxBlock*maxBlocks && !inPart {
		return nil, tooLong
	}
	var blocks []block
	for _, p := range parts {
		if signal.HasSecret(p) {
			if !inPart {
				return nil, secretive
			}
			p = "(hidden: it looks like a secret)"
		}
		for _, piece := range pieces(p) {
			blocks = append(blocks, plain(piece))
		}
		switch {
		case len(blocks) <= maxBlocks:
		case !inPart:
			return nil, tooLong
		default:
			return append(blocks[:maxBlocks], plain("…")), nil
		}
	}
	return blocks, nil
}

// pieces divides a text into those that a block has room for. Nothing is lost.
func pieces(s string) []string {
	s = text.Shown(s)
	var all []string
	for len(s) > maxBlock {
		first := text.FirstBytes(s, maxBlock)
		all, s = append(all, first), s[len(first):]
	}
	if strings.TrimSpace(s) != "" {
		all = append(all, s)
	}
	return all
}

// encode returns the reply as Slack takes it.
func (r reply) encode() ([]byte, error) { return json.Marshal(r) }
