// SPDX-License-Identifier: Apache-2.0

// Package skills provides a run with the skill that it was accepted with, and proposes the skills that it wrote.
package skills

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/engine/workpath"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

const (
	// Timeout bounds how long it takes to read and propose the skills of a workspace. FailedTimeout applies after any end but a
	// success: the sandbox may be what failed. Waiting for a permit does not count: other runs cause that wait.
	Timeout       = 2 * time.Minute
	FailedTimeout = 10 * time.Second
	// maxRejected is how many rejected folders are reported; maxRejectedPath and maxRejectedMessage bound each report, in bytes.
	maxRejected        = 16
	maxRejectedPath    = 256
	maxRejectedMessage = 512
	// maxOmitted bounds the tool server's count of further folders: it is not trusted, and sums of it must not overflow.
	maxOmitted = 1 << 20
	// workspaceFolder is the workspace itself.
	workspaceFolder = "."
)

// Collector proposes the skills that a run wrote or changed, when its end is recorded. The list of their files comes from
// the sandbox and is not trusted: every file is read and checked, and no run uses a proposal before a person approved it.
//
//	freeze, list ─► for each folder: read ─► secret? ─► a skill? ─► changed? ─► SkillRevision ─► recorded with the step
type Collector struct {
	env    *runenv.Env
	client *toolclient.Client
	store  *skillstore.Store
	// looks is true if nothing is proposed: the run goes on, and learns what would be rejected.
	looks bool
}

// NewCollector returns a Collector of the skills in the sandbox that the client is connected with.
func NewCollector(env *runenv.Env, client *toolclient.Client) *Collector {
	return &Collector{env: env, client: client, store: &skillstore.Store{Client: env.Client, Live: env.Live}}
}

// Wanted reports whether the workspace is searched for skills: the run asks for it, and some may have been written there.
func (c *Collector) Wanted(succeeded bool) bool {
	run := c.env.Run
	if run.Spec.SkillReview || run.Spec.ExtractSkills == v1alpha1.ExtractNever || !succeeded && run.Spec.ExtractSkills != v1alpha1.ExtractAlways {
		return false
	}
	return mayHaveWritten(run, c.env.Entries.AllSteps())
}

func mayHaveWritten(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) bool {
	return slices.ContainsFunc(run.Spec.MCPServers, func(s v1alpha1.MCPServer) bool { return len(s.Command) > 0 }) ||
		slices.ContainsFunc(steps, func(s v1alpha1.MotorStep) bool {
			return slices.ContainsFunc(s.Spec.ToolCalls, func(call v1alpha1.ToolCall) bool { return toolapi.HasEffects(call.Tool) })
		})
}

// Collect proposes the current skills, and returns the outcome, nil if there is nothing to report. An error decides nothing: the
// collection can be repeated, and finds the earlier proposals.
func (c *Collector) Collect(ctx context.Context, limit time.Duration) (*v1alpha1.SkillsResult, error) {
	found := newFound(c, limit)
	err := c.gather(ctx, found)
	_, lost := errors.AsType[*outcome.Failure](err)
	switch {
	case err == nil:
	case errors.Is(err, runenv.ErrTimeOver):
		found.reject(workspaceFolder, "not all skills could be read and kept in time")
	case lost:
		found.reject(workspaceFolder, "the skills could not be read, as the sandbox does not answer any more")
	default:
		return nil, err
	}
	if err != nil {
		c.env.Log.Warn("the skills were not collected, or not all of them", "error", c.env.Known.HideError(err))
	}
	return found.result(), nil
}

func (c *Collector) gather(ctx context.Context, found *found) error {
	if !c.env.Lease.MayDecide() {
		return runenv.ErrNoLease
	}
	var listed toolapi.Skills
	err := found.within(ctx, func(ctx context.Context) (err error) {
		if found.base, err = c.base(ctx); err != nil {
			return err
		}
		found.places = skill.PlacesOf(found.base)
		list := c.client.Skills
		if c.looks {
			list = c.client.LookAtSkills
		}
		listed, err = list(ctx, found.places.Own())
		if c.looks && errors.Is(err, toolclient.ErrUnsupported) {
			return err
		}
		if _, ok := toolclient.RemoteProblem(err); ok || err == nil {
			return err
		}
		return c.env.Classify(ctx, err)
	})
	if remote, ok := toolclient.RemoteProblem(err); ok {
		found.reject(workspaceFolder, "the sandbox cannot list the skills: "+remote.Message)
		return nil
	}
	if err != nil {
		return err
	}
	for i := range listed.Folders {
		if err := c.folder(ctx, &listed.Folders[i], found); err != nil {
			return err
		}
	}
	if listed.Omitted > 0 && !c.looks {
		found.reject(toolapi.SkillsDir, fmt.Sprintf("at least %d further folders were not looked at: %d are the most",
			min(listed.Omitted, maxOmitted), toolapi.MaxSkillFolders))
	}
	if pinned := c.env.Run.Status.Skill; pinned != nil && !found.folders[workspaceFolder] && !found.names[pinned.Name] {
		found.reject(workspaceFolder, "SKILL.md of the skill "+pinned.Name+" was deleted")
	}
	return nil
}

