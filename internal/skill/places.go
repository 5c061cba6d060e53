// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"path"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// oddPlace describes the other meaning that a file has at its path; it returns "" if there is none. A run has the files of its skill in its
// workspace.
func oddPlace(p string) string {
	top, _, below := strings.Cut(p, "/")
	switch {
	case below && top == toolapi.ArtifactDir:
		return "A run keeps what is in this folder as its artifacts."
	case below && top == toolapi.SkillsDir:
		return "What is in this folder of a run is taken for further skills."
	case p != ManifestName && strings.EqualFold(path.Base(p), ManifestName):
		return "A second SKILL.md: the skill's own is the one that is read."
	}
	for element := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(element, ".") {
			return "A listing does not show the file, as its name begins with a dot."
		}
	}
	return ""
}

// Places are the paths of a skill's files among the other files of a workspace: those that every skill has, and those of this one.
type Places struct {
	// files are those at the skill's root, folders the first parts of the paths of all others.
	files, folders map[string]bool
	// program is true if there is a program at the root: it can load the files beside it.
	program bool
}

// PlacesOf are those of the files of a revision.
func PlacesOf(list []v1alpha1.RevisionFile) Places {
	p := Places{files: map[string]bool{}, folders: map[string]bool{}}
	for _, f := range list {
		top, _, below := strings.Cut(f.Path, "/")
		if below {
			p.folders[top] = true
			continue
		}
		p.files[top] = true
		p.program = p.program || f.Executable || programName(top)
	}
	return p
}

// Has reports whether a file of the workspace, by its path, is where the skill has files. It need not be one of them.
func (p Places) Has(file string) bool {
	top, _, below := strings.Cut(file, "/")
	return toolapi.SkillPath(file) || !LeftBehind(file) && (below && p.folders[top] || !below && p.files[top])
}

// Beside reports whether a file at that path can change what the skill's programs do: it is at a path of the skill, or at the root beside a
// program.
func (p Places) Beside(file string) bool {
	return p.Has(file) || p.program && !strings.Contains(file, "/")
}

// Own are the paths that not every skill has, in their order: names of files and of folders at the skill's root.
func (p Places) Own() (names []string) {
	for name := range p.files {
		if !toolapi.SkillPath(name) {
			names = append(names, name)
		}
	}
	for name := range p.folders {
		if !slices.Contains(toolapi.SkillFolders(), name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
