// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harvest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// IsSkillFile reports whether a file of the workspace is one that a listed folder can have.
func IsSkillFile(local string) bool { return !toolapi.LeftBehind(local) }

// skillSurvey is one walk through the folders that may be skills.
type skillSurvey struct {
	a    *Artifacts
	list toolapi.Skills
	// seen has every path of a folder, as it may be shown.
	seen map[string]bool
	// own are the paths that the skill which the workspace began with has there, beside those of every skill.
	own []string
	// walked counts entries, all folders together.
	walked int
}

// Skills lists the folders of the workspace that may be skills. own are the paths that the skill which the workspace began with has there,
// beside those of every skill. The list is incomplete if ctx ends.
func (a *Artifacts) Skills(ctx context.Context, own []string) toolapi.Skills {
	s := skillSurvey{a: a, seen: map[string]bool{}, own: own}
	s.all(ctx)
	return s.list
}

func (s *skillSurvey) all(ctx context.Context) {
	s.list.Folders = []toolapi.SkillFolder{}
	if _, err := s.a.w.Root.Lstat(toolapi.SkillManifest); err == nil {
		s.folder(ctx, ".")
	}
	switch info, err := s.a.w.Root.Lstat(toolapi.SkillsDir); {
	case err != nil:
	case info.IsDir():
		s.children(ctx, toolapi.SkillsDir)
	case info.Mode().Type() == fs.ModeSymlink:
		s.add(toolapi.SkillFolder{Path: toolapi.SkillsDir, Problem: toolapi.ProblemNotRegular})
	}
	s.children(ctx, ".")
}

// children adds the folders of a folder that have a SKILL.md. Below SkillsDir every folder is meant to be a skill, so that one that cannot
// be read is reported.
func (s *skillSurvey) children(ctx context.Context, parent string) {
	meant := parent != "."
	entries, more, err := s.a.w.ReadFolder(parent)
	if err != nil && meant {
		s.add(toolapi.SkillFolder{Path: parent, Problem: toolapi.ProblemUnreadable})
	}
	if more {
		s.list.Omitted++
	}
	for _, e := range entries {
		if s.enough(ctx) {
			s.list.Omitted++
			return
		}
		local := path.Join(parent, e.Name())
		switch {
		case !meant && (isNoSkill(e.Name()) || slices.Contains(s.own, e.Name())):
		case e.IsDir():
			_, err := s.a.w.Root.Lstat(path.Join(local, toolapi.SkillManifest))
			if err == nil {
				s.folder(ctx, local)
			} else if meant && errors.Is(err, fs.ErrPermission) {
				s.add(toolapi.SkillFolder{Path: local, Problem: toolapi.ProblemUnreadable})
			}
		case meant && e.Type() == fs.ModeSymlink:
			s.add(toolapi.SkillFolder{Path: local, Problem: toolapi.ProblemNotRegular})
		}
	}
}

// isNoSkill reports, by its name, whether a folder of the workspace belongs to something else than skills.
func isNoSkill(name string) bool {
	return name == toolapi.SkillsDir || name == workspace.OwnDir || name == toolapi.ArtifactDir || slices.Contains(toolapi.SkillFolders(), name)
}

// enough counts one more entry and reports whether the limit is exceeded.
func (s *skillSurvey) enough(ctx context.Context) bool {
	s.walked++
	return s.walked > maxWalked || ctx.Err() != nil
}

// add takes a folder in. One whose name cannot be shown as it is has only that as its problem.
func (s *skillSurvey) add(f toolapi.SkillFolder) {
	if !plainPath(f.Path, toolapi.MaxSkillPath) {
		f = toolapi.SkillFolder{Path: CleanPath(f.Path, toolapi.MaxSkillPath), Problem: toolapi.ProblemOddName}
	}
	if len(s.list.Folders) == toolapi.MaxSkillFolders || s.seen[f.Path] {
		s.list.Omitted++
		return
	}
	s.seen[f.Path] = true
	s.list.Folders = append(s.list.Folders, f)
}

func (s *skillSurvey) folder(ctx context.Context, local string) {
	if len(s.list.Folders) == toolapi.MaxSkillFolders || !plainPath(local, toolapi.MaxSkillPath) {
		s.add(toolapi.SkillFolder{Path: local}) // Its content does not matter.
		return
	}
	w := skillWalk{skillSurvey: s, dir: local, seen: map[string]bool{}}
	if local == "." {
		w.workspace(ctx)
	} else {
		w.below(ctx, "", 0)
	}
	if w.tooMuch {
		s.add(toolapi.SkillFolder{Path: local, Problem: toolapi.ProblemTooLarge})
		return
	}
	slices.SortFunc(w.files, func(x, y toolapi.SkillFile) int { return strings.Compare(x.Path, y.Path) })
	s.add(toolapi.SkillFolder{Path: local, Files: w.files})
}

