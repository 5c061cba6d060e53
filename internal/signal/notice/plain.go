// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"fmt"
	"strings"
	"time"
)

// Plain returns the message as plain text in lines, as an e-mail has it. The texts of a run are single lines behind a word of their own, so that none can
// look like a line of the message.
func Plain(n Notice) string {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			b.WriteString(name + text + "\n")
		}
	}
	line("", n.Title+".\n")
	for i := range n.Asks {
		line("* ", n.Asks[i].brief())
	}
	if n.More > 0 {
		line("", fmt.Sprintf("and %d more", n.More))
	}
	line("Text: ", n.Text)
	line("Action: ", n.Action)
	if n.Deadline != nil {
		line("Until: ", n.Deadline.UTC().Format(time.RFC3339))
	}
	line("Command: ", n.Command)
	line("Page: ", n.Link)
	return b.String()
}
