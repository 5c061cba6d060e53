// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harvest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/changes"
	"motorcortex.dev/motorcortex/internal/toolserver/disk"
	"motorcortex.dev/motorcortex/internal/toolserver/durable"
	"motorcortex.dev/motorcortex/internal/toolserver/output"
	"motorcortex.dev/motorcortex/internal/toolserver/program"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

const (
	// maxCommittedFiles and maxCommittedBytes bound the content of the first commit. Larger inputs would delay the first call by seconds.
	maxCommittedFiles = 2000
	maxCommittedBytes = 64 << 20
	// FirstCommitTimeout bounds the making of the first commit.
	FirstCommitTimeout = 10 * time.Second
	// lostAndFound is the filesystem's own folder at the top of a volume.
	lostAndFound = "lost+found"
	// committedShare bounds the size of the files to this fraction (1/committedShare) of the workspace: a repository takes up to as much
	// again.
	committedShare = 4
)

// firstCommitSteps are the calls of git that make the workspace a repository with everything in it, also files that a .gitignore names.
var firstCommitSteps = [][]string{
	{"init", "-q", "-b", "main", "--template="},
	{"add", "-A", "-f", "--", ".", ":(exclude)" + workspace.OwnDir, ":(exclude)" + lostAndFound},
	{"commit", "-q", "-m", toolapi.FirstCommit},
}

// firstCommitConfig overrides every other configuration that git reads. Given files are hostile: they name programs as monitors and as
// filters.
var firstCommitConfig = [][2]string{
	{"core.fsmonitor", "false"},
	{"core.attributesFile", "/dev/null"},
	{"core.excludesFile", "/dev/null"},
	{"commit.gpgSign", "false"},
	// Nothing that git leaves to itself may go on beside the first call.
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
}

// FirstCommit makes a repository of the files that a run was given, before the first call can change them: git diff then shows the changes
// of the run. It is made only at the request of the manager, which knows whether the run has a tool that can use git: a review of a skill
// has none. It is a convenience, and not a condition: without git, or after any other problem, the workspace stays as it was given.
//
//	(none) ──asked──► begun ──► done, or failed
//	  ▲                 │         │
//	  └── the process ended, or another file is given: what there is of it is removed
//
// The state is on disk. Otherwise a process that is killed while git runs would leave a part of a repository that no later process could
// safely remove.
type FirstCommit struct {
	log *slog.Logger
	// file has the state, in the state folder. The lane is held for all that follows.
	file  string
	state firstCommitState
}

// firstCommitState is how far the repository got, "" for none.
type firstCommitState string

const (
	firstCommitFile                   = "repository"
	firstCommitBegun firstCommitState = "begun"
	firstCommitDone  firstCommitState = "done"
	// firstCommitFailed: it is not tried again for the same files. A volume that is too slow for it would cost each loop its time.
	firstCommitFailed firstCommitState = "failed"
)

// OpenFirstCommit reads the state of a former process. It removes the part of a repository that the process left behind, unless a call was
// made since then, which may have made it another one.
func OpenFirstCommit(log *slog.Logger, state string, w *workspace.Workspace, used bool) (*FirstCommit, error) {
	f := &FirstCommit{log: log, file: filepath.Join(state, firstCommitFile)}
	content, err := os.ReadFile(f.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read how far the repository got: %w", err)
	}
	f.state = firstCommitState(content)
	if f.state == firstCommitBegun && !used {
		if err := f.remove(w); err != nil {
			log.Warn("a part of a repository stays in the workspace", "error", err)
		}
	}
	return f, nil
}

func (f *FirstCommit) set(state firstCommitState) error {
	if err := durable.Write(f.file, []byte(state)); err != nil {
		return fmt.Errorf("note how far the repository got: %w", err)
	}
	f.state = state
	return nil
}

// remove removes the existing parts of the repository, and then the record of it.
func (f *FirstCommit) remove(w *workspace.Workspace) error {
	err := w.Root.RemoveAll(workspace.GitDir)
	if err == nil {
		err = os.Remove(f.file)
	}
	if err == nil {
		f.state = ""
	}
	return err
}

// Again lets the repository be made again, because another file is about to be given. No call was made. It returns an error if the existing
// parts of the repository cannot be removed.
func (f *FirstCommit) Again(w *workspace.Workspace) error {
	if f.state == "" {
		return nil
	}
	// A process that ends now leaves a part of it.
	if err := f.set(firstCommitBegun); err != nil {
		return err
	}
	return f.remove(w)
}

// IsMade reports whether the repository is there as it was made.
func (f *FirstCommit) IsMade() bool { return f.state == firstCommitDone }

// Make makes the commit of the given files, and reports whether it is there. No call was made.
func (f *FirstCommit) Make(ctx context.Context, p *program.Runner, given []changes.Given) bool {
	if f.state != "" {
		return f.state == firstCommitDone
	}
	err := mayCommit(ctx, p, given)
	if err == nil {
		err = f.commit(ctx, p)
	}
	if err != nil {
		f.log.Warn("the files that were given are in no repository", "error", err)
	}
	return err == nil
}