// skillWalk is the walk through one folder.
type skillWalk struct {
	*skillSurvey
	dir   string
	files []toolapi.SkillFile
	seen  map[string]bool
	size  int64
	// tooMuch is true if it has more than a skill may have, or than the survey reads.
	tooMuch bool
}

// workspace adds only the paths where a skill has its files: in the workspace there is other work too.
func (w *skillWalk) workspace(ctx context.Context) {
	for _, name := range slices.Concat(toolapi.SkillRootFiles(), toolapi.SkillFolders(), w.own) {
		switch info, err := w.a.w.Root.Lstat(name); {
		case err != nil || toolapi.LeftBehind(name) || strings.Contains(name, "/"):
		case info.IsDir() && !slices.Contains(toolapi.SkillRootFiles(), name):
			w.below(ctx, name, 1)
		case info.Mode().Type() == fs.ModeSymlink && slices.Contains(toolapi.SkillFolders(), name):
			w.take(toolapi.SkillFile{Path: name, Problem: toolapi.ProblemNotRegular})
		case !slices.Contains(toolapi.SkillFolders(), name):
			w.file(ctx, name)
		}
	}
}

// below adds everything below a folder, by its path in the skill.
func (w *skillWalk) below(ctx context.Context, rel string, depth int) {
	if depth > maxDepth {
		w.tooMuch = true
		return
	}
	entries, more, err := w.a.w.ReadFolder(path.Join(w.dir, rel))
	if err != nil {
		w.take(toolapi.SkillFile{Path: rel, Problem: toolapi.ProblemUnreadable})
		return
	}
	w.tooMuch = w.tooMuch || more
	for _, e := range entries {
		if w.tooMuch = w.tooMuch || w.enough(ctx); w.tooMuch {
			return
		}
		switch p := path.Join(rel, e.Name()); {
		case toolapi.LeftBehind(p):
		case e.IsDir() && p != toolapi.SkillManifest:
			w.below(ctx, p, depth+1)
		case e.Type().IsRegular():
			w.file(ctx, p)
		default:
			w.take(toolapi.SkillFile{Path: p, Problem: toolapi.ProblemNotRegular})
		}
	}
}

// file adds a file, with its content.
func (w *skillWalk) file(ctx context.Context, rel string) {
	f, err := w.examine(ctx, rel)
	switch {
	case err == nil:
		w.size += f.Size
		w.tooMuch = w.tooMuch || w.size > toolapi.MaxSkillBytes
	case errors.Is(err, ErrLinked), errors.Is(err, workspace.ErrNotRegular), errors.Is(err, syscall.EISDIR):
		f.Problem = toolapi.ProblemNotRegular
	case errors.Is(err, errArtifactTooLarge):
		f.Problem = toolapi.ProblemTooLarge
	default:
		f.Problem = toolapi.ProblemUnreadable
	}
	w.take(f)
}

func (w *skillWalk) examine(ctx context.Context, rel string) (toolapi.SkillFile, error) {
	f := toolapi.SkillFile{Path: rel}
	file, info, err := w.a.Open(path.Join(w.dir, rel))
	if err != nil {
		return f, err
	}
	defer file.Close()
	if f.Size = info.Size(); f.Size > toolapi.MaxSkillFileBytes {
		return f, errArtifactTooLarge
	}
	sum := sha256.New()
	if f.Size, err = io.Copy(sum, io.LimitReader(workspace.Interruptible(ctx, file), toolapi.MaxSkillFileBytes+1)); err != nil {
		return f, err
	}
	if f.Size > toolapi.MaxSkillFileBytes {
		return f, errArtifactTooLarge
	}
	f.SHA256, f.Executable = hex.EncodeToString(sum.Sum(nil)), info.Mode()&0o111 != 0
	return f, nil
}

// take adds a file.
func (w *skillWalk) take(f toolapi.SkillFile) {
	if !plainPath(f.Path, toolapi.MaxSkillPath) {
		f = toolapi.SkillFile{Path: CleanPath(f.Path, toolapi.MaxSkillPath), Problem: cmp.Or(f.Problem, toolapi.ProblemOddName)}
	}
	switch {
	case w.seen[f.Path]: // Two names look the same, and the one that is there has a problem.
	case len(w.files) == toolapi.MaxSkillFiles:
		w.tooMuch = true
	default:
		w.seen[f.Path] = true
		w.files = append(w.files, f)
	}
}
