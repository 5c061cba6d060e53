// SPDX-License-Identifier: Apache-2.0

package script

import "regexp"

// matching returns the first answer whose condition holds, or nil.
func matching(answers []answer, talk []Message) *answer {
	for i := range answers {
		if holds(answers[i].when, talk) {
			return &answers[i]
		}
	}
	return nil
}

func holds(w when, talk []Message) bool {
	return toolHolds(w, talk) &&
		finds(w.lastUser, func() string { return lastUser(talk) }) &&
		finds(w.system, func() string { return systemText(talk) })
}

// toolHolds judges the conditions on the last tool's output. Where no tool ran
// yet, none of them holds.
func toolHolds(w when, talk []Message) bool {
	if w.lastTool == "" && w.lastToolOK == nil && w.lastToolOutput == nil {
		return true
	}
	output, tool, ran := lastTool(talk)
	return ran &&
		(w.lastTool == "" || w.lastTool == tool) &&
		(w.lastToolOK == nil || *w.lastToolOK == saysOK(output.Content)) &&
		finds(w.lastToolOutput, func() string { return output.Content })
}

// finds takes the text as a function because most conditions have no expression.
func finds(re *regexp.Regexp, text func() string) bool {
	return re == nil || re.MatchString(text())
}

// failure is what a tool's failure looks like when its output is not a JSON object that says so.
var failure = regexp.MustCompile(`(?i)\A\s*(?:\[?error\b|exit status [1-9])|\A[^\n]*\bok[=:] ?false\b`)

// saysOK reads from a tool's output whether the tool said that it worked. Only
// an output that is JSON as a whole is believed about "ok": behind a line that
// says "error" a program may well have printed that all is fine.
func saysOK(output string) bool {
	if v, err := fromJSON(output); err == nil {
		if envelope, ok := v.(map[string]any); ok {
			if said, ok := envelope["ok"].(bool); ok {
				return said
			}
		}
	}
	return !failure.MatchString(output)
}
