// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"slices"
	"strings"
)

const (
	// SkillsDir is the folder in the workspace whose folders may be skills. The workspace itself may be one, and each of its folders.
	SkillsDir = "skills"
	// SkillManifest is the file that makes a folder a skill.
	SkillManifest = "SKILL.md"
	// MaxSkillFolders is how many folders are listed.
	MaxSkillFolders = 16
	// MaxSkillFiles is how many files of a folder are listed.
	MaxSkillFiles = 256
	// MaxSkillPath is the longest path of a file in its folder, and of a folder in the workspace, in bytes.
	MaxSkillPath = 256
	// MaxSkillFileBytes is the maximum size of one file of a skill, MaxSkillBytes that of all files of one.
	MaxSkillFileBytes = 1 << 20
	MaxSkillBytes     = 10 << 20
)

// ListSkills asks for Skills. Without a body, it is the zero value.
type ListSkills struct {
	// Own are the paths in the workspace where the run's initial skill has files, beside those of every skill: at most
	// MaxSkillFiles names of files and folders. All content of such a folder counts as the skill's. A server that does not
	// know the field lists less, which costs a proposal some of its files, and no run its end.
	Own []string `json:"own,omitempty" wire:"optional"`
	// Look lists the current files while everything continues: a file may have changed when it is read.
	Look bool `json:"look,omitempty"`
}

// Skills are the folders of the workspace that have a SKILL.md: the workspace itself first, then those of SkillsDir, then others,
// each in the order of their names.
type Skills struct {
	Folders []SkillFolder `json:"folders"`
	// Omitted is how many further folders there are, at least.
	Omitted int32 `json:"omitted,omitempty"`
}

// SkillFolder is one such folder.
type SkillFolder struct {
	// Path in the workspace, "." for the workspace itself.
	Path string `json:"path"`
	// Files are those of the skill, in the order of their paths. In the workspace they are those of SkillPath and ListSkills.Own, in
	// any other folder all but the remains of tools. There are none with Problem.
	Files []SkillFile `json:"files,omitempty"`
	// Problem is why the folder cannot be a skill, one of the Problem words, "" if only its files decide that.
	Problem string `json:"problem,omitempty"`
}

// SkillFile is one file of a folder.
type SkillFile struct {
	// Path in the folder.
	Path string `json:"path"`
	Size int64  `json:"size"`
	// SHA256 of the content in hexadecimal digits, "" with Problem.
	SHA256     string `json:"sha256,omitempty"`
	Executable bool   `json:"executable,omitempty"`
	// Problem is why it cannot be a file of a skill, one of the Problem words, "" if it can.
	Problem string `json:"problem,omitempty"`
}

// ProblemOddName is a name with invisible characters, or a path that is too long. Path has the printable part.
const ProblemOddName = "odd_name"

// SkillRootFiles are the files of a skill that are not in one of its SkillFolders.
func SkillRootFiles() []string {
	return []string{SkillManifest, "LICENSE", "LICENSE.md", "LICENSE.txt", "NOTICE", "README.md"}
}

// SkillFolders are the folders of a skill that contain its other files.
func SkillFolders() []string { return []string{"assets", "references", "scripts"} }

// SkillPath reports whether a file in a folder with other content, such as the workspace, belongs to a skill: it is one of SkillRootFiles,
// or below one of SkillFolders, and not a remainder of tools. A folder that is a skill's own may contain any file.
func SkillPath(p string) bool {
	if slices.Contains(SkillRootFiles(), p) {
		return true
	}
	top, rest, _ := strings.Cut(p, "/")
	return rest != "" && slices.Contains(SkillFolders(), top) && !LeftBehind(rest)
}

// LeftBehind reports whether a path is, or is below, something that tools leave behind.
func LeftBehind(p string) bool { return slices.ContainsFunc(strings.Split(p, "/"), LeftByTools) }

// LeftByTools reports whether tools leave something of this name behind.
func LeftByTools(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "node_modules", ".cache", ".local", ".git", "__pycache__", ".ds_store", ".motor":
		return true
	}
	return strings.HasSuffix(name, ".log") || strings.HasSuffix(name, ".pyc")
}