// folder proposes the skill of one folder, or reports why it does not.
func (c *Collector) folder(ctx context.Context, f *toolapi.SkillFolder, found *found) error {
	if found.folders[f.Path] {
		return nil
	}
	found.folders[f.Path] = true
	held, leave, err := c.env.Acquire(ctx, &c.env.Limits.Collecting, runenv.MaxCollecting)
	if err != nil {
		return fmt.Errorf("wait for the turn to read the skill: %w", err)
	}
	defer leave()
	return found.within(held, func(ctx context.Context) error {
		why, err := c.takeFolder(ctx, f, found)
		if err == nil && why != "" {
			found.reject(f.Path, why)
		}
		return err
	})
}

func (c *Collector) takeFolder(ctx context.Context, f *toolapi.SkillFolder, found *found) (why string, err error) {
	switch {
	case f.Problem == toolapi.ProblemOddName, !isSkillFolder(f.Path):
		return "its name cannot be shown as it is: rename it", nil
	case f.Problem == toolapi.ProblemTooLarge:
		return fmt.Sprintf("it has more than %d files, or more than %d MiB", skill.MaxFiles, skill.MaxTotalBytes>>20), nil
	case f.Problem != "":
		return problemText(f.Problem), nil
	case !slices.ContainsFunc(f.Files, func(file toolapi.SkillFile) bool { return file.Path == skill.ManifestName }):
		return "", nil // It does not say that it is one.
	}
	var seen []v1alpha1.RevisionFile
	if pin := c.env.Run.Status.Skill; pin != nil && pin.Approved {
		seen = found.base
	}
	places := &found.places
	if f.Path != workspaceFolder {
		places = nil
	}
	files, why, err := c.read(ctx, f, places, seen)
	if err != nil || why != "" {
		return why, err
	}
	for _, file := range files {
		found.bytes += int64(len(file.Content))
	}
	if found.bytes > skill.MaxTotalBytes {
		return fmt.Sprintf("the skills of a run may have %d MiB together", skill.MaxTotalBytes>>20), nil
	}
	manifest, files, err := skill.Check("", files)
	if err != nil {
		return err.Error(), nil //nolint:nilerr // it is the reason
	}
	return c.propose(ctx, proposal{name: manifest.Name, description: manifest.Description, files: files}, found)
}

// isSkillFolder reports whether a folder is where skills are collected from.
func isSkillFolder(p string) bool {
	if p == workspaceFolder {
		return true
	}
	dir, _ := path.Split(p)
	return workpath.IsPlain(p) && len(p) <= maxRejectedPath && (dir == "" || dir == toolapi.SkillsDir+"/")
}

func problemText(problem string) string {
	switch problem {
	case toolapi.ProblemNotRegular:
		return "it is a link, or no regular file or folder"
	case toolapi.ProblemTooLarge:
		return fmt.Sprintf("it has more than %d MiB", skill.MaxFileBytes>>20)
	case toolapi.ProblemOddName:
		return "its name cannot be shown as it is, or is too long: rename it"
	default:
		return "it cannot be read"
	}
}

