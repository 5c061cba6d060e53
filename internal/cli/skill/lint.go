// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/skill"
)

// level of a message.
type level string

const (
	levelError   level = "error"
	levelWarning level = "warning"
	levelNote    level = "note"
)

// message is what lint says about a place in a file. Line 0 is all of it.
type message struct {
	path  string
	line  int
	level level
	text  string
}

// linter collects messages about the skill in a folder.
type linter struct {
	dir, name string
	messages  []message
	manifest  skill.Manifest
	files     []skill.File
}

func (c Command) lint() *cobra.Command {
	cmd := &cobra.Command{
		Use: "lint DIR", Short: "Check the files and the policy of a skill, without a cluster.", Args: verb.Args("the DIR with the files"),
		Long: `Check the files of a skill as the operator does, and the policy in DIR.yaml, or in the file of --policy. Each message has its file and its line.

Errors are what the operator refuses. Warnings are the findings that a person is shown who decides about the skill, and what the policy does not grant although
files mention it, or grants although none does. The exit code is 1 if there are errors, with --strict also if there are warnings, and 5 if the files
cannot be read.`,
	}
	policy := cmd.Flags().String("policy", "", "file with the policy, or with the Skill that has it, instead of DIR.yaml")
	strict := cmd.Flags().Bool("strict", false, "take warnings for errors")
	cmd.RunE = verb.Asks(func(_ *cobra.Command, args []string) error { return c.lintFolder(args[0], *policy, *strict) })
	return cmd
}

func (c Command) lintFolder(dir, policy string, strict bool) error {
	name, err := nameOf(dir)
	if err != nil {
		return err
	}
	l := &linter{dir: dir, name: name}
	if err := l.folder(); err != nil {
		return err
	}
	facts := skill.Facts(l.files, l.manifest.Warnings)
	l.findings(&facts)
	if err := l.policy(policy, &facts); err != nil {
		return err
	}
	count := l.print(c)
	fmt.Fprintf(c.Err, "%d errors, %d warnings\n", count[levelError], count[levelWarning])
	if count[levelError] > 0 || strict && count[levelWarning] > 0 {
		return verb.ErrNo
	}
	return nil
}

func (l *linter) say(path string, line int, as level, format string, args ...any) {
	l.messages = append(l.messages, message{path, line, as, fmt.Sprintf(format, args...)})
}

// in is the path of a file of the skill.
func (l *linter) in(path string) string { return filepath.Join(l.dir, filepath.FromSlash(path)) }

// folder checks the files.
func (l *linter) folder() error {
	files, left, err := readFolder(l.dir)
	problems, err := problemsIn(err)
	if err != nil {
		return err
	}
	m, kept, more := skill.CheckAll(l.name, files)
	l.manifest, l.files = m, kept
	for _, p := range append(problems, more...) {
		for _, line := range p.Lines {
			l.say(l.in(p.Path), line.Line, levelError, "%s", line.Message)
		}
		if len(p.Lines) == 0 {
			l.say(l.in(p.Path), 0, levelError, "%s", p.Message)
		}
	}
	for _, name := range append(m.LeftOut, left...) {
		l.say(l.in(name), 0, levelNote, "it is no part of the skill: tools leave it behind")
	}
	if m.Description == blankDescription {
		l.say(l.in(skill.ManifestName), l.line(skill.ManifestName, blankDescription), levelError, "the description is still a blank: models choose skills by their descriptions")
	}
	return nil
}

// problemsIn takes the problems out of the error of readFolder.
func problemsIn(err error) (problems []*skill.Problem, other error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil, err
	}
	var others []error
	for _, e := range joined.Unwrap() {
		if p, ok := errors.AsType[*skill.Problem](e); ok {
			problems = append(problems, p)
		} else {
			others = append(others, e)
		}
	}
	return problems, errors.Join(others...)
}

