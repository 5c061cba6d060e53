// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"motorcortex.dev/motorcortex/test/eval/internal/bare"
	"motorcortex.dev/motorcortex/test/eval/internal/task"
	"motorcortex.dev/motorcortex/test/eval/internal/tree"
)

// This file is the one place that knows how a run says what it claims and where its files are. Where the API says it otherwise, this
// is what changes.

// ownReasons are ends that the model is to answer for: limits that it used up, and answers that were none. All other ends without a
// claim are the operator's.
var ownReasons = map[string]bool{
	"MaxIterations": true, "MaxTokens": true, "Timeout": true, "EmptyAnswers": true, "AcceptanceFailed": true, "Cancelled": true,
}

// claimOf reads what a run that has finished says of its end. A run that completed with text alone says it by its first word, if at all.
func claimOf(r motorRun) (claim task.Claim, reason string) {
	succeeded, reason := r.condition("Succeeded")
	switch {
	case succeeded == "True":
		if r.Status.Result != nil {
			return bare.ClaimOf(r.Status.Result.Summary), ""
		}
		return task.Succeeded, ""
	case reason == string(task.Partial), reason == string(task.Failed):
		return task.Claim(reason), ""
	case ownReasons[reason]:
		return task.GaveUp, reason
	}
	return task.Ended, reason
}

// summaryOf reads the closing text and the value of a run.
func summaryOf(r motorRun) (summary, value string) {
	if r.Status.Result == nil {
		return "", ""
	}
	value = string(r.Status.Result.Value)
	var text string
	if json.Unmarshal(r.Status.Result.Value, &text) == nil {
		value = text
	}
	return r.Status.Result.Summary, value
}

// getter reads an object of the run's namespace.
type getter interface {
	Get(ctx context.Context, kind, name string, into any) error
}

// kept are the files that a run left behind.
type kept struct {
	// artifacts by their path, skills by the path that they have in a workspace.
	artifacts, skills tree.Tree
}

type configMap struct {
	BinaryData map[string][]byte `json:"binaryData"`
	Data       map[string]string `json:"data"`
}

func (c configMap) content() []byte {
	if text, ok := c.Data["content"]; ok {
		return []byte(text)
	}
	return c.BinaryData["content"]
}

// readKept reads what a run left behind. What is listed and was not kept did not reach the person.
func readKept(ctx context.Context, g getter, r motorRun) (kept, error) {
	k := kept{artifacts: tree.Tree{}, skills: tree.Tree{}}
	if r.Status.Result == nil {
		return k, nil
	}
	for _, a := range r.Status.Result.Artifacts {
		if a.ConfigMapName == "" {
			continue
		}
		var c configMap
		if err := g.Get(ctx, "configmap", a.ConfigMapName, &c); err != nil {
			return k, fmt.Errorf("read the artifact %s: %w", a.Path, err)
		}
		k.artifacts[a.Path] = c.content()
	}
	for _, s := range r.Status.Result.Skills.Created {
		if err := readSkill(ctx, g, s.RevisionName, "skills/"+s.Name, k.skills); err != nil {
			return k, err
		}
	}
	for _, s := range r.Status.Result.Skills.Updated {
		if err := readSkill(ctx, g, s.RevisionName, "", k.skills); err != nil {
			return k, err
		}
	}
	return k, nil
}

// readSkill puts the files of a SkillRevision below a folder. Its ConfigMaps have the files one after the other.
func readSkill(ctx context.Context, g getter, revision, below string, into tree.Tree) error {
	var rev struct {
		Spec struct {
			ConfigMaps []string `json:"configMapNames"`
			Files      []struct {
				Path string `json:"path"`
				Size int    `json:"size"`
			} `json:"files"`
		} `json:"spec"`
	}
	if err := g.Get(ctx, "skillrevision", revision, &rev); err != nil {
		return fmt.Errorf("read the skill's revision: %w", err)
	}
	var all bytes.Buffer
	for _, name := range rev.Spec.ConfigMaps {
		var c configMap
		if err := g.Get(ctx, "configmap", name, &c); err != nil {
			return fmt.Errorf("read the skill's revision %s: %w", revision, err)
		}
		all.Write(c.content())
	}
	for _, f := range rev.Spec.Files {
		if f.Size < 0 || f.Size > all.Len() {
			return fmt.Errorf("the skill's revision %s has fewer bytes than it lists", revision)
		}
		into[path.Join(below, f.Path)] = bytes.Clone(all.Next(f.Size))
	}
	return nil
}

const (
	diffName  = "workspace.diff"
	artifacts = "artifacts/"
)

// delivered returns the workspace as the person has it: what was given, changed by the diff, with the artifacts and skills over it. A
// file that is kept as artifacts/PATH is also the file PATH, unless that came by itself: people find it there.
func delivered(ctx context.Context, given tree.Tree, k kept) (tree.Tree, error) {
	now := given.With()
	var problem error
	if diff, ok := k.artifacts[diffName]; ok {
		var err error
		if now, err = applied(ctx, now, diff); err != nil {
			problem = err
		}
	}
	// A skill that was repaired has its files in the diff too, which is against those that were given.
	now = now.With(k.skills)
	for _, name := range k.artifacts.Paths() {
		if name == diffName {
			continue
		}
		now[name] = k.artifacts[name]
		natural, ok := strings.CutPrefix(name, artifacts)
		if !ok {
			continue
		}
		if _, is := k.artifacts[natural]; !is && bytes.Equal(now[natural], given[natural]) {
			now[natural] = k.artifacts[name]
		}
	}
	return now, problem
}

// applied applies a diff as git writes it. One that does not apply leaves the files as they were.
func applied(ctx context.Context, files tree.Tree, diff []byte) (tree.Tree, error) {
	dir, err := os.MkdirTemp("", "eval-diff-")
	if err != nil {
		return files, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	workspace := filepath.Join(dir, "workspace")
	if err := files.Write(workspace); err != nil {
		return files, err
	}
	cmd := exec.CommandContext(ctx, "git", "apply", "-p1", "--whitespace=nowarn", "-")
	cmd.Dir, cmd.Stdin = workspace, bytes.NewReader(diff)
	// In a folder of a repository, git would leave out what is not in that repository, and say nothing.
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return files, errors.Join(fmt.Errorf("%s does not apply: %.500s", diffName, out), ctx.Err())
	}
	return tree.Read(workspace)
}
