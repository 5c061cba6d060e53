// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"encoding/json"
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxNoteCommand is the most bytes that a note shows of a command.
const maxNoteCommand = 80

// ProgramNote returns the note for the model that a background program of a call has ended. The program was ended from outside of the
// sandbox, for one of the toolapi.Stopped reasons, or is lost with the tool server if the reason is "".
func ProgramNote(c turn.Call, reason string) string {
	why := "it is lost: the tool server ended, and what it ran ended with it"
	switch reason {
	case "":
	case toolapi.StoppedSuspended:
		why = "it was ended when the run was suspended"
	case toolapi.StoppedAwaitingInput:
		why = "it was ended because the run waited long for a person"
	case toolapi.StoppedIsolationLost:
		why = "it was ended because the walls around the sandbox had a hole"
	case toolapi.StoppedWayOut:
		why = "it was ended because a person allowed a domain, and what was started before must not use that"
	default:
		why = fmt.Sprintf("it was ended (%s)", reason)
	}
	return fmt.Sprintf("[background: what call %s left in the background does not run any more: %s. It may have done all of its work, a part, or nothing. "+
		"Look at what it changed before you start it again. Its command, as data: %s]", c.ID, why, commandOf(c))
}

// commandOf returns the beginning of the command of a bash call, as a JSON string.
func commandOf(c turn.Call) string {
	var args toolapi.BashArgs
	_ = json.Unmarshal([]byte(c.Arguments), &args) // Unreadable arguments have no command.
	return quoted(args.Command, maxNoteCommand)
}

// withNotes adds notes to the last message of a turn, so that the model reads them before it decides again.
func withNotes(notes []string, msgs []chat.Message) []chat.Message {
	if len(notes) == 0 || len(msgs) == 0 {
		return msgs
	}
	last := &msgs[len(msgs)-1]
	last.Content = strings.TrimSuffix(last.Content, "\n") + "\n" + strings.Join(notes, "\n")
	return msgs
}
