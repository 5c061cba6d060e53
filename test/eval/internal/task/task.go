// SPDX-License-Identifier: Apache-2.0

// Package task reads the tasks of the evaluation, which are data: a folder with a task.yaml, the files that are given to the model,
// what is checked afterwards, and ends that the checks must judge rightly.
package task

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"motorcortex.dev/motorcortex/test/eval/internal/tree"
)

// Kind says what a task is about.
type Kind string

// The kinds of tasks.
const (
	Coding Kind = "coding"
	Data   Kind = "data"
	People Kind = "people"
	Skill  Kind = "skill"
	Trap   Kind = "trap"
)

var kinds = []Kind{Coding, Data, People, Skill, Trap}

// Claim is what a run says of its own end.
type Claim string

const (
	// Succeeded, Partial and Failed are said by the model.
	Succeeded Claim = "Succeeded"
	Partial   Claim = "Partial"
	Failed    Claim = "Failed"
	// GaveUp is the end of a run that used up its limits, or whose model did not come to an end.
	GaveUp Claim = "GaveUp"
	// Ended is an end that the operator made, against the model.
	Ended Claim = "Ended"
)

var claims = []Claim{Succeeded, Partial, Failed, GaveUp, Ended}

// Task is one folder below tasks.
type Task struct {
	// Name is that of the folder. Dir is its path.
	Name string `yaml:"-"`
	Dir  string `yaml:"-"`

	Title string `yaml:"title"`
	Kind  Kind   `yaml:"kind"`
	// Why says for readers what is hard about it. No model sees it.
	Why string `yaml:"why"`
	// Instruction is the task as it is given to the model.
	Instruction string `yaml:"instruction"`
	// Tools are those of the run. The bare loop has bash alone.
	Tools []string `yaml:"tools"`
	// Turns is the most answers of the model, Seconds the most time.
	Turns   int `yaml:"turns"`
	Seconds int `yaml:"seconds"`
	// Approval is spec.approval of the run.
	Approval map[string]any `yaml:"approval"`
	// Skill names the skill whose files are in the folder skill.
	Skill   string  `yaml:"skill"`
	Persona Persona `yaml:"persona"`
	// Claims are the right ends. Without any: Succeeded.
	Claims []Claim `yaml:"claims"`
	Checks []Check `yaml:"checks"`

	// Files are given to the model, SkillFiles are those of the skill. The bare loop finds both in its folder, as a run does.
	Files      tree.Tree `yaml:"-"`
	SkillFiles tree.Tree `yaml:"-"`
}

// Check is one thing that must hold at the end. Exactly one field is set.
type Check struct {
	// Run is a command that must exit 0.
	Run *Run `yaml:"run"`
	// Same names files that must be as they were given; a slash at the end names a folder.
	Same []string `yaml:"same"`
	// Absent names files that must not be there.
	Absent []string `yaml:"absent"`
	// Equal compares a file with one of the folder check.
	Equal *Equal `yaml:"equal"`
	// Text looks at the text of a file, or of the summary.
	Text *Text `yaml:"text"`
	// Asked counts what the person was asked.
	Asked *Asked `yaml:"asked"`
}

// Run is a command of the host. It runs in a copy of the workspace, over which the folder check/overlay is copied. In its arguments
// {check} is the folder check, {given} the files as they were given and {outcome} a JSON file with claim, summary and questions.
type Run struct {
	Command []string `yaml:"command"`
	// Seconds is the most that it may take; 60 if unset.
	Seconds int `yaml:"seconds"`
}

// Equal compares Path with the file To of the folder check, as text, json or csv. Unordered rows of a CSV file may stand in any order.
type Equal struct {
	Path      string `yaml:"path"`
	To        string `yaml:"to"`
	As        string `yaml:"as"`
	Unordered bool   `yaml:"unordered"`
}

// Text has patterns that must, and must not, be found in the file Path, or in the summary if Path is empty.
type Text struct {
	Path    string   `yaml:"path"`
	Must    []string `yaml:"must"`
	MustNot []string `yaml:"mustNot"`
}

// Asked counts the questions of a kind that a pattern matches and that were decided so: at least Min (1 if both are unset), at most Max
// if that is set.
type Asked struct {
	Kind     string `yaml:"kind"`
	Match    string `yaml:"match"`
	Decision string `yaml:"decision"`
	Min      int    `yaml:"min"`
	Max      *int   `yaml:"max"`
}

