// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bytes"
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Bounds of the gathered facts. Facts beyond them are only counted.
const (
	maxMentions, maxMentionPaths = 64, 4
	// maxDistinct is how many further distinct names are counted. Beyond it, every mention counts as one more, without a look at its name.
	maxDistinct = 1024
	maxFindings = 64
	// maxFileFindings is the most findings of one kind in one file, so that a file cannot crowd out the others.
	maxFileFindings = 4
	// maxFact is the most bytes of the message of a finding.
	maxFact = 256
)

// Facts gathers facts about files by patterns: the hosts and the environment variables that they mention, and the findings that a person
// should look at. The manifest and the scripts come first if there is more than the bounds allow. The same files yield the same facts, in
// whatever order they are passed. It does not set reviewTime.
//
// Patterns find what is written plainly. They do not find names that a script puts together when it runs: only the policy decides what a
// sandbox may reach.
func Facts(files []File, warnings []Warning) v1alpha1.SkillRevisionStatus {
	g := &gatherer{secretBytes: maxSecretBytes, shellBytes: maxShellBytes, domains: newMentions(), variables: newMentions(), packages: newMentions(), known: map[string]string{}}
	ordered := slices.Clone(files)
	slices.SortStableFunc(ordered, func(a, b File) int {
		return cmp.Or(cmp.Compare(importance(&a), importance(&b)), cmp.Compare(a.Path, b.Path))
	})
	for i := range ordered {
		g.file(&ordered[i])
	}
	for _, w := range warnings {
		g.find(w.Kind, ManifestName, w.Line, w.Message)
	}
	var s v1alpha1.SkillRevisionStatus
	s.Domains, s.Variables, s.Packages, s.Findings = g.domains.list(), g.variables.list(), g.packages.list(), g.kept()
	s.Shell = g.shells
	if len(s.Shell) > 0 {
		s.Tools = []string{toolapi.ToolBash}
	}
	s.Omitted = int32(min(g.domains.omitted+g.variables.omitted+g.packages.omitted+g.omitted+len(g.findings)-len(s.Findings), 1<<30))
	return s
}

// importance of a file: the lower the earlier it is looked at.
func importance(f *File) int {
	switch {
	case f.Path == ManifestName:
		return 0
	case isProgram(f):
		return 1
	}
	return 2
}

// isProgram reports whether a file is one to run.
func isProgram(f *File) bool {
	return f.Executable || strings.HasPrefix(f.Path, "scripts/") || programName(f.Path) || bytes.HasPrefix(f.Content, []byte("#!"))
}

// programEndings are those of files that are run, or loaded by a program.
var programEndings = setOf("py", "sh", "bash", "js", "cjs", "mjs", "ts", "rb", "pl", "php", "lua", "ps1", "bat", "cmd", "exe", "so", "jar", "wasm")

// programName reports, by its name, whether a file is run, or loaded by a program.
func programName(p string) bool {
	return programEndings[strings.ToLower(strings.TrimPrefix(path.Ext(p), "."))]
}

// gatherer gathers facts.
type gatherer struct {
	domains, variables, packages *mentions
	// shells are files that have something for a shell.
	shells   []string
	findings []v1alpha1.Finding
	// known are the hosts of texts that were parsed before.
	known map[string]string
	// omitted are findings beyond maxFileFindings.
	omitted int
	// secretBytes and shellBytes are how much may still be looked at for secrets, and parsed as shell scripts.
	secretBytes, shellBytes int
}

func (g *gatherer) file(f *File) {
	if why := oddPlace(f.Path); why != "" {
		g.find(v1alpha1.FindingOddFile, f.Path, 0, why)
	}
	isText := utf8.Valid(f.Content) && bytes.IndexByte(f.Content, 0) < 0
	if !isText {
		g.find(v1alpha1.FindingBinary, f.Path, 0, "The file is no text.")
	}
	if isProgram(f) {
		g.script(f)
	}
	if !isText && !isProgram(f) {
		return
	}
	// A program that is no text may be one for a shell that does not mind.
	g.hosts(f)
	g.environment(f)
	g.installed(f)
	g.shell(f)
	g.secrets(f)
	g.base64(f)
	if isText {
		g.hidden(f)
	}
}

// find adds a finding. Line is 0 for the whole file.
func (g *gatherer) find(kind v1alpha1.FindingKind, path string, line int, message string) {
	path = text.CutBytes(path, MaxPath)
	n := 0
	for i := len(g.findings) - 1; i >= 0 && g.findings[i].Path == path; i-- {
		if g.findings[i].Kind == kind {
			n++
		}
	}
	if n == maxFileFindings {
		g.omitted++
		return
	}
	g.findings = append(g.findings, v1alpha1.Finding{
		Kind: kind, Path: path, Line: int32(min(line, 1<<30)), Message: text.CutBytes(text.Printable(message), maxFact),
	})
}

// findingOrder are the kinds, what matters most first.
var findingOrder = []v1alpha1.FindingKind{
	v1alpha1.FindingSecret, v1alpha1.FindingHiddenUnicode, v1alpha1.FindingBase64, v1alpha1.FindingBinary, v1alpha1.FindingOddFile,
	v1alpha1.FindingUnknownKey, v1alpha1.FindingOddValue, v1alpha1.FindingScript,
}

// kept are the findings within the bounds, so many of each kind that none crowds out the others, by path and line.
func (g *gatherer) kept() (kept []v1alpha1.Finding) {
	byKind := make(map[v1alpha1.FindingKind][]v1alpha1.Finding)
	for _, f := range g.findings {
		byKind[f.Kind] = append(byKind[f.Kind], f)
	}
	for i := range g.findings {
		for _, k := range findingOrder {
			if i < len(byKind[k]) && len(kept) < maxFindings {
				kept = append(kept, byKind[k][i])
			}
		}
	}
	slices.SortStableFunc(kept, func(a, b v1alpha1.Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Message, b.Message))
	})
	return kept
}

// mentions gathers names and the files that mention them.
type mentions struct {
	paths map[string][]string
	// others are names beyond the bound.
	others  map[string]bool
	omitted int
}

func newMentions() *mentions {
	return &mentions{paths: map[string][]string{}, others: map[string]bool{}}
}

func (m *mentions) add(name, path string) {
	paths, known := m.paths[name]
	path = text.CutBytes(path, MaxPath)
	switch {
	case known && (len(paths) == maxMentionPaths || slices.Contains(paths, path)):
	case known || len(m.paths) < maxMentions:
		m.paths[name] = append(paths, path)
	case m.others[name]:
	default:
		m.others[name] = true
		m.omitted++
	}
}

// full reports whether there is no use in distinguishing further mentions.
func (m *mentions) full() bool {
	if len(m.others) < maxDistinct {
		return false
	}
	m.omitted++
	return true
}

// list are the names that are kept, sorted.
func (m *mentions) list() (list []v1alpha1.Mention) {
	for name, paths := range m.paths {
		list = append(list, v1alpha1.Mention{Name: name, Paths: paths})
	}
	slices.SortFunc(list, func(a, b v1alpha1.Mention) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
