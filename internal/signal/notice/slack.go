// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// textObject is a text of Slack's Block Kit.
type textObject struct {
	Type string `json:"type"`
	Text string `json:"text"`
	// Emoji is false in plain text: Slack makes pictures of names like :lock: otherwise. A text of markup must not have it.
	Emoji *bool `json:"emoji,omitempty"`
	// Verbatim keeps Slack from making links out of addresses and names.
	Verbatim bool `json:"verbatim,omitempty"`
}

type block struct {
	Type     string      `json:"type"`
	Text     *textObject `json:"text,omitempty"`
	Elements []element   `json:"elements,omitempty"`
}

// Slack returns the message as an incoming webhook of Slack takes it. The texts of a run are plain text: there Slack reads no markup, and so
// no mention and no link with another name.
func Slack(n Notice) ([]byte, error) { return slack(n, nil) }

func slack(n Notice, buttons []element) ([]byte, error) {
	plain := func(s string) block {
		return block{Type: "section", Text: &textObject{Type: "plain_text", Text: s, Emoji: new(false)}}
	}
	blocks := []block{plain(n.Title)}
	for i := range n.Asks {
		blocks = append(blocks, plain("| "+n.Asks[i].brief()))
	}
	if n.More > 0 {
		blocks = append(blocks, plain(fmt.Sprintf("and %d more", n.More)))
	}
	if n.Text != "" {
		// It can be the words of a model: the mark tells them from those of the manager.
		blocks = append(blocks, plain("| "+n.Text))
	}
	if n.Action != "" {
		blocks = append(blocks, plain("Action:\n| "+n.Action))
	}
	var last []string
	if n.Deadline != nil {
		last = append(last, "Until "+n.Deadline.UTC().Format(time.RFC3339))
	}
	if n.Command != "" {
		last = append(last, "`"+escape(n.Command)+"`")
	}
	if n.Link != "" {
		last = append(last, "<"+escape(n.Link)+"|Open the page>")
	}
	if len(last) > 0 {
		blocks = append(blocks, block{Type: "section", Text: &textObject{Type: "mrkdwn", Text: strings.Join(last, "\n"), Verbatim: true}})
	}
	if len(buttons) > 0 {
		blocks = append(blocks, block{Type: "actions", Elements: buttons})
	}
	return json.Marshal(struct {
		// Text is what a notification of a telephone shows.
		Text   string  `json:"text"`
		Blocks []block `json:"blocks"`
		// Slack would fetch the links of a message to show their pages.
		UnfurlLinks bool `json:"unfurl_links"`
		UnfurlMedia bool `json:"unfurl_media"`
	}{Text: escape(n.Title), Blocks: blocks})
}

// escape replaces the three characters that control Slack's markup.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
