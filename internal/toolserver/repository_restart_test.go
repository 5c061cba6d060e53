// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// firstCommitState is the state of the server on disk.
func (s *sandbox) firstCommitState() string {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.state, "repository"))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(content)
}

// wantCommitted compares the files of the first commit with those that are given, and the workspace with the commit.
func (s *sandbox) wantCommitted(files string) {
	s.t.Helper()
	if got := s.must("git ls-files; git status --porcelain; git log --oneline | wc -l"); got != files+"1\n" {
		s.t.Errorf("%q", got)
	}
}

// A server that starts again knows the given files, and the repository that it made of them.
func TestRepositoryAfterARestart(t *testing.T) {
	s := withGit(t)
	s.give(map[string]string{"a": "a", "sub/b": "b"})
	if err := os.Mkdir(filepath.Join(s.workspace, "lost+found"), 0); err != nil {
		t.Fatal(err)
	}
	s.restart()
	if !s.makeRepository() || s.firstCommitState() != "done" {
		t.Fatal("none is made")
	}
	s.restart()
	if !s.makeRepository() {
		t.Error("it is gone")
	}
	s.wantCommitted("a\nsub/b\n")
	s.restart()
	if !s.makeRepository() {
		t.Error("it is not told of after a call")
	}
}

// A part of a repository that a killed server left is removed, unless another program may own it by now.
func TestPartOfARepositoryIsRemoved(t *testing.T) {
	s := withGit(t)
	s.give(map[string]string{"a": "a"})
	s.stop()
	leave := func() {
		s.write(".git/index.lock", "")
		s.write(".git/HEAD", "ref: refs/heads/main\n")
		if err := os.WriteFile(filepath.Join(s.state, "repository"), []byte("begun"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	s.start()
	if s.isRepository() || s.firstCommitState() != "" {
		t.Fatal("a part of it stays")
	}
	if !s.makeRepository() {
		t.Fatal("none is made")
	}
	s.wantCommitted("a\n")
	s.stop()
	leave()
	s.start()
	if !s.isRepository() {
		t.Error("a repository was removed after a call")
	}
}

// A server that is stopped while git runs leaves it to the next one.
func TestStoppedWhileTheRepositoryIsMade(t *testing.T) {
	s := withGit(t)
	real := s.path
	s.stop()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nmkdir -p \"$GIT_DIR\"\ntouch \"$GIT_DIR/index.lock\"\nexec sleep 1000\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.path = bin + ":" + real
	s.start()
	s.give(map[string]string{"a": "a"})
	asked := make(chan struct{})
	client, ctx := s.client(1), testContext(t)
	go func() {
		defer close(asked)
		_, _ = client.MakeRepository(ctx) // It has no one to answer any more.
	}()
	await(t, "git runs", func() bool {
		_, err := os.Stat(filepath.Join(s.workspace, workspace.GitDir, "index.lock"))
		return err == nil
	})
	s.stop()
	if s.firstCommitState() != "begun" {
		t.Errorf("the state is %q", s.firstCommitState())
	}
	s.path = real
	s.start()
	if s.isRepository() {
		t.Error("a part of it stays")
	}
	if !s.makeRepository() {
		t.Error("none is made")
	}
	s.wantCommitted("a\n")
	select {
	case <-asked:
	case <-time.After(time.Minute):
		t.Error("who asked still waits")
	}
}

// A file that is given after it is in the first commit, too: the next manager may find another content.
func TestFileIsGivenAfterTheRepository(t *testing.T) {
	s := withGit(t)
	s.give(map[string]string{"a": "a", "b": "b"})
	if !s.makeRepository() {
		t.Fatal("none is made")
	}
	s.give(map[string]string{"a": "a"})
	if !s.isRepository() {
		t.Error("it went with a file that is there")
	}
	s.give(map[string]string{"b": "other", "c": "c"})
	if s.isRepository() || s.firstCommitState() != "" {
		t.Error("it stays without what was given")
	}
	if !s.makeRepository() {
		t.Fatal("none is made again")
	}
	s.wantCommitted("a\nb\nc\n")
}