// line is the first line of a file that has a text, 0 if there is none.
func (l *linter) line(path, text string) int {
	i := slices.IndexFunc(l.files, func(f skill.File) bool { return f.Path == path })
	if i < 0 {
		return 0
	}
	before, _, found := bytes.Cut(l.files[i].Content, []byte(text))
	if !found {
		return 0
	}
	return bytes.Count(before, []byte("\n")) + 1
}

// findings says what a person is shown who decides.
func (l *linter) findings(facts *v1alpha1.SkillRevisionStatus) {
	for _, f := range facts.Findings {
		as := levelWarning
		if f.Kind == v1alpha1.FindingScript {
			// Every skill with programs has it.
			as = levelNote
		}
		l.say(l.in(f.Path), int(f.Line), as, "%s: %s", f.Kind, f.Message)
	}
	if facts.Omitted > 0 {
		l.say(l.dir, 0, levelWarning, "there are %d more mentions and findings than are kept", facts.Omitted)
	}
}

// policy checks the policy, and compares it with what the files mention.
func (l *linter) policy(file string, facts *v1alpha1.SkillRevisionStatus) error {
	given := file != ""
	if !given {
		file = policyFile(l.dir, l.name)
	}
	data, err := readBounded(file)
	switch {
	case errors.Is(err, os.ErrNotExist) && !given:
		l.say(file, 0, levelNote, "there is no policy here: the skill is checked without one")
		return nil
	case err != nil:
		return err
	}
	at, line, err := locate(data)
	if err != nil {
		l.say(file, line, levelError, "this is not valid YAML: %v", err)
		return nil
	}
	s, err := skillIn(data)
	if err != nil {
		l.say(file, at.of(err.Error()), levelError, "%v", err)
		return nil
	}
	if s.Name != "" && s.Name != l.name {
		l.say(file, at.of("metadata.name"), levelError, "the name is %s, and that of the folder is %s: make them equal", s.Name, l.name)
	}
	for _, err := range misshapen(&s.Spec.Policy) {
		l.say(file, at.of(err.Error()), levelError, "%v", err)
	}
	if err := skill.CheckPolicy(&s.Spec.Policy); err != nil {
		l.say(file, at.of(err.Error()), levelError, "the policy cannot be granted: %v", err)
		return nil
	}
	l.compare(file, at, &s.Spec.Policy, facts)
	return nil
}

// compare says what the policy does not grant although files mention it, and the other way round.
func (l *linter) compare(file string, at places, policy *v1alpha1.SkillPolicy, facts *v1alpha1.SkillRevisionStatus) {
	r := skill.ReviewPolicy(&v1alpha1.SkillRevision{Status: *facts}, policy)
	for _, of := range []struct {
		what      string
		names     []string
		mentioned []v1alpha1.Mention
	}{
		{"domain", r.MissingDomains, facts.Domains}, {"variable", r.MissingCredentials, facts.Variables}, {"package", r.MissingPackages, facts.Packages}, {"tool", r.MissingTools, nil},
	} {
		for _, name := range of.names {
			path, line := skill.ManifestName, 0
			if i := slices.IndexFunc(of.mentioned, func(m v1alpha1.Mention) bool { return m.Name == name }); i >= 0 && len(of.mentioned[i].Paths) > 0 {
				path = of.mentioned[i].Paths[0]
				line = l.line(path, name)
			}
			l.say(l.in(path), line, levelWarning, "the policy does not grant the %s %s", of.what, name)
		}
	}
	for _, name := range r.UnusedDomains {
		l.say(file, at.ofValue(name), levelWarning, "no file mentions the domain %s", name)
	}
	for _, name := range r.UnusedCredentials {
		l.say(file, at.ofValue(name), levelWarning, "no file mentions the credential %s", name)
	}
}

// print prints all messages by file and line, and counts them.
func (l *linter) print(c Command) map[level]int {
	slices.SortStableFunc(l.messages, func(a, b message) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line)) })
	count := map[level]int{}
	for _, m := range l.messages {
		count[m.level]++
		fmt.Fprintf(c.Out, "%s: %s: %s\n", place(m.path, m.line), m.level, shown(m.text))
	}
	return count
}
