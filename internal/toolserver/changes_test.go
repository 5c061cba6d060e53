// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
)

func (s *sandbox) changes(files ...string) toolapi.Changes {
	s.t.Helper()
	found, err := s.client(1).Changes(testContext(s.t), toolapi.ChangesRequest{Files: files, TimeoutMs: toolapi.MaxChangesTimeoutMs})
	ok(s.t, err)
	return found
}

// applied returns a folder with the given files, changed by the diff.
func (s *sandbox) applied(given map[string]string, diff []byte) string {
	t := s.t
	t.Helper()
	dir := t.TempDir()
	for name, content := range given {
		ok(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		ok(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	cmd := exec.CommandContext(t.Context(), "git", "apply", "-p1")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(diff)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := s.program(cmd); err != nil {
		t.Fatalf("git apply: %v\n%s\n%s", err, out, diff)
	}
	return dir
}

func fileIn(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(content)
}

func TestChanges(t *testing.T) {
	s := newSandbox(t)
	given := map[string]string{"src/main.py": "print(1)\nprint(2)\n", "README.md": "old\n", "gone.txt": "x\n"}
	c, ctx := s.client(1), testContext(t)
	for name, content := range given {
		_, err := c.PutFile(ctx, name, []byte(content))
		ok(t, err)
	}
	_, err := c.PutProgram(ctx, "run.sh", []byte("#!/bin/sh\n"), toolapi.ProvenanceInternal)
	ok(t, err)
	large := strings.Repeat("line\n", 300_000)
	_, err = c.PutFileParts(ctx, "large.csv", strings.NewReader(large), int64(len(large)), sumOf(large), toolapi.ProvenanceInternal)
	ok(t, err)
	if found := s.changes(); len(found.Diff)+len(found.LeftOut) > 0 {
		t.Fatalf("before the first call it is %s %v", found.Diff, found.LeftOut)
	}

	r := s.bash(`set -e; sed -i s/2/3/ src/main.py; rm gone.txt; printf 'new\n' > src/new.py; mkdir -p artifacts dist; echo out > artifacts/out; echo built > dist/app.js
		git init -q; git add src; git -c user.name=a -c user.email=a@b commit -qm x; echo saved > saved.txt; ln -s /etc/passwd link`)
	if !r.OK {
		t.Fatalf("%+v", r)
	}
	if r := s.save("saved.txt"); !r.OK {
		t.Fatalf("%+v", r)
	}
	first := s.changes("dist/app.js", "./src/", "/nowhere", "../x")
	dir := s.applied(given, first.Diff)
	for name, want := range map[string]string{
		"src/main.py": "print(1)\nprint(3)\n", "src/new.py": "new\n", "gone.txt": "", "README.md": "old\n", "dist/app.js": "built\n", "artifacts/out": "", "saved.txt": "",
	} {
		if got := fileIn(t, dir, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if len(first.LeftOut) != 1 || first.LeftOut[0].Path != "link" || first.Omitted != 0 || first.Provenance != toolapi.ProvenanceInternal {
		t.Errorf("%+v", first.LeftOut)
	}
	if n := bytes.Count(first.Diff, []byte("\ndiff --git ")); n != 4 {
		t.Errorf("%d files changed:\n%s", n, first.Diff)
	}

	// A tool server that is started again knows the given files, and so does one that receives them again.
	s.restart()
	_, err = s.client(1).PutFile(ctx, "README.md", []byte("old\n"))
	ok(t, err)
	if again := s.changes("dist/app.js"); !bytes.Equal(again.Diff, first.Diff) {
		t.Errorf("after a restart it is\n%s", again.Diff)
	}
	if r := s.bash("cat " + s.state + "/given/* || echo x > " + s.state + "/given/x"); r.OK && proc.LandlockABI() >= proc.MinLandlock {
		t.Errorf("a program reaches what was given: %+v", r)
	}
	s.bash("echo more >> large.csv")
	if found := s.changes(); len(found.LeftOut) != 2 || found.LeftOut[0].Path != "large.csv" {
		t.Errorf("%+v", found.LeftOut)
	}
}

// No diff has values that programs received: the file with a value is omitted, and the others are not.
// A file of an answer was given, as those of the beginning: only the run's own changes of it count.
func TestFilesOfAnswersAreNoChanges(t *testing.T) {
	s := newSandbox(t)
	c, ctx := s.client(1), testContext(t)
	s.bash("echo made > made.txt")
	for _, name := range []string{"answers/a.csv", "answers/b.csv"} {
		_, err := c.PutFile(ctx, name, []byte("given\n"))
		ok(t, err)
	}
	s.bash("echo more >> answers/b.csv")
	diff := string(s.changes().Diff)
	if strings.Contains(diff, "answers/a.csv") || !strings.Contains(diff, "made.txt") || !strings.Contains(diff, " given\n+more\n") {
		t.Errorf("the changes are\n%s", diff)
	}
}

func TestChangesHaveNoValues(t *testing.T) {
	s := newSandbox(t)
	const handle = "mch-abcdefghijklmnopqrstuvwxyz234567"
	s.setEgress(toolapi.EgressRequest{Environment: map[string]string{"API_KEY": handle}, TimeoutMs: 1000})
	if r := s.bash("echo key=$API_KEY > .env; echo fine > fine.txt; echo $API_KEY | base64 -w0 > packed"); !r.OK {
		t.Fatalf("%+v", r)
	}
	found := s.changes()
	if bytes.Contains(found.Diff, []byte(handle)) || len(found.LeftOut) != 2 || fileIn(t, s.applied(nil, found.Diff), "fine.txt") != "fine\n" {
		t.Errorf("%s\n%+v", found.Diff, found.LeftOut)
	}
}

func TestChangesFromTheWeb(t *testing.T) {
	s := newSandbox(t)
	_, err := s.client(1).PutFileFrom(testContext(t), "in.txt", []byte("x"), toolapi.ProvenanceWeb)
	ok(t, err)
	s.bash("echo y > in.txt")
	if found := s.changes(); found.Provenance != toolapi.ProvenanceWeb {
		t.Errorf("it comes from %s", found.Provenance)
	}
}

// A file of the workspace may have the name of the diff. It is one of the changes, and cannot be saved.
func TestTheNameOfTheDiffIsReserved(t *testing.T) {
	s := newSandbox(t)
	s.write(toolapi.DiffName, "mine\n")
	for _, path := range []string{toolapi.DiffName, "./" + toolapi.DiffName, s.workspace + "/" + toolapi.DiffName} {
		if r := s.save(path); r.OK || r.ErrorCode != toolapi.CodeInvalidArguments || !strings.Contains(r.Output, "Rename") {
			t.Errorf("%s: %+v", path, r)
		}
	}
	if got := fileIn(t, s.applied(nil, s.changes().Diff), toolapi.DiffName); got != "mine\n" {
		t.Errorf("it is %q", got)
	}
	s.write("sub/"+toolapi.DiffName, "other\n")
	if r := s.save("sub/" + toolapi.DiffName); !r.OK {
		t.Errorf("%+v", r)
	}
}

func TestChangesRequestsAreStrict(t *testing.T) {
	s := newSandbox(t)
	for name, req := range map[string]toolapi.ChangesRequest{
		"no time": {}, "too much time": {TimeoutMs: toolapi.MaxChangesTimeoutMs + 1}, "too many files": {TimeoutMs: 1, Files: make([]string, toolapi.MaxFinishFiles+1)},
	} {
		_, err := s.client(1).Changes(testContext(t), req)
		wantRemote(t, name, err, http.StatusBadRequest, toolapi.ErrBadRequest)
	}
	if _, err := s.client(2).Changes(testContext(t), toolapi.ChangesRequest{TimeoutMs: 1000}); err != nil {
		t.Error(err)
	}
	_, err := s.client(1).Changes(testContext(t), toolapi.ChangesRequest{TimeoutMs: 1000})
	wantRemote(t, "a request of an older claim", err, http.StatusConflict, toolapi.ErrStaleEpoch)
}
