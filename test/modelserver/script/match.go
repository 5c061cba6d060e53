// SPDX-License-Identifier: Apache-2.0

package script

import "regexp"

// matching gives the first answer whose condition holds, or nil.
func (s *Script) matching(answers []answer, talk []Message) *answer {
	for i := range answers {
		if s.holds(answers[i].when, talk) {
			return &answers[i]
		}
	}
	return nil
}

func (s *Script) holds(w when, talk []Message) bool {
	return s.toolHolds(w, talk) &&
		finds(w.lastMessage, func() string { return lastContent(talk, func(Message) bool { return true }) }) &&
		finds(w.lastUser, func() string {
			return lastContent(talk, func(m Message) bool { return m.Role == RoleUser })
		}) &&
		finds(w.system, func() string { return systemText(talk) })
}

// toolHolds judges the conditions on the last tool's output. Where no tool ran
// yet, none of them holds.
func (s *Script) toolHolds(w when, talk []Message) bool {
	if w.lastTool == "" && w.lastToolOK == nil && w.lastToolOutput == nil {
		return true
	}
	output, tool, ran := lastTool(talk)
	return ran &&
		(w.lastTool == "" || w.lastTool == tool) &&
		(w.lastToolOK == nil || *w.lastToolOK == s.succeeded(output.Content)) &&
		finds(w.lastToolOutput, func() string { return output.Content })
}

// finds takes the text as a function because most conditions have no expression.
func finds(re *regexp.Regexp, text func() string) bool {
	return re == nil || re.MatchString(text())
}

// succeeded reads from a tool's output whether the tool said that it worked. Only
// an output that is JSON as a whole is believed about "ok": behind a line that
// says "error" a program may well have printed that all is fine.
func (s *Script) succeeded(output string) bool {
	if v, err := fromJSON(output); err == nil {
		if envelope, ok := v.(map[string]any); ok {
			if said, ok := envelope["ok"].(bool); ok {
				return said
			}
		}
	}
	return !s.failure.MatchString(output)
}