func (f *FirstCommit) commit(ctx context.Context, p *program.Runner) error {
	err := f.set(firstCommitBegun)
	if err != nil {
		return err
	}
	err = commitGiven(ctx, p)
	if err == nil {
		err = f.set(firstCommitDone)
	}
	if err == nil || errors.Is(context.Cause(ctx), tool.ErrStopped) {
		return err // The next process makes it anew.
	}
	if removed := f.remove(p.Workspace); removed != nil {
		return errors.Join(err, removed)
	}
	return errors.Join(err, f.set(firstCommitFailed))
}

var (
	errNotCommitted = errors.New("too many or too large")
	errNotGiven     = errors.New("something is in the workspace that was not given, or nothing was")
)

// mayCommit returns why no repository may be made, nil if one may be: the workspace must have the given files and nothing else. A volume
// may have files that another sandbox left there, and those must not get a repository without a request for it.
func mayCommit(ctx context.Context, p *program.Runner, given []changes.Given) error {
	if _, err := p.Find("git"); err != nil {
		return fmt.Errorf("find git: %w", err)
	}
	if err := p.Disk.Full(); err != nil {
		return err
	}
	if len(given) == 0 {
		return errNotGiven
	}
	c := committable{w: p.Workspace, given: make(map[string]bool, len(given)), files: maxCommittedFiles, size: maxCommittedBytes}
	if most := p.Sizes.Workspace; most > 0 {
		c.files, c.size = min(c.files, int(disk.Inodes(most)/committedShare)), min(c.size, most/committedShare)
	}
	for _, g := range given {
		c.given[g.Path] = true
	}
	return c.take(ctx, ".")
}

func commitGiven(ctx context.Context, p *program.Runner) error {
	exe, err := p.Find("git")
	if err != nil {
		return fmt.Errorf("find git: %w", err)
	}
	env, err := firstCommitEnv(p)
	for _, args := range firstCommitSteps {
		if err == nil {
			err = firstCommitStep(ctx, p, exe, args, env)
		}
	}
	return err
}

// firstCommitEnv is git's whole environment for the first commit: no proxy and no credential, and no folder in which a given file could be
// git's configuration. With the environment of a call, whose HOME is the workspace, a given .gitconfig ran programs in runs whose tools
// start none.
func firstCommitEnv(p *program.Runner) ([]string, error) {
	hooks, err := p.GitHooks()
	if err != nil {
		return nil, err
	}
	const who, mail, date, nothing = "motor", "motor@sandbox.invalid", "2000-01-01T00:00:00Z", "/dev/null"
	env := []string{
		"PATH=" + p.SearchPath(), "TMPDIR=" + p.Egress.Temp.Dir, "LANG=C.UTF-8",
		"HOME=" + nothing, "XDG_CONFIG_HOME=" + nothing, "GIT_CONFIG_GLOBAL=" + nothing, "GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
		// With this, git trusts the repository even if the volume's folder has another owner.
		"GIT_DIR=" + filepath.Join(p.Workspace.Dir, workspace.GitDir),
		"GIT_AUTHOR_NAME=" + who, "GIT_COMMITTER_NAME=" + who, "GIT_AUTHOR_EMAIL=" + mail, "GIT_COMMITTER_EMAIL=" + mail,
		"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date,
	}
	config := append(slices.Clone(firstCommitConfig), [2]string{"core.hooksPath", hooks})
	for i, c := range config {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, c[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, c[1]))
	}
	return append(env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(config))), nil
}

func firstCommitStep(ctx context.Context, p *program.Runner, exe string, args, env []string) error {
	said := output.NewCollector(1<<10, func() (io.WriteCloser, error) { return nil, fs.ErrInvalid })
	end, err := p.Execute(ctx, exe, program.Program{Name: "git", Args: args, Env: env, Timeout: FirstCommitTimeout}, said)
	if err == nil && (!end.Status.Exited() || end.Status.ExitStatus() != 0) {
		err = fmt.Errorf("git %s ended with %d: %q", args[0], end.Status, said.Head)
	}
	return err
}

// committable is the remaining budget of a commit.
type committable struct {
	w     *workspace.Workspace
	given map[string]bool
	files int
	size  int64
}

// take takes the files below a folder. The error is errNotCommitted if there is not enough, or if there is a repository already, and
// errNotGiven if there is another file.
func (c *committable) take(ctx context.Context, local string) error {
	entries, more, err := c.w.ReadFolder(local)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(local, e.Name())
		if name == workspace.OwnDir || name == lostAndFound {
			continue
		}
		if c.files--; more || c.files < 0 || e.Name() == workspace.GitDir || len(name) > workspace.MaxPathBytes || ctx.Err() != nil {
			return errNotCommitted
		}
		if e.IsDir() {
			err = c.take(ctx, name)
		} else {
			err = c.takeFile(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *committable) takeFile(name string) error {
	if !c.given[name] {
		return errNotGiven
	}
	info, err := c.w.Root.Lstat(name)
	if err != nil {
		return err
	}
	if c.size -= info.Size(); c.size < 0 {
		return errNotCommitted
	}
	return nil
}
