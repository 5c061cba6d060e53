// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The tool server lists skills by the same limits, which toolapi defines: the tool server imports no other package for them.
const (
	// MaxFileBytes is the most that one file of a skill may have.
	MaxFileBytes = toolapi.MaxSkillFileBytes
	// MaxTotalBytes is the most that all files of a skill may have.
	MaxTotalBytes = toolapi.MaxSkillBytes
	// MaxFiles is the most files of a skill.
	MaxFiles = toolapi.MaxSkillFiles
	// MaxPath is the most bytes of a path, MaxPathElement of a name in it.
	MaxPath, MaxPathElement = toolapi.MaxSkillPath, 100
)

// File is one file of a skill.
type File struct {
	// Path in the skill's folder, with / between folders.
	Path string
	// Content is never changed, and never copied.
	Content []byte
	// Executable is true if the file is a program.
	Executable bool
}

// Problem is why files are no skill.
type Problem struct {
	// Path of the file that it is about, "" if it is about all of them. One that cannot be shown as it is, is in quotes.
	Path string
	// Message is one sentence with the problem and the fix; of several problems, all of them up to maxProblems.
	Message string
	// Lines are what is wrong with lines of SKILL.md, in the order of the message. Of several problems joined into one, there are none.
	Lines []*LineError
	// TooLarge is true if a limit of size or number is exceeded, and nothing else is wrong.
	TooLarge bool
}

func (p *Problem) Error() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// maxProblems is how many problems an error names. An author who fixes a skill wants to see all of them at once.
const maxProblems = 8

// distinct are the problems without those of a file that has one already.
func distinct(problems []*Problem) []*Problem {
	seen := map[string]bool{}
	return slices.DeleteFunc(problems, func(p *Problem) bool {
		again := p.Path != "" && seen[p.Path]
		seen[p.Path] = true
		return again
	})
}

// joined merges several problems into one; it is nil if there are none.
func joined(problems []*Problem) *Problem {
	if len(problems) <= 1 {
		return append(problems, nil)[0]
	}
	all := &Problem{TooLarge: !slices.ContainsFunc(problems, func(p *Problem) bool { return !p.TooLarge })}
	var named []string
	for _, p := range problems[:min(len(problems), maxProblems)] {
		named = append(named, p.Error())
	}
	all.Message = strings.Join(named, "; ")
	if more := len(problems) - maxProblems; more > 0 {
		all.Message += fmt.Sprintf("; and %d more problems", more)
	}
	return all
}

// Check reports whether files are a skill, and returns its manifest and its files, in the order of their paths. Files below scripts that
// begin with #! are returned as programs. name is the one that SKILL.md must have, "" if it may have any. The error is a *Problem that
// names all problems, and is the same in whatever order the files are given.
//
// A skill may have any file. Files that tools leave behind are not part of it, whatever their path and size are, and are named in
// Manifest.LeftOut. All other paths must be valid, and no two of them may be the same for a system that ignores case.
func Check(name string, files []File) (Manifest, []File, error) {
	m, kept, problems := CheckAll(name, files)
	// A nil *Problem in an error is not nil.
	if problem := joined(problems); problem != nil {
		return Manifest{}, nil, problem
	}
	return m, kept, nil
}

// CheckAll is Check that returns all problems one by one, each file's first. If there are any, the manifest is what could be read of it, and
// the files are those whose paths are valid.
func CheckAll(name string, files []File) (Manifest, []File, []*Problem) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), bytes.Compare(a.Content, b.Content))
	})
	var left pathList
	var problems []*Problem
	kept := make([]File, 0, min(len(files), MaxFiles))
	for _, f := range files {
		if LeftBehind(f.Path) {
			left.add(shown(f.Path))
			continue
		}
		if message := checkPath(f.Path); message != "" {
			problems = append(problems, &Problem{Path: shown(f.Path), Message: message})
			continue
		}
		f.Executable = f.Executable || strings.HasPrefix(f.Path, "scripts/") && bytes.HasPrefix(f.Content, []byte("#!"))
		kept = append(kept, f)
	}
	problems = append(problems, checkSizes(kept)...)
	problems = append(problems, checkDistinct(kept)...)
	m, problem := checkManifest(name, kept)
	if problem != nil {
		problems = append(problems, problem)
	}
	m.LeftOut = left.all()
	return m, kept, distinct(problems)
}

// pathList are paths, of which the first are stored and the others are counted.
type pathList struct {
	first []string
	more  int
}

func (l *pathList) add(p string) {
	if len(l.first) == maxWarnings-1 {
		l.more++
		return
	}
	l.first = append(l.first, p)
}

func (l *pathList) all() []string {
	if l.more == 0 {
		return l.first
	}
	return append(slices.Clip(l.first), fmt.Sprintf("%d more", l.more))
}

// checkPath describes the problem with a path; it returns "" if there is none.
func checkPath(p string) string {
	if strings.EqualFold(p, ManifestName) && p != ManifestName {
		return "its name is not " + ManifestName + ": rename it"
	}
	if err := ValidPath(p); err != nil {
		return err.Error()
	}
	return ""
}

