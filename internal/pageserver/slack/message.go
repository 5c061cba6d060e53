// SPDX-License-Identifier: Apache-2.0

package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal"
	"motorcortex.dev/motorcortex/internal/signal/notice"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// maxBlock is the most bytes of a text of Slack's Block Kit, and maxBlocks the most blocks that an ask takes. Slack takes 3000 characters and 50 blocks.
	maxBlock, maxBlocks = 2800, 20
	// maxRow is the most bytes of a row of a text of a run.
	maxRow = 1000
	// actionConfirm is the action id of the button by which a person confirms.
	actionConfirm = "motor.confirm"
	// elsewhere is what a person can do when Slack is no place for an ask.
	elsewhere = "Answer it on the page or with kubectl motor."
)

// secretive refuses an ask, or what is chosen, that Slack must not get.
var secretive = refusal{text: "The ask has what looks like a secret, and is not shown in Slack. " + elsewhere}

// tooLong refuses an ask of which a person would see a part.
func tooLong(left int) error {
	return refused("The ask is too long for Slack: %d bytes of it would be left out. %s", left, elsewhere)
}

// reply is a message to the person who pressed a button alone, or what their decision leaves of the message with the button.
type reply struct {
	// Type is "ephemeral" for a message to one person, and "" for one that replaces the one in the channel.
	Type            string  `json:"response_type,omitempty"`
	ReplaceOriginal bool    `json:"replace_original"`
	Text            string  `json:"text"`
	Blocks          []block `json:"blocks,omitempty"`
}

type block struct {
	Type     string      `json:"type"`
	Text     *textObject `json:"text,omitempty"`
	Elements []button    `json:"elements,omitempty"`
	// Expand keeps Slack from hiding the end of a long text behind a link.
	Expand bool `json:"expand,omitempty"`
}

// textObject is plain text, in which Slack must read no emoji: a run could write the pictures by which a person knows a message of this server.
type textObject struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Emoji bool   `json:"emoji"`
}

type button struct {
	Type     string     `json:"type"`
	Text     textObject `json:"text"`
	ActionID string     `json:"action_id"`
	Value    string     `json:"value"`
	Style    string     `json:"style,omitempty"`
}

// saying is a reply of one sentence or a few. Slack shows it as it is: it is no markup.
func saying(s string, replace bool) reply {
	s = oneRow(s)
	return reply{Type: "ephemeral", ReplaceOriginal: replace, Text: escape(s), Blocks: []block{plain(s)}}
}

func plain(s string) block {
	return block{Type: "section", Text: &textObject{Type: "plain_text", Text: s}, Expand: true}
}

// oneRow is a text of this server in one row: an error can have words of others. It says how much of it is left out.
func oneRow(s string) string {
	s = strings.Join(strings.Fields(text.Printable(s)), " ")
	first := text.FirstBytes(s, maxBlock-100)
	if left := len(s) - len(first); left > 0 {
		return fmt.Sprintf("%s… (%d bytes are left out)", first, left)
	}
	return s
}

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
		return chosen{fmt.Sprintf("Answer with option %d", b.Option), fmt.Sprintf("The run goes on with option %d, as it is shown above.", b.Option)}, nil
	}
	for _, c := range a.Choices {
		if c.Decision == b.Decision && b.Option == 0 {
			return chosen{c.Label, c.Effect}, nil
		}
	}
	return chosen{}, refusal{text: "The run does not offer that."}
}

// part is a text of a message: words of this server, and a text of the run below them.
type part struct{ label, foreign string }

// rows are those of a part. Each one of the run has a mark.
func (p part) rows() []string {
	if p.foreign == "" {
		return []string{p.label}
	}
	return append([]string{p.label}, text.Rows(p.foreign, maxRow)...)
}

// partsOf are the texts of an ask, in their order.
func partsOf(a *ask, b *notice.Button) []part {
	parts := []part{{fmt.Sprintf("Run %s/%s asks.", b.Namespace, b.Run), ""}, {text.RowsMean, ""}}
	add := func(label, value string) {
		if value != "" {
			parts = append(parts, part{label + ":", value})
		}
	}
	add("Question", a.Question)
	add("It is for", a.Requester)
	for i, o := range a.Options {
		add(fmt.Sprintf("Option %d", i+1), o)
	}
	add("Files that are asked for", strings.Join(a.Files, "\n"))
	add("Domain", a.Domain)
	add("The run reaches", strings.Join(a.Reaches, "\n"))
	add("It has the credentials", strings.Join(a.Credentials, "\n"))
	if call := a.Action; call != nil {
		add("Tool", call.Tool)
		for _, p := range call.Parts {
			add("Argument", p.Name)
			label := "Its value:"
			if p.End != "" {
				label = "Its value (" + oneRow(p.End) + "):"
			}
			parts = append(parts, part{label, cmp.Or(p.Text, " ")})
		}
		if call.Check {
			parts = append(parts, part{"It is a command by which the run's success is checked.", ""})
		}
		add("Why it needs approval", call.Reason)
		add("Rule", call.Rule)
		parts = append(parts, part{"Digest: " + oneRow(call.Digest), ""})
	}
	add("Without an answer", a.OnTimeout)
	return parts
}

