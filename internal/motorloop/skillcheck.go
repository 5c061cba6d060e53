// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Skills that a run wrote are collected after its end, when they can no longer be mended. So they are checked when the model calls finish,
// and their problems are reported to it like any other claim that does not hold. They are no claim, though: an attempt never fails because of
// them, and a check that fails does not prevent its end.

// SkillChecker checks the skills in the workspace by the rules of the collection at the end.
type SkillChecker interface {
	// Problems returns which skills would be rejected if the attempt ended now, and why, one line for each. succeeded is how it would end.
	Problems(ctx context.Context, succeeded bool) ([]string, error)
}

// maxSkillProblems is the most bytes about skills in the result of a finish call.
const maxSkillProblems = 6 << 10

// skillProblems returns the problems of the skills in the workspace, "" if there are none, or if the attempt has no refusal left
// for them.
func (r *run) skillProblems(ctx context.Context, c *turn.Call, status toolapi.FinishStatus) (string, error) {
	times, _ := verdict.RefusedFinishes(r.turns)
	if r.skills == nil || !r.cfg.WritesSkills || status == toolapi.FinishFailed || times >= config.MaxRefusedFinishes-1 {
		return "", nil
	}
	succeeded := status == toolapi.FinishSucceeded
	waited := r.watch.Wait()
	problems, err := r.skills.Problems(ctx, succeeded)
	if err != nil && ctx.Err() == nil {
		problems, err = r.skills.Problems(ctx, succeeded)
	}
	waited()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		r.log.LogAttrs(ctx, slog.LevelWarn, "the skills were not checked before the end", slog.String("call", c.ID), slog.Any("error", err))
		return "", nil
	}
	var said []string
	if len(problems) > 0 {
		said = append(said, "skills in the workspace would not be kept as they are:\n- "+strings.Join(problems, "\n- ")+
			"\nMend them and call finish again. What is no skill must have no SKILL.md.")
	}
	if succeeded && times == 0 {
		elsewhere, err := r.skillsElsewhere(ctx, c.ID+"-s")
		if err != nil {
			return "", err
		}
		if len(elsewhere) > 0 {
			said = append(said, fmt.Sprintf("not collected: %s. A skill is the workspace itself, a folder of it, or a folder below %s. Move it there, or call finish again if it is meant to stay",
				strings.Join(elsewhere, ", "), toolapi.SkillsDir))
		}
	}
	return text.Cut(strings.Join(said, "\n"), maxSkillProblems, 2*maxSkillProblems, "…"), nil
}

// maxElsewhere is how many manifests outside of the folders for skills are named.
const maxElsewhere = 8

// skillsElsewhere returns the manifests in the workspace outside of the folder for skills, as the model reads them. It omits the run's input
// files, and the files of skills and artifacts.
func (r *run) skillsElsewhere(ctx context.Context, id string) ([]string, error) {
	res, err := r.look(ctx, id, toolapi.ToolGlob, toolapi.GlobArgs{Pattern: "**/" + toolapi.SkillManifest})
	if err != nil || !res.OK || strings.HasPrefix(res.Output, toolapi.GlobNothing) {
		return nil, err
	}
	found := map[string]bool{}
	for line := range strings.Lines(res.Output) {
		if file := strings.TrimSpace(line); path.Base(file) == toolapi.SkillManifest {
			found[file] = true
		}
	}
	given := slices.Clone(r.cfg.Files)
	if r.cfg.Skill != nil {
		for _, f := range r.cfg.Skill.Files {
			given = append(given, f.Path)
		}
	}
	var elsewhere []string
	for file := range found {
		if isElsewhere(file, found) && !slices.Contains(given, file) {
			elsewhere = append(elsewhere, text.Printable(fmt.Sprintf("%q", file)))
		}
	}
	slices.Sort(elsewhere)
	return elsewhere[:min(len(elsewhere), maxElsewhere)], nil
}

// isElsewhere reports whether a manifest is neither that of a skill nor a file of one, and not an artifact.
func isElsewhere(file string, found map[string]bool) bool {
	parts := strings.Split(file, "/")
	if len(parts) <= 2 && parts[0] != toolapi.ArtifactDir || slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, ".") }) ||
		toolapi.LeftBehind(file) {
		return false
	}
	folder := parts[0]
	switch {
	case folder == toolapi.ArtifactDir:
		return false
	case slices.Contains(toolapi.SkillFolders(), folder) && found[toolapi.SkillManifest]:
		return false
	case folder == toolapi.SkillsDir:
		folder = path.Join(folder, parts[1])
	}
	return !found[path.Join(folder, toolapi.SkillManifest)]
}
