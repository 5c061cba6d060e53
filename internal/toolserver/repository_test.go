// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

func (s *sandbox) give(files map[string]string) {
	s.t.Helper()
	for name, content := range files {
		if _, err := s.client(1).PutFile(testContext(s.t), name, []byte(content)); err != nil {
			s.t.Fatal(err)
		}
	}
}

func withGit(t *testing.T) *sandbox {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here: ", err)
	}
	return newSandbox(t)
}

func (s *sandbox) isRepository() bool {
	_, err := os.Stat(filepath.Join(s.workspace, workspace.GitDir))
	return err == nil
}

// makeRepository asks for the repository as the manager does.
func (s *sandbox) makeRepository() bool {
	s.t.Helper()
	repository, err := s.client(1).MakeRepository(testContext(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	if repository.Made != s.isRepository() {
		s.t.Errorf("it is made: %t, it is there: %t", repository.Made, s.isRepository())
	}
	return repository.Made
}

// The given files are the first commit, also if one is changed before git can be run.
func TestGivenFilesAreTheFirstCommit(t *testing.T) {
	s := withGit(t)
	s.give(map[string]string{"a.txt": "one\n", "src/b.txt": "b\n", ".gitignore": "ignored\n", "ignored": "x\n"})
	for range 2 {
		if !s.makeRepository() {
			t.Fatal("none is made")
		}
	}
	if r := s.run(toolapi.ToolEdit, toolapi.EditArgs{Path: "a.txt", OldText: "one", NewText: "two"}); !r.OK {
		t.Fatalf("%+v", r)
	}
	if got := s.must("git status --porcelain; git diff | grep '^[-+]'"); got != " M a.txt\n--- a/a.txt\n+++ b/a.txt\n-one\n+two\n" {
		t.Errorf("%q", got)
	}
	if got := s.must("git log --format='%an %ae %ad %s' --date=iso; git branch --show-current; git ls-files"); got !=
		"motor motor@sandbox.invalid 2000-01-01 00:00:00 +0000 The files that were given\nmain\n.gitignore\na.txt\nignored\nsrc/b.txt\n" {
		t.Errorf("%q", got)
	}
	s.must("seq 100000 && git add -A && git commit -qm own && git log --oneline | wc -l")
	if got := s.must("git show --stat --format=%s"); !strings.HasPrefix(got, "own\n") || strings.Contains(got, workspace.OwnDir) {
		t.Errorf("%q", got)
	}
	// Nothing of it is shown where files are looked for, unless it is asked for.
	for tool, args := range map[string]any{
		toolapi.ToolList: toolapi.ListArgs{Recursive: true}, toolapi.ToolGlob: toolapi.GlobArgs{Pattern: "**"},
	} {
		if r := s.run(tool, args); !r.OK || strings.Contains(r.Output, workspace.GitDir+"/") || !strings.Contains(r.Output, "src/b.txt") {
			t.Errorf("%s: %q", tool, r.Output)
		}
	}
	if r := s.run(toolapi.ToolList, toolapi.ListArgs{Path: workspace.GitDir}); !r.OK || !strings.Contains(r.Output, "HEAD") {
		t.Errorf("%q", r.Output)
	}
	skills := s.skills()
	if len(skills.Folders) != 0 {
		t.Errorf("%+v", skills)
	}
	// It is made once, and never when a call has run.
	s.must("rm -rf .git")
	s.restart()
	if _, err := s.client(1).MakeRepository(testContext(t)); err != nil || s.isRepository() {
		t.Errorf("it was made again, %v", err)
	}
}

func TestNoFirstCommit(t *testing.T) {
	for name, prepare := range map[string]func(s *sandbox){
		"nothing was given":  func(*sandbox) {},
		"there was a folder": func(s *sandbox) { s.write("left/by-another", "x"); s.give(map[string]string{"a": "a"}) },
		"a repository":       func(s *sandbox) { s.give(map[string]string{"a": "a", "sub/.git/HEAD": "ref: refs/heads/main\n"}) },
		"too many": func(s *sandbox) {
			s.give(map[string]string{"a": "a"})
			for i := range 2000 {
				s.write(fmt.Sprintf("d/%d", i), "")
			}
		},
		"a secret": func(s *sandbox) { s.give(map[string]string{"aws.ini": "id = " + stagedKey + "\n"}) },
		"a call was made": func(s *sandbox) {
			s.give(map[string]string{"a": "a"})
			s.run(toolapi.ToolRead, toolapi.ReadArgs{Path: "a"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := withGit(t)
			prepare(s)
			if s.makeRepository() {
				t.Error("there is one")
			}
			if r := s.bash("echo works"); r.Output != "works\n" || s.isRepository() {
				t.Errorf("%+v, a repository: %t", r, s.isRepository())
			}
		})
	}
}

// A repository that was given is left as it is.
func TestGivenRepositoryStays(t *testing.T) {
	s := withGit(t)
	s.give(map[string]string{".git/HEAD": "ref: refs/heads/other\n", "a": "a"})
	if repository, err := s.client(1).MakeRepository(testContext(t)); err != nil || repository.Made {
		t.Errorf("%+v %v", repository, err)
	}
	if got := s.must("cat .git/HEAD; ls .git"); got != "ref: refs/heads/other\nHEAD\n" {
		t.Errorf("%q", got)
	}
}

// Nothing that was given is a program until a tool runs it: neither by the making of the repository, nor before a call that starts none.
func TestGivenConfigurationRunsNothing(t *testing.T) {
	const hook = "#!/bin/sh\n" + "touch MARK\n"
	for name, files := range map[string]map[string]string{
		"a monitor":   {".gitconfig": "[core]\n\tfsmonitor = \"touch MARK; false\"\n"},
		"a filter":    {".gitconfig": "[filter \"x\"]\n\tclean = touch MARK; cat\n\trequired\n", ".gitattributes": "* filter=x\n"},
		"a process":   {".gitconfig": "[filter \"x\"]\n\tprocess = touch MARK\n", ".gitattributes": "* filter=x\n"},
		"in a folder": {".config/git/config": "[filter \"x\"]\n\tclean = touch MARK; cat\n", ".config/git/attributes": "* filter=x\n"},
		"a signature": {".gitconfig": "[commit]\n\tgpgSign\n[gpg]\n\tprogram = ./hooks/pre-commit\n", "hooks/pre-commit": hook},
		"hooks":       {".gitconfig": "[core]\n\thooksPath = hooks\n[init]\n\ttemplateDir = .\n", "hooks/pre-commit": hook, "hooks/post-commit": hook},
		"broken":      {".gitconfig": "[broken\n", ".bashrc": "touch MARK\n", ".profile": "touch MARK\n"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, asked := range []bool{true, false} {
				s := withGit(t)
				mark := s.temp + "/ran"
				given := map[string]string{"a.txt": "a\n"}
				for path, content := range files {
					given[path] = strings.ReplaceAll(content, "MARK", mark)
				}
				for path, content := range given {
					if _, err := s.client(1).PutProgram(testContext(t), path, []byte(content), toolapi.ProvenanceInternal); err != nil {
						t.Fatal(err)
					}
				}
				if asked && !s.makeRepository() {
					t.Error("there is no repository")
				}
				for tool, args := range map[string]any{
					toolapi.ToolRead: toolapi.ReadArgs{Path: "a.txt"}, toolapi.ToolGrep: toolapi.GrepArgs{Pattern: "a"}, toolapi.ToolList: toolapi.ListArgs{},
					toolapi.ToolGlob: toolapi.GlobArgs{Pattern: "*"}, toolapi.ToolWrite: toolapi.WriteArgs{Path: "b", Content: "b"},
				} {
					if r := s.run(tool, args); !r.OK {
						t.Errorf("%s: %+v", tool, r)
					}
				}
				if _, err := os.Stat(mark); err == nil {
					t.Errorf("asked for a repository %t: a given file ran", asked)
				}
				if asked != s.isRepository() {
					t.Errorf("asked for a repository %t: there is one %t", asked, s.isRepository())
				}
				s.stop() // As long as it runs, it collects every process below this one, those of the next server, too.
			}
		})
	}
}
