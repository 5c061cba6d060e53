// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/internal/toolserver/program"
	"motorcortex.dev/motorcortex/test/mcpserver"
)

func (s *sandbox) skills() toolapi.Skills {
	s.t.Helper()
	list, err := s.client(1).Skills(testContext(s.t), nil)
	ok(s.t, err)
	return list
}

func skillFile(path, content string) toolapi.SkillFile {
	return toolapi.SkillFile{Path: path, Size: int64(len(content)), SHA256: sumOf(content)}
}

func badFile(path, problem string) toolapi.SkillFile {
	return toolapi.SkillFile{Path: path, Problem: problem}
}

func TestSkills(t *testing.T) {
	s := newSandbox(t)
	if got := s.skills(); len(got.Folders) != 0 || got.Omitted != 0 {
		t.Errorf("an empty workspace has %+v", got)
	}
	// A folder that is not a skill of its own, unless it has a SKILL.md.
	s.write("scripts/run.py", "run")
	s.write("skills/none/scripts/x", "x")
	s.write("repo/README.md", "readme")
	if got := s.skills(); len(got.Folders) != 0 || got.Omitted != 0 {
		t.Errorf("without any SKILL.md there is %+v", got)
	}
	s.write("SKILL.md", "root")
	s.write("notes.md", "notes")
	s.write("LICENSE", "license")
	s.write("references/a.md", "a")
	s.write("references/deep/b.md", "b")
	s.write("references/node_modules/x/index.js", "x")
	s.write("scripts/run.log", "log")
	s.write("scripts/__pycache__/run.pyc", "pyc")
	s.write("assets/.git/config", "git")
	s.write("assets/SKILL.md", "a template")
	ok(t, os.Chmod(s.workspace+"/scripts/run.py", 0o755))
	s.write("skills/second/SKILL.md", "second")
	s.write("repo/SKILL.md", "of a repository")
	s.write("artifacts/SKILL.md", "an artifact")
	run := skillFile("scripts/run.py", "run")
	run.Executable = true
	want := toolapi.Skills{Folders: []toolapi.SkillFolder{
		{Path: ".", Files: []toolapi.SkillFile{
			skillFile("LICENSE", "license"), skillFile("SKILL.md", "root"), skillFile("assets/SKILL.md", "a template"), skillFile("references/a.md", "a"),
			skillFile("references/deep/b.md", "b"), run,
		}},
		{Path: "skills/second", Files: []toolapi.SkillFile{skillFile("SKILL.md", "second")}},
		{Path: "repo", Files: []toolapi.SkillFile{skillFile("README.md", "readme"), skillFile("SKILL.md", "of a repository")}},
	}}
	for range 2 {
		if diff := cmp.Diff(want, s.skills()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		s.restart()
	}
	for path, content := range map[string]string{
		"SKILL.md": "root", "references/deep/b.md": "b", "skills/second/SKILL.md": "second", "repo/SKILL.md": "of a repository", "skills/none/scripts/x": "x",
	} {
		var got strings.Builder
		if n, err := s.client(1).ReadSkillFile(testContext(t), path, &got, 100); err != nil || got.String() != content || n != int64(len(content)) {
			t.Errorf("%s: %q, %v", path, &got, err)
		}
	}
}

// A folder of its own has any file of a skill. The workspace has those of every skill, and where the skill has others that it began with.
func TestSkillsHaveAnyFile(t *testing.T) {
	s := newSandbox(t)
	for _, folder := range []string{"", "skills/second/"} {
		s.write(folder+"SKILL.md", "about")
		s.write(folder+"forms.md", "forms")
		s.write(folder+"core/__init__.py", "init")
		s.write(folder+"core/node_modules/x.js", "x")
		s.write(folder+"other/notes.md", "notes")
	}
	about, forms, init, notes := skillFile("SKILL.md", "about"), skillFile("forms.md", "forms"), skillFile("core/__init__.py", "init"), skillFile("other/notes.md", "notes")
	second := toolapi.SkillFolder{Path: "skills/second", Files: []toolapi.SkillFile{about, init, forms, notes}}
	for _, tt := range []struct {
		own  []string
		want []toolapi.SkillFile
	}{
		{nil, []toolapi.SkillFile{about}},
		{[]string{"core", "forms.md", "missing", "../outside", "node_modules"}, []toolapi.SkillFile{about, init, forms}},
	} {
		got, err := s.client(1).Skills(testContext(t), tt.own)
		ok(t, err)
		want := toolapi.Skills{Folders: []toolapi.SkillFolder{{Path: ".", Files: tt.want}, second}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %q: -want +got:\n%s", tt.own, diff)
		}
	}
	if _, err := s.client(1).Skills(testContext(t), make([]string, toolapi.MaxSkillFiles+1)); err == nil {
		t.Error("a skill may have more places than files")
	}
}

func TestSkillsOfAHostileWorkspace(t *testing.T) {
	s := newSandbox(t)
	outside := filepath.Join(t.TempDir(), "secret")
	ok(t, os.WriteFile(outside, []byte("outside"), 0o600))
	ok(t, os.Symlink(outside, s.workspace+"/SKILL.md"))
	ok(t, os.Symlink(filepath.Dir(outside), s.workspace+"/references"))
	ok(t, os.MkdirAll(s.workspace+"/scripts/sub", 0o755))
	ok(t, os.Symlink("sub", s.workspace+"/scripts/link"))
	ok(t, os.Symlink("nowhere", s.workspace+"/scripts/dangling"))
	ok(t, syscall.Mkfifo(s.workspace+"/scripts/sub/pipe", 0o600))
	s.write("scripts/a\nb", "odd")
	s.write("scripts/\u202egpj.exe", "odd")
	s.write("scripts/"+strings.Repeat("x/", 12)+strings.Repeat("y", 250), "long")
	s.write("scripts/large", strings.Repeat("x", toolapi.MaxSkillFileBytes+1))
	s.write("scripts/sparse", "")
	ok(t, os.Truncate(s.workspace+"/scripts/sparse", 10<<30))
	s.write("skills/pipe/scripts/x", "")
	ok(t, syscall.Mkfifo(s.workspace+"/skills/pipe/SKILL.md", 0o600))
	ok(t, os.Mkdir(s.workspace+"/skills/folder", 0o755))
	ok(t, os.Mkdir(s.workspace+"/skills/folder/SKILL.md", 0o755))
	ok(t, os.Symlink(filepath.Dir(outside), s.workspace+"/skills/linked"))
	ok(t, os.Symlink("skills", s.workspace+"/more"))
	s.write("skills/odd\nname/SKILL.md", "x")
	s.write("skills/odd\tname/SKILL.md", "x")

	large, sparse := badFile("scripts/large", toolapi.ProblemTooLarge), badFile("scripts/sparse", toolapi.ProblemTooLarge)
	large.Size, sparse.Size = toolapi.MaxSkillFileBytes+1, 10<<30
	long := "scripts/" + strings.Repeat("x/", 12)
	long += strings.Repeat("y", toolapi.MaxSkillPath-len(long)-len("…\uFFFD")) + "…\uFFFD"
	want := toolapi.Skills{
		Folders: []toolapi.SkillFolder{
			{Path: ".", Files: []toolapi.SkillFile{
				badFile("SKILL.md", toolapi.ProblemNotRegular),
				badFile("references", toolapi.ProblemNotRegular),
				badFile("scripts/a\uFFFDb", toolapi.ProblemOddName),
				badFile("scripts/dangling", toolapi.ProblemNotRegular),
				large,
				badFile("scripts/link", toolapi.ProblemNotRegular),
				sparse,
				badFile("scripts/sub/pipe", toolapi.ProblemNotRegular),
				badFile(long, toolapi.ProblemOddName),
				badFile("scripts/\uFFFDgpj.exe", toolapi.ProblemOddName),
			}},
			{Path: "skills/folder", Files: []toolapi.SkillFile{badFile("SKILL.md", toolapi.ProblemNotRegular)}},
			{Path: "skills/linked", Problem: toolapi.ProblemNotRegular},
			{Path: "skills/odd\uFFFDname", Problem: toolapi.ProblemOddName},
			{Path: "skills/pipe", Files: []toolapi.SkillFile{badFile("SKILL.md", toolapi.ProblemNotRegular), skillFile("scripts/x", "")}},
		},
		// The folder that looks the same as another.
		Omitted: 1,
	}
	if diff := cmp.Diff(want, s.skills()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	s.write("other/.git/config", "other")
	for path, code := range map[string]string{
		"SKILL.md": toolapi.ErrNotFound, "references/secret": toolapi.ErrNotFound, "scripts/link/x": toolapi.ErrNotFound,
		"scripts/sub/pipe": toolapi.ErrNotFound, "scripts/large": toolapi.ErrTooLarge, "other/.git/config": toolapi.ErrNotFound,
		"skills/linked/SKILL.md": toolapi.ErrNotFound, "scripts/../other/.git/config": toolapi.ErrNotFound, "scripts/../../x": toolapi.ErrBadRequest,
		outside: toolapi.ErrBadRequest, "scripts": toolapi.ErrNotFound, "more/pipe/scripts/x": toolapi.ErrNotFound,
	} {
		var content bytes.Buffer
		_, err := s.client(1).ReadSkillFile(testContext(t), path, &content, 1<<30)
		remote, isRemote := errors.AsType[*toolclient.RemoteError](err)
		if !isRemote || remote.Code != code || content.Len() > 0 {
			t.Errorf("%s: %v, want %s; read %q", path, err, code, &content)
		}
	}
}

// Every running program is ended before the list is made, and only the next call lets anything start again.
func TestNothingRunsOnceSkillsAreListed(t *testing.T) {
	s := newSandbox(t)
	server := s.friendly()
	mark := fmt.Sprintf("rewriter-%d", os.Getpid())
	// It survives every survivable signal, and keeps writing.
	r := s.background("trap '' HUP INT TERM; echo " + mark + "; n=0; while true; do n=$((n+1)); echo $n > SKILL.md; touch running; done")
	_, file := started(t, r)
	await(t, "the rewriting", func() bool { return s.content("running") == "" && s.content("SKILL.md") > "3" && s.content(file) != "" })

	list := s.skills()
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("there still runs %q", left)
	}
	if left := marked(t, mcpserver.Mark); len(left) > 0 {
		t.Errorf("there still runs %q", left)
	}
	content := s.content("SKILL.md")
	if want := []toolapi.SkillFolder{{Path: ".", Files: []toolapi.SkillFile{skillFile("SKILL.md", content)}}}; cmp.Diff(want, list.Folders) != "" {
		t.Errorf("%+v, and the file is %q", list, content)
	}
	if _, err := s.server.processes.StartSupervised([]string{"true"}, nil, nil, nil, nil); !errors.Is(err, program.ErrFrozen) {
		t.Errorf("something starts: %v", err)
	}
	if again := s.skills(); cmp.Diff(list, again) != "" {
		t.Errorf("then %+v", again)
	}

	if r := s.mcp("echo", "back"); r.Output != "back\n" {
		t.Errorf("the MCP server does not come back: %+v", r)
	}
	if r := s.background("sleep 1000"); !strings.Contains(r.Output, "was killed") {
		t.Errorf("%+v", r)
	}
	s.skills()
	s.setMCP(server)
	if r := s.mcp("echo", "again"); r.Output != "again\n" {
		t.Errorf("%+v", r)
	}
}

// A look at the skills ends nothing: the run goes on.
func TestEverythingRunsOnWhileSkillsAreLookedAt(t *testing.T) {
	s := newSandbox(t)
	s.friendly()
	s.write("SKILL.md", "x")
	mark := fmt.Sprintf("looked-at-%d", os.Getpid())
	_, file := started(t, s.background("echo "+mark+"; exec -a "+mark+" sleep 1000"))
	await(t, "the program", func() bool { return s.content(file) != "" })
	list, err := s.client(1).LookAtSkills(testContext(t), nil)
	ok(t, err)
	if want := []toolapi.SkillFolder{{Path: ".", Files: []toolapi.SkillFile{skillFile("SKILL.md", "x")}}}; cmp.Diff(want, list.Folders) != "" {
		t.Errorf("%+v", list)
	}
	if len(marked(t, mark)) == 0 {
		t.Error("the program was ended")
	}
	if r := s.mcp("echo", "back"); r.Output != "back\n" {
		t.Errorf("the MCP server says %+v", r)
	}
}

// A call that waited for its turn when the files were listed does not run: it is of a loop that has lost the run.
func TestACallThatWaitedDoesNotRunOnceSkillsAreListed(t *testing.T) {
	s := newSandbox(t)
	s.server.lane <- struct{}{}
	listed, called := make(chan error, 1), make(chan error, 1)
	old, call := s.client(1), newCallOf(t, "waits", toolapi.ToolBash, toolapi.BashArgs{Command: "touch ran"})
	go func() {
		_, err := old.Call(testContext(t), call)
		called <- err
	}()
	await(t, "the call", func() bool { return s.server.ledger.Find("waits") != nil })
	newer := s.client(2)
	go func() {
		_, err := newer.Skills(testContext(t), nil)
		listed <- err
	}()
	await(t, "the newer claim", func() bool { return s.server.ledger.Highest() == 2 })
	// As the list does when it has the lane.
	ok(t, s.server.freeze(toolapi.StoppedFinished))
	if s.server.thaw(1) {
		t.Error("the former claim lets programs start")
	}
	<-s.server.lane
	ok(t, <-listed)
	if err := <-called; !errors.Is(err, toolclient.ErrStaleEpoch) {
		t.Errorf("the former claim is told %v", err)
	}
	var state toolapi.CallState
	var err error
	await(t, "its end", func() bool {
		state, err = newer.State(testContext(t), "waits")
		return err != nil || state.Phase == toolapi.CallFinished
	})
	if err != nil || state.Result.ErrorCode != toolapi.CodeCancelled {
		t.Errorf("%+v %v", state, err)
	}
	if _, err := os.Stat(s.workspace + "/ran"); !os.IsNotExist(err) {
		t.Error("it ran")
	}
}

// A manager that has lost the run ends nothing.
func TestAStaleClaimListsNoSkills(t *testing.T) {
	s := newSandbox(t)
	old := s.client(1)
	_, err := old.Hello(testContext(t))
	ok(t, err)
	s.server.lane <- struct{}{}
	listed := make(chan error, 1)
	go func() {
		_, err := old.Skills(testContext(t), nil)
		listed <- err
	}()
	_, err = s.client(2).Hello(testContext(t))
	ok(t, err)
	select {
	case err = <-listed:
	case <-time.After(2 * time.Minute):
		t.Fatal("it still waits")
	}
	<-s.server.lane
	if !errors.Is(err, toolclient.ErrStaleEpoch) || s.server.processes.IsFrozen() {
		t.Errorf("%v", err)
	}
}