// checkSizes returns a problem for each exceeded limit of size or number.
func checkSizes(files []File) (problems []*Problem) {
	if len(files) > MaxFiles {
		problems = append(problems, &Problem{TooLarge: true, Message: fmt.Sprintf("there are %d files, and %d are the most: take some out", len(files), MaxFiles)})
	}
	total := 0
	for _, f := range files {
		if n := len(f.Content); n > MaxFileBytes {
			problems = append(problems, &Problem{
				Path: f.Path, TooLarge: true, Message: fmt.Sprintf("it has %d bytes, and %d are the most: split it, or take it out", n, MaxFileBytes),
			})
		}
		total += len(f.Content)
	}
	if total > MaxTotalBytes {
		problems = append(problems, &Problem{TooLarge: true, Message: fmt.Sprintf("the files have %d bytes, and %d are the most: take some out", total, MaxTotalBytes)})
	}
	return problems
}

// checkDistinct returns a problem for each file that cannot be in one folder together with another. files are in the order of their paths.
func checkDistinct(files []File) (problems []*Problem) {
	folded := make(map[string]string, len(files))
	for _, f := range files {
		key := fold(f.Path)
		switch first, ok := folded[key]; {
		case ok && first == f.Path:
			problems = append(problems, &Problem{Path: f.Path, Message: "it is there twice: take one out"})
		case ok:
			problems = append(problems, &Problem{Path: f.Path, Message: "it is the same file as " + first + " where case is ignored: rename one"})
		}
		folded[key] = f.Path
	}
	for _, f := range files {
		for folder := path.Dir(fold(f.Path)); folder != "."; folder = path.Dir(folder) {
			if file, ok := folded[folder]; ok {
				problems = append(problems, &Problem{Path: file, Message: "it is a file and the folder of " + f.Path + ": rename one"})
			}
		}
	}
	return problems
}

// checkManifest reads SKILL.md. One that is larger than a file may be is not parsed.
func checkManifest(name string, files []File) (Manifest, *Problem) {
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == ManifestName })
	if i < 0 {
		return Manifest{}, &Problem{Path: ManifestName, Message: "it is missing: add it, with the name and the description of the skill"}
	}
	m, err := ParseManifest(files[i].Content)
	if err != nil {
		return Manifest{}, &Problem{Path: ManifestName, Message: err.Error(), Lines: linesOf(err), TooLarge: len(files[i].Content) > MaxManifestBytes}
	}
	if name != "" && m.Name != name {
		return m, &Problem{Path: ManifestName, Message: fmt.Sprintf("the name in it is %s, and that of the skill is %s: make them equal",
			quoted(m.Name), quoted(name))}
	}
	return m, nil
}

// linesOf are the lines that an error of ParseManifest is about.
func linesOf(err error) (lines []*LineError) {
	if all, ok := errors.AsType[lineErrors](err); ok {
		for _, e := range all {
			lines = append(lines, linesOf(e)...)
		}
	} else if one, ok := errors.AsType[*LineError](err); ok {
		lines = append(lines, one)
	}
	return lines
}

// ValidPath returns an error if the path cannot be that of a file in a skill. It is relative to the skill's folder and has at most MaxPath
// bytes: names with / between them, of 1 to MaxPathElement bytes each. Names consist of visible characters and blanks between them, and not
// of dots alone. The error is one sentence with the fix.
func ValidPath(p string) error {
	switch {
	case p == "":
		return errors.New("the path is empty: name the file")
	case len(p) > MaxPath:
		return fmt.Errorf("the path has %d bytes, and %d are the most: shorten it", len(p), MaxPath)
	case !utf8.ValidString(p):
		return errors.New("the path is not valid UTF-8: rename the file")
	case strings.Contains(p, `\`):
		return errors.New("the path has a backslash: write / between folders")
	case strings.HasPrefix(p, "/"):
		return errors.New("the path begins with /: write it from the folder of the skill")
	}
	for element := range strings.SplitSeq(p, "/") {
		switch {
		case strings.Trim(element, ".") == "":
			return errors.New("the path has a part that is empty, or dots alone: take it away")
		case len(element) > MaxPathElement:
			return fmt.Errorf("the path has a part of %d bytes, and %d are the most: shorten it", len(element), MaxPathElement)
		case strings.TrimSpace(element) != element:
			return errors.New("the path has a part that begins or ends with a blank: take the blank away")
		}
	}
	for _, c := range p {
		if !Visible(c) {
			return fmt.Errorf("the path has a character that cannot be seen (U+%04X): rename the file", c)
		}
	}
	return nil
}

// shown is a path that may be shown to people, shortened to at most MaxPath bytes.
func shown(p string) string {
	if !utf8.ValidString(p) || p == "" || strings.ContainsFunc(p, func(c rune) bool { return !Visible(c) }) {
		return quoted(p)
	}
	return text.CutBytes(p, MaxPath)
}

// fold is the same for paths that a system takes for one if it ignores case, and how letters with accents are written.
func fold(p string) string { return norm.NFC.String(cases.Fold().String(norm.NFD.String(p))) }

// LeftBehind reports whether a file is something that tools leave behind, wherever it is: node_modules, .cache, .local, .git,
// __pycache__, .DS_Store, .motor, *.log and *.pyc, in upper or lower case. It is no part of a skill.
func LeftBehind(p string) bool { return toolapi.LeftBehind(p) }
