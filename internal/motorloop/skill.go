// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"strings"
	"unicode/utf8"
)

// maxSkillBody is the most bytes of a skill's instructions that the prompt has. They are in it as long as the run lasts, and
// must fit into a model's window with the conversation.
const maxSkillBody = 32 << 10

// Skill is a skill as the prompt shows it. All of it but Name, Approved and Inputs is its author's text.
type Skill struct {
	Name, Description string
	// Body is SKILL.md without its front matter.
	Body string
	// Files are those of the skill, which are in the workspace under the same paths.
	Files []SkillFile
	// Inputs are the inputs of the task as a JSON object on one line, "" if there are none.
	Inputs string
	// Approved is true if a person has approved the files.
	Approved bool
}

// SkillFile is a file of a skill.
type SkillFile struct {
	Path string
	// Size in bytes.
	Size       int64
	Executable bool
}

// promptSkill is a skill in the prompt.
type promptSkill struct {
	Name, Description, Body, Inputs string
	Files                           []SkillFile
	MoreFiles                       int
	Approved                        bool
	// Cut is true if Body is shortened.
	Cut bool
}

func (s *Skill) prompt() *promptSkill {
	if s == nil {
		return nil
	}
	body, more := splitBody(s.Body)
	files := s.Files[:min(len(s.Files), maxListedFiles)]
	return &promptSkill{
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
