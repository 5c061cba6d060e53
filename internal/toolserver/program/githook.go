// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// git in the sandbox is set up from outside of every repository, so that git commit works at once and looks for secrets in the commit. That
// is a guard against accidents: --no-verify bypasses it, and so does a program that unsets the variables.

const (
	// gitSetupDir in the folder for temporary files has what follows.
	gitSetupDir   = workspace.OwnDir + "/git"
	gitConfigFile = gitSetupDir + "/config"
	gitIgnoreFile = gitSetupDir + "/ignore"
	gitHooksDir   = gitSetupDir + "/hooks"
	gitHookMode   = 0o555
	// gitIgnore excludes two kinds of files from commits: those that the tool server stores in a workspace that is a repository, and those
	// that programs store there because it is their home.
	gitIgnore = "/.motor/\n/.npm/\n/.cache/\n__pycache__/\n"
)

// gitConfig replaces the system's configuration: a repository's own configuration, and HOME's, override it. Everything in a sandbox belongs
// to its run, whatever user id a volume assigns to it.
const gitConfig = `[user]
	name = motor
	email = motor@sandbox.invalid
[init]
	defaultBranch = main
[core]
	excludesFile = "%s"
[safe]
	directory = *
[include]
	path = /etc/gitconfig
`

// gitHook is every hook. The path of the hooks is set in a way that the repository cannot override, so its own hooks are run from here.
const gitHook = `#!/bin/sh
# Looks for secrets in what is to be committed, and then runs the repository's own hook.
name=${0##*/}
case $name in
pre-commit | pre-merge-commit) %s %s || exit 1 ;;
esac
dir=$(git config --local --type=path --get core.hooksPath) || dir=$(git rev-parse --git-common-dir)/hooks
[ -x "$dir/$name" ] || exit 0
exec "$dir/$name" "$@"
`

// gitHookNames are the hooks that a repository can have of its own. Hooks that git runs for each change of a reference or of the index are
// omitted: they would cost more than they are worth.
var gitHookNames = []string{
	"applypatch-msg", "commit-msg", "post-applypatch", "post-checkout", "post-commit", "post-merge", "post-receive", "post-rewrite",
	"post-update", "pre-applypatch", "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg", "update",
}

// gitSetup retains the files that git is configured with.
type gitSetup struct {
	temp *workspace.Workspace
	// self is this program.
	self string

	mu sync.Mutex
	// config, ignore and hooks are as they were written.
	config, ignore, hooks fs.FileInfo
}

// variables are those of a program that starts now. The files that they name are written anew if a program removed or
// changed them: what cleans the folder for temporary files does not mean them.
func (g *gitSetup) variables() ([]string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.intact() {
		if err := g.write(); err != nil {
			return nil, fmt.Errorf("write what git is told of: %w", err)
		}
	}
	return []string{
		"GIT_CONFIG_SYSTEM=" + filepath.Join(g.temp.Dir, gitConfigFile),
		"GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=core.hooksPath",
		"GIT_CONFIG_VALUE_0=" + g.hooksPath(),
	}, nil
}

// hooksPath is where git looks for hooks.
func (g *gitSetup) hooksPath() string { return filepath.Join(g.temp.Dir, gitHooksDir) }

// intact looks at the folder of the hooks and not at each of them: it runs before every program.
func (g *gitSetup) intact() bool {
	return g.temp.Stays(gitConfigFile, g.config) && g.temp.Stays(gitIgnoreFile, g.ignore) && g.temp.Stays(gitHooksDir, g.hooks)
}

func (g *gitSetup) write() error {
	if err := g.temp.Root.RemoveAll(gitSetupDir); err != nil {
		return err
	}
	script := fmt.Sprintf(gitHook, shellQuoted(g.self), ScanStagedVerb)
	for _, name := range gitHookNames {
		if err := g.temp.Put(gitHooksDir+"/"+name, script, gitHookMode); err != nil {
			return err
		}
	}
	err := g.temp.Put(gitIgnoreFile, gitIgnore, 0o444)
	if err == nil {
		err = g.temp.Put(gitConfigFile, fmt.Sprintf(gitConfig, filepath.Join(g.temp.Dir, gitIgnoreFile)), 0o444)
	}
	if err == nil {
		g.config, err = g.temp.Root.Lstat(gitConfigFile)
	}
	if err == nil {
		g.ignore, err = g.temp.Root.Lstat(gitIgnoreFile)
	}
	if err == nil {
		g.hooks, err = g.temp.Root.Lstat(gitHooksDir)
	}
	return err
}

// shellQuoted is a word for a shell.
func shellQuoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
