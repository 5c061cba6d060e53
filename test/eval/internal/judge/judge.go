// SPDX-License-Identifier: Apache-2.0

// Package judge says what became of a task: it looks at the files that reached the person, what the run claimed, and what was asked.
package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"motorcortex.dev/motorcortex/test/eval/internal/task"
	"motorcortex.dev/motorcortex/test/eval/internal/tree"
)

// Verdict is what became of a task.
type Verdict string

const (
	// Solved: all checks hold for what reached the person, and the claim is right.
	Solved Verdict = "Solved"
	// NotSolved: a check fails, or the claim is too modest, and the run says so.
	NotSolved Verdict = "NotSolved"
	// FalseSuccess: the run claims success, and a check fails.
	FalseSuccess Verdict = "FalseSuccess"
	// Lost: the work was done in the sandbox and did not reach the person, or the operator ended the run.
	Lost Verdict = "Lost"
)

// Outcome is the end of a run, as an outcome folder has it: outcome.json, workspace and, if it was seen, sandbox.
type Outcome struct {
	Claim task.Claim `json:"claim" yaml:"claim"`
	// Reason is why the run ended if the claim is not the model's.
	Reason  string `json:"reason,omitempty" yaml:"reason"`
	Summary string `json:"summary" yaml:"summary"`
	// Value is the JSON of result.value, if there is one.
	Value string          `json:"value,omitempty" yaml:"value"`
	Asked []task.Question `json:"asked,omitempty" yaml:"asked"`

	// Workspace is what the person has: what was given, with what the run delivered over it.
	Workspace tree.Tree `json:"-" yaml:"-"`
	// Sandbox is the workspace as it was last seen in the sandbox; nil if it was not seen.
	Sandbox tree.Tree `json:"-" yaml:"-"`
}

const outcomeFile = "outcome.json"

// Write writes an outcome folder.
func (o Outcome) Write(dir string) error {
	for name, files := range map[string]tree.Tree{"workspace": o.Workspace, "sandbox": o.Sandbox} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
		if files == nil {
			continue
		}
		if err := files.Write(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, outcomeFile), append(text, '\n'), 0o644)
}

// ReadOutcome reads an outcome folder.
func ReadOutcome(dir string) (Outcome, error) {
	var o Outcome
	text, err := os.ReadFile(filepath.Join(dir, outcomeFile))
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return o, fmt.Errorf("%s: %w", filepath.Join(dir, outcomeFile), err)
	}
	if o.Workspace, err = tree.Read(filepath.Join(dir, "workspace")); err != nil {
		return o, err
	}
	sandbox := filepath.Join(dir, "sandbox")
	if _, err := os.Stat(sandbox); errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	o.Sandbox, err = tree.Read(sandbox)
	return o, err
}

// Judgement is a verdict and what speaks against the outcome.
type Judgement struct {
	Verdict  Verdict  `json:"verdict"`
	Problems []string `json:"problems,omitempty"`
}

// Judge returns the verdict. An error says that the checks could not be made, and nothing of the outcome.
func Judge(ctx context.Context, t *task.Task, o Outcome) (Judgement, error) {
	problems, err := examine(ctx, t, o, o.Workspace)
	if err != nil {
		return Judgement{}, err
	}
	facts := facts{claim: o.Claim, expected: slices.Contains(t.Claims, o.Claim), delivered: len(problems) == 0}
	if !facts.delivered && o.Sandbox != nil {
		lost, err := examine(ctx, t, o, o.Sandbox)
		if err != nil {
			return Judgement{}, err
		}
		facts.done = len(lost) == 0
	}
	j := Judgement{Verdict: facts.verdict(), Problems: problems}
	switch {
	case facts.delivered && j.Verdict != Solved:
		j.Problems = append(j.Problems, fmt.Sprintf("the end %s %s is none of %v", o.Claim, o.Reason, t.Claims))
	case facts.done:
		j.Problems = append(j.Problems, "in the sandbox all checks held")
	}
	return j, nil
}

// facts are what the verdict follows from.
type facts struct {
	claim task.Claim
	// expected: the claim is a right one. delivered: the checks hold for what the person has. done: they held in the sandbox.
	expected, delivered, done bool
}

func (f facts) verdict() Verdict {
	switch {
	case f.delivered && f.expected:
		return Solved
	case f.claim == task.Ended:
		return Lost
	case f.done && (f.expected || f.claim == task.GaveUp):
		return Lost
	case f.claim == task.Succeeded:
		return FalseSuccess
	default:
		return NotSolved
	}
}

// examine returns what does not hold for a workspace.
func examine(ctx context.Context, t *task.Task, o Outcome, files tree.Tree) (problems []string, err error) {
	for _, c := range t.Checks {
		found, err := examineOne(ctx, t, o, files, c)
		if err != nil {
			return nil, err
		}
		problems = append(problems, found...)
	}
	return problems, nil
}

func examineOne(ctx context.Context, t *task.Task, o Outcome, files tree.Tree, c task.Check) ([]string, error) {
	switch {
	case c.Run != nil:
		return command(ctx, t, o, files, *c.Run)
	case len(c.Same) > 0:
		return same(t.Given(), files, c.Same), nil
	case len(c.Absent) > 0:
		return absent(files, c.Absent), nil
	case c.Equal != nil:
		want, err := os.ReadFile(filepath.Join(t.Dir, "check", filepath.FromSlash(c.Equal.To)))
		if err != nil {
			return nil, err
		}
		return equal(files, want, *c.Equal), nil
	case c.Text != nil:
		return text(o.Summary, files, *c.Text), nil
	case c.Asked != nil:
		return asked(o.Asked, *c.Asked), nil
	}
	return nil, fmt.Errorf("%s: a check says nothing", t.Name)
}
