// SPDX-License-Identifier: Apache-2.0

package config

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