// showing returns the ask whole, with a button that confirms what was chosen. An ask that cannot be shown whole here is refused, but a denial needs no more
// than its beginning.
func showing(a *ask, b *notice.Button, c chosen, value string) (reply, error) {
	denies := b.Decision == v1alpha1.DecisionDeny
	if a.Action != nil && a.Action.Problem != "" && !denies {
		return reply{}, refusal{text: a.Action.Problem}
	}
	// The effect and the label can have names that are the model's.
	if signal.HasSecret(c.effect) || signal.HasSecret(c.label) {
		return reply{}, secretive
	}
	if long := max(len(c.effect)-maxBlock, len(c.label)-maxLabel); long > 0 {
		return reply{}, tooLong(long)
	}
	parts := partsOf(a, b)
	blocks, err := blocksOf(parts, maxBlocks, denies)
	if err != nil {
		return reply{}, err
	}
	style := "primary"
	if denies {
		style = "danger"
	}
	blocks = append(blocks, plain(text.Shown(c.effect)), block{Type: "actions", Elements: []button{{
		Type: "button", Text: textObject{Type: "plain_text", Text: text.Shown("Confirm: " + c.label)}, ActionID: actionConfirm, Value: value, Style: style,
	}}})
	return reply{Type: "ephemeral", Text: escape(parts[0].label), Blocks: blocks}, nil
}

// maxLabel is the most bytes of the label of a decision. Slack takes 75 characters, with the word before it.
const maxLabel = 60

// blocksOf shows texts whole in at most so many blocks, or refuses to. inPart shows as much of them as may be shown, and says how much is left out.
func blocksOf(parts []part, most int, inPart bool) ([]block, error) {
	var all []string
	for _, p := range parts {
		if signal.HasSecret(p.foreign) || signal.HasSecret(p.label) {
			if !inPart {
				return nil, secretive
			}
			p = part{fmt.Sprintf("(%d bytes are hidden: they look like a secret)", len(p.foreign)), ""}
		}
		all = append(all, piecesOf(p.rows())...)
	}
	left := 0
	for _, piece := range all[min(most, len(all)):] {
		left += len(piece)
	}
	if left > 0 && !inPart {
		return nil, tooLong(left)
	}
	var blocks []block
	for _, piece := range all[:min(most, len(all))] {
		blocks = append(blocks, plain(piece))
	}
	if left > 0 {
		blocks = append(blocks, plain(fmt.Sprintf("(%d bytes of the ask are left out here)", left)))
	}
	return blocks, nil
}

// piecesOf joins rows to texts that a block has room for. Nothing is lost.
func piecesOf(rows []string) []string {
	var all []string
	piece := ""
	for _, row := range rows {
		if piece != "" && len(piece)+1+len(row) > maxBlock {
			all, piece = append(all, piece), ""
		}
		if piece != "" {
			piece += "\n"
		}
		piece += row
	}
	return append(all, piece)
}

// about are the texts of an ask by which others know it again, with the option that was chosen.
func about(a *ask, b *notice.Button) []part {
	parts := []part{{text.RowsMean, ""}, {"Question:", cmp.Or(a.Question, " ")}}
	if b.Option > 0 && b.Option <= len(a.Options) {
		parts = append(parts, part{fmt.Sprintf("Option %d:", b.Option), a.Options[b.Option-1]})
	}
	if a.Domain != "" {
		parts = append(parts, part{"Domain:", a.Domain})
	}
	if a.Action != nil {
		parts = append(parts, part{"Tool:", a.Action.Tool})
	}
	return parts
}

// settled is what the message with the button becomes when a person has decided: others see who did, and no button is left that does nothing.
func settled(about []part, decided, by string, b *notice.Button) (reply, error) {
	head := oneRow(fmt.Sprintf("Run %s/%s: %s, by %s.", b.Namespace, b.Run, decided, by))
	blocks, err := blocksOf(append([]part{{head, ""}}, about...), maxSettled, true)
	if err != nil {
		return reply{}, err
	}
	return reply{ReplaceOriginal: true, Text: escape(head), Blocks: blocks}, nil
}

// maxSettled is the most blocks of a message about an ask that was decided.
const maxSettled = 3

// encode returns the reply as Slack takes it.
func (r reply) encode() ([]byte, error) { return json.Marshal(r) }