// read reads the files of a folder. A skill has files only at places, anywhere if they are nil. why is the reason to reject the folder.
// A suspected secret is such a reason, except in files that a person has seen unchanged in the revision that the run began with.
func (c *Collector) read(
	ctx context.Context, f *toolapi.SkillFolder, places *skill.Places, base []v1alpha1.RevisionFile,
) (files []skill.File, why string, err error) {
	seen := map[string]string{}
	for _, b := range base {
		seen[b.Path] = b.SHA256
	}
	var total int64
	for _, file := range f.Files {
		switch total += max(0, file.Size); {
		case c.env.Known.Hide(file.Path) != file.Path:
			return nil, c.env.Known.Hide(file.Path) + ": a credential is in its name", nil
		case file.Problem != "":
			return nil, file.Path + ": " + problemText(file.Problem), nil
		case !workpath.IsPlain(file.Path) || skill.LeftBehind(file.Path) || places != nil && !places.Has(file.Path):
			return nil, file.Path + ": it is none of the files of a skill", nil
		case total > skill.MaxTotalBytes:
			return nil, fmt.Sprintf("it has more than %d MiB", skill.MaxTotalBytes>>20), nil
		}
		content, why, err := c.readFile(ctx, path.Join(f.Path, file.Path), file, seen[file.Path] == file.SHA256)
		if err != nil || why != "" {
			return nil, file.Path + ": " + why, err
		}
		files = append(files, skill.File{Path: file.Path, Content: content, Executable: file.Executable})
	}
	return files, "", nil
}

func (c *Collector) readFile(ctx context.Context, local string, f toolapi.SkillFile, seen bool) (content []byte, why string, err error) {
	var buf bytes.Buffer
	buf.Grow(int(min(max(f.Size, 0), skill.MaxFileBytes)))
	_, err = c.client.ReadSkillFile(ctx, local, &buf, skill.MaxFileBytes)
	remote, isRemote := toolclient.RemoteProblem(err)
	switch {
	case isRemote:
		return nil, "it cannot be read: " + remote.Message, nil
	case errors.Is(err, toolclient.ErrTooLong):
		return nil, problemText(toolapi.ProblemTooLarge), nil
	case err != nil:
		return nil, "", c.env.Classify(ctx, err)
	case !c.looks && (int64(buf.Len()) != f.Size || toolapi.SHA256(buf.Bytes()) != f.SHA256):
		return nil, "it changed while it was read", nil
	}
	if _, err := (&redacting.Watch{Known: c.env.Known, Rules: !seen, Name: local}).Write(buf.Bytes()); err != nil {
		return nil, "it holds what looks like a secret (" + err.Error() + ")", nil //nolint:nilerr // it is the reason
	}
	return buf.Bytes(), "", ctx.Err()
}

// found is the state of a collection.
type found struct {
	collector *Collector
	// names are those of skills, folders those that were checked.
	names, folders map[string]bool
	// bytes of all skills that were read.
	bytes int64
	// base are the files that the run began with.
	base []v1alpha1.RevisionFile
	// places are where those files are in the workspace.
	places skill.Places
	// left is the remaining time to collect.
	left time.Duration
	v1alpha1.SkillsResult
}

func newFound(c *Collector, limit time.Duration) *found {
	return &found{collector: c, names: map[string]bool{}, folders: map[string]bool{}, left: limit}
}

// within runs a part of the collection in the remaining time, and subtracts the time that it took.
func (s *found) within(ctx context.Context, do func(context.Context) error) error {
	began := time.Now()
	defer func() { s.left -= time.Since(began) }()
	ctx, cancel := context.WithTimeoutCause(ctx, s.left, runenv.ErrTimeOver)
	defer cancel()
	err := do(ctx)
	if err != nil && errors.Is(context.Cause(ctx), runenv.ErrTimeOver) {
		return fmt.Errorf("%w: %w", runenv.ErrTimeOver, err)
	}
	return err
}

// reject records why a folder is rejected, beside the reasons recorded already.
func (s *found) reject(folder, why string) {
	hide := s.collector.env.Known.Hide
	folder = text.CutBytes(workpath.Clean(hide(folder)), maxRejectedPath)
	why = strings.Join(strings.Fields(text.Printable(hide(why))), " ")
	i := slices.IndexFunc(s.Rejected, func(r v1alpha1.RejectedSkill) bool { return r.Path == folder })
	switch {
	case i >= 0:
		s.Rejected[i].Message = text.CutBytes(s.Rejected[i].Message+"; "+why, maxRejectedMessage)
	case len(s.Rejected) < maxRejected:
		s.Rejected = append(s.Rejected, v1alpha1.RejectedSkill{Path: folder, Message: text.CutBytes(why, maxRejectedMessage)})
	}
}

// result returns the result, nil if there is nothing to report.
func (s *found) result() *v1alpha1.SkillsResult {
	if len(s.Created)+len(s.Updated)+len(s.Rejected) == 0 {
		return nil
	}
	return &s.SkillsResult
}
