// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"strings"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
)

// maxSkillBody is the most bytes of a skill's instructions that the prompt has. They are in it as long as the run lasts, and
// must fit into a model's window with the conversation.
const maxSkillBody = 32 << 10

// skill is a skill in the prompt.
type skill struct {
	Name, Description, Body, Inputs string
	Files                           []config.SkillFile
	MoreFiles                       int
	Approved                        bool
	// Cut is true if Body is shortened.
	Cut bool
}

// skillOf returns a skill for the prompt, nil if there is none.
func skillOf(s *config.Skill) *skill {
	if s == nil {
		return nil
	}
	body, more := splitBody(s.Body)
	files := s.Files[:min(len(s.Files), maxListedFiles)]
	return &skill{
		Name: s.Name, Description: strings.Join(strings.Fields(withoutMarks(s.Description)), " "), Body: withoutMarks(body),
		Inputs: mark.ReplaceAllString(s.Inputs, `\u003c$1`), Files: files, MoreFiles: len(s.Files) - len(files), Approved: s.Approved, Cut: more,
	}
}

// splitBody returns as many whole lines of a text as the prompt may have, and whether there are more. It cuts a line that is itself too
// long.
func splitBody(s string) (shown string, more bool) {
	if len(s) <= maxSkillBody {
		return s, false
	}
	end := maxSkillBody
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	if i := strings.LastIndexByte(s[:end], '\n'); i > maxSkillBody/2 {
		end = i
	}
	return s[:end], true
}