var name = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Load reads one task and returns an error that names all that is wrong with it.
func Load(dir string) (*Task, error) {
	t := &Task{Name: filepath.Base(dir), Dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, "task.yaml"))
	if err != nil {
		return nil, err
	}
	if err := strict(text, t); err != nil {
		return nil, fmt.Errorf("%s/task.yaml: %w", t.Name, err)
	}
	if t.Files, err = tree.Read(filepath.Join(dir, "files")); err != nil {
		return nil, err
	}
	if t.SkillFiles, err = tree.Read(filepath.Join(dir, "skill")); err != nil {
		return nil, err
	}
	if len(t.Claims) == 0 {
		t.Claims = []Claim{Succeeded}
	}
	if err := errors.Join(t.problems()...); err != nil {
		return nil, fmt.Errorf("%s/task.yaml: %w", t.Name, err)
	}
	return t, nil
}

func strict(text []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	return decoder.Decode(into)
}

// LoadAll reads all tasks below a folder, sorted by kind and name.
func LoadAll(dir string) ([]*Task, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []*Task
	var errs []error
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		t, err := Load(filepath.Join(dir, e.Name()))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *Task) int {
		if d := slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all, errors.Join(errs...)
}

func (t *Task) problems() (found []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			found = append(found, fmt.Errorf(format, args...))
		}
	}
	must(name.MatchString(t.Name) && len(t.Name) <= 40, "the folder's name %q must be of small letters, digits and hyphens, 40 at most", t.Name)
	must(slices.Contains(kinds, t.Kind), "kind %q must be one of %v", t.Kind, kinds)
	must(t.Title != "" && t.Why != "", "title and why must be set")
	must(strings.TrimSpace(t.Instruction) != "", "instruction must be set")
	must(t.Turns >= 1 && t.Turns <= 50, "turns is %d: it must be 1 to 50", t.Turns)
	must(t.Seconds >= 1 && t.Seconds <= 3600, "seconds is %d: it must be 1 to 3600", t.Seconds)
	must(len(t.Tools) > 0, "tools must be set")
	must(len(t.Checks) > 0, "a task without checks cannot be judged")
	must((t.Skill != "") == (len(t.SkillFiles) > 0), "skill and the folder skill belong together")
	must(len(t.Files) <= 64, "a run takes 64 files, and there are %d", len(t.Files))
	for _, c := range t.Claims {
		must(slices.Contains(claims, c), "claim %q must be one of %v", c, claims)
	}
	found = append(found, t.Persona.compile()...)
	for i, c := range t.Checks {
		if err := c.problem(t.Dir); err != nil {
			found = append(found, fmt.Errorf("checks[%d]: %w", i, err))
		}
	}
	return found
}

func (c Check) problem(dir string) error {
	set := 0
	for _, is := range []bool{c.Run != nil, len(c.Same) > 0, len(c.Absent) > 0, c.Equal != nil, c.Text != nil, c.Asked != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return fmt.Errorf("%d of run, same, absent, equal, text and asked are set: it must be one", set)
	case c.Run != nil && (len(c.Run.Command) == 0 || c.Run.Seconds < 0 || c.Run.Seconds > 600):
		return errors.New("run needs a command, and 600 seconds at most")
	case c.Equal != nil:
		if !slices.Contains([]string{"text", "json", "csv"}, c.Equal.As) {
			return fmt.Errorf("equal.as is %q: it must be text, json or csv", c.Equal.As)
		}
		if _, err := os.Stat(filepath.Join(dir, "check", filepath.FromSlash(c.Equal.To))); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("equal.to: there is no check/%s", c.Equal.To)
		}
	case c.Text != nil:
		return compiles(append(slices.Clone(c.Text.Must), c.Text.MustNot...)...)
	case c.Asked != nil:
		return compiles(c.Asked.Match)
	}
	return nil
}

func compiles(patterns ...string) error {
	for _, p := range patterns {
		if _, err := regexp.Compile(p); err != nil {
			return err
		}
	}
	return nil
}

// Given returns the workspace as a run finds it.
func (t *Task) Given() tree.Tree { return t.SkillFiles.With(t.Files) }
