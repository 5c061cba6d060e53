// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	secretscan "motorcortex.dev/motorcortex/internal/secret/scan"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

func TestCommitWithoutSecrets(t *testing.T) {
	s := gitSandbox(t)
	s.write("a.txt", "harmless\n")
	s.write("deep/name with\nnewline", "harmless\n")
	s.must("git add . && git commit -qm first")
	if got := s.commits(); got != "motor <motor@sandbox.invalid> first\n" {
		t.Errorf("%q", got)
	}
	if got := s.must("git branch --show-current"); got != "main\n" {
		t.Errorf("%q", got)
	}
	// The model's configuration overrides the default one.
	s.must("git config user.name other && git config --global user.email other@example.org && git commit -q --allow-empty -m second")
	if got := s.commits(); !strings.HasPrefix(got, "other <other@example.org> second\n") {
		t.Errorf("%q", got)
	}
}

func TestCommitWithSecrets(t *testing.T) {
	s := gitSandbox(t)
	s.write("a.txt", "one\n")
	s.write("config/aws.ini", "[default]\nid = "+stagedKey+"\n")
	r := s.bash("git add . && git commit -qm first")
	want := "secret found: config/aws.ini line 2, rule aws-access-token\n"
	if r.OK || r.ErrorCode != "exit_1" || !strings.HasPrefix(r.Output, want) || !strings.Contains(r.Output, "commit refused") || strings.Contains(r.Output, stagedKey) {
		t.Fatalf("%+v", r)
	}
	if got := s.commits(); strings.Contains(got, "first") {
		t.Errorf("it was committed: %q", got)
	}
	// The staged content counts, and not the content of the folder.
	s.write("config/aws.ini", "clean\n")
	if r := s.bash("git commit -qm still"); r.OK || !strings.HasPrefix(r.Output, want) {
		t.Errorf("staged: %+v", r)
	}
	s.must("git add . && git commit -qm clean")
	s.write("config/aws.ini", "clean\n"+stagedKey+"\n")
	if r := s.bash("git commit -qam all"); r.OK || !strings.HasPrefix(r.Output, "secret found: config/aws.ini line 2, rule aws-access-token\n") {
		t.Errorf("commit -a: %+v", r)
	}
	if r := s.bash("git commit -qm part config/aws.ini"); r.OK {
		t.Errorf("a part: %+v", r)
	}
	// It is a guard against accidents, and its message has the way to bypass it.
	s.must("git commit -qa --no-verify -m known")
	// A secret that is there already is not found anew, unless it is on another line.
	s.write("config/aws.ini", "another line\nclean\n"+stagedKey+"\n")
	s.must("git commit -qam moved")
	s.write("config/aws.ini", "another line\nclean\n"+stagedKey+"\nkey: "+stagedKey+"\n")
	if r := s.bash("git commit -qam again"); r.OK || !strings.HasPrefix(r.Output, "secret found: config/aws.ini line 4, rule aws-access-token\n") {
		t.Errorf("again: %+v", r)
	}
	s.must("git checkout -q -- . && git reset -q --hard")
	// Names, binary files, links, deletions.
	s.write("key.p12", "\x00\x01")
	if r := s.bash("git add key.p12 && git commit -qm p12"); r.OK || !strings.Contains(r.Output, "secret found: key.p12 line 1, rule pkcs12-file\n") {
		t.Errorf("a name: %+v", r)
	}
	s.must("git rm -q --cached key.p12")
	s.write("blob.bin", "\x00"+stagedKey)
	s.must("ln -s " + stagedKey + " link && git add blob.bin link && git commit -qm others && git rm -q blob.bin && git commit -qm gone")
}

func TestCommitInAMergeAndAWorktree(t *testing.T) {
	s := gitSandbox(t)
	s.write("a", "1\n")
	s.must("git add a && git commit -qm first && git checkout -q -b side")
	s.write("b", stagedKey+"\n")
	s.must("git add b && git commit -q --no-verify -m side && git checkout -q main && git commit -q --allow-empty -m main")
	if r := s.bash("git merge -q --no-edit side"); r.OK || !strings.Contains(r.Output, "secret found: b line 1, rule aws-access-token\n") {
		t.Errorf("a merge: %+v", r)
	}
	s.must("git merge --abort; git worktree add -q ../workspace/tree side && cd tree && echo " + stagedKey + " > c && git add c")
	if r := s.bash("cd tree && git commit -qm tree"); r.OK || !strings.Contains(r.Output, "secret found: c line 1") {
		t.Errorf("a worktree: %+v", r)
	}
	if r := s.bash("cd tree && mkdir -p sub && cd sub && git commit -qm tree"); r.OK || !strings.Contains(r.Output, "secret found: c line 1") {
		t.Errorf("a folder: %+v", r)
	}
}

func TestOwnHooksRun(t *testing.T) {
	s := gitSandbox(t)
	hook := func(dir, name, body string) {
		s.write(dir+"/"+name, "#!/bin/sh\n"+body+"\n")
		s.must("chmod +x " + dir + "/" + name)
	}
	s.write(".gitignore", "log\nhooks\n")
	hook(".git/hooks", "pre-commit", `echo "pre-commit $#" >> log`)
	hook(".git/hooks", "commit-msg", `echo "commit-msg $(cat "$1")" >> log; grep -q refuse "$1" && exit 3; exit 0`)
	hook(".git/hooks", "post-commit", `echo post-commit >> log`)
	s.must("git add . && git commit -qm first")
	if got := s.content("log"); got != "pre-commit 0\ncommit-msg first\npost-commit\n" {
		t.Errorf("%q", got)
	}
	if r := s.bash("git commit -q --allow-empty -m refuse"); r.OK {
		t.Errorf("its own hook refuses: %+v", r)
	}
	// Its own folder of hooks, as tools for that set it.
	hook("hooks", "pre-commit", "echo other >> log")
	s.must("rm log && git config core.hooksPath hooks && git commit -q --allow-empty -m second")
	if got := s.content("log"); got != "other\n" {
		t.Errorf("%q", got)
	}
	s.write("k", stagedKey)
	if r := s.bash("rm log; git add k && git commit -qm third"); r.OK || s.content("log") != "" {
		t.Errorf("before its own hook: %+v %q", r, s.content("log"))
	}
}

func TestGitSetupIsKept(t *testing.T) {
	s := gitSandbox(t)
	s.write("k", stagedKey)
	s.must("git add k")
	hooks := filepath.Join(s.temp, gitHooksDir)
	for name, damage := range map[string]string{
		"gone":        "rm -rf " + filepath.Join(s.temp, workspace.OwnDir),
		"all gone":    "rm -rf $TMPDIR/* $TMPDIR/.[!.]*",
		"one gone":    "rm -f " + hooks + "/pre-commit",
		"a link":      "rm -rf " + hooks + " && ln -s /etc " + hooks,
		"a file":      "rm -rf " + filepath.Join(s.temp, gitSetupDir) + " && touch " + filepath.Join(s.temp, gitSetupDir),
		"a config":    "rm -f " + filepath.Join(s.temp, gitConfigFile),
		"other words": "chmod u+w " + filepath.Join(s.temp, gitConfigFile) + " && echo >> " + filepath.Join(s.temp, gitConfigFile),
	} {
		s.bash(damage)
		if r := s.bash("git commit -qm x"); r.OK || !strings.HasPrefix(r.Output, "secret found: k line 1") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	s.restart()
	if r := s.bash("git commit -qm x"); r.OK || !strings.HasPrefix(r.Output, "secret found: k line 1") {
		t.Errorf("after a restart: %+v", r)
	}
	if _, err := os.Stat(filepath.Join(hooks, "pre-commit")); err != nil {
		t.Error(err)
	}
}

// The outputs that the tool server stores are in the workspace, and are not work of the run.
func TestKeptOutputsAreNotCommitted(t *testing.T) {
	s := gitSandbox(t)
	s.must("seq 1000")
	s.must("ls .motor/output/*.txt")
	s.must("rm -f " + filepath.Join(s.temp, gitIgnoreFile))
	s.must("mkdir -p .npm/_logs .cache/pip a/__pycache__ && touch .npm/_logs/x .cache/pip/x a/__pycache__/x.pyc")
	s.must("echo x > f && git add -A && git commit -qm all")
	if files := s.must("git ls-files"); files != "f\n" {
		t.Errorf("committed are %q", files)
	}
}

func TestManyStagedFiles(t *testing.T) {
	s := gitSandbox(t)
	for i := range 60 {
		s.write(fmt.Sprintf("d/%02d", i), stagedKey)
	}
	r := s.bash("git add . && git commit -qm many")
	if r.OK || strings.Count(r.Output, "secret found: d/") != maxStagedShown || !strings.Contains(r.Output, "\nand 40 more\n") {
		t.Errorf("%+v", r)
	}
	s.must("rm -rf d .git && git init -q && mkdir d && cd d && for i in $(seq " + fmt.Sprint(maxStagedFiles+5) + "); do echo x > $i; done")
	r = s.bash("git add . && git commit -qm many")
	if !r.OK || strings.Count(r.Output, " was not looked through for secrets: 2000 files of a commit are\n") != 5 || !strings.Contains(r.Output, "d/999 was not") {
		t.Errorf("%+v", r)
	}
	r = s.run(toolapi.ToolBash, toolapi.BashArgs{Command: os.Args[0] + " " + ScanStagedVerb + "; cd / && " + os.Args[0] + " " + ScanStagedVerb})
	if !r.OK || !strings.Contains(r.Output, "was not looked through for secrets: git diff: ") {
		t.Errorf("outside of a repository: %+v", r)
	}
}

// Behind as many findings as are listed there may be another one: the known ones do not hide it.
func TestCommitOfAFileFullOfKnownSecrets(t *testing.T) {
	s := gitSandbox(t)
	known := strings.Repeat(stagedKey+"\n", secretscan.MaxFindings)
	s.write("fixture", known)
	s.must("git add . && git commit -qm known --no-verify")
	s.write("fixture", known+"and: "+stagedKey+"\n")
	if r := s.bash("git commit -qam more"); r.OK || !strings.Contains(r.Output, "commit refused") {
		t.Errorf("%+v", r)
	}
}

// A commit that is not scanned as a whole goes on, and the output names the files that were not.
func TestCommitBeyondTheBounds(t *testing.T) {
	s := gitSandbox(t)
	lines := strings.Repeat(strings.Repeat("x", 63)+"\n", secretscan.MaxBytes/64)
	s.write("fits", lines)
	s.write("larger", lines+stagedKey+"\n")
	s.write("picture", "\x00"+lines)
	want := fmt.Sprintf("larger was not looked through for secrets behind its first 4 MiB: it has %d bytes\n", len(lines)+len(stagedKey)+1) +
		"picture was not looked through for secrets: it is not text\n"
	if got := s.must("git add . && git commit -qm first"); got != want {
		t.Errorf("a large file: %q, want %q", got, want)
	}
	s.write("larger", stagedKey+"\n"+lines)
	if r := s.bash("git commit -qam second"); r.OK || !strings.Contains(r.Output, "larger was not looked through") || !strings.Contains(r.Output, "secret found: larger line 1") {
		t.Errorf("a large file with a secret in its beginning: %+v", r)
	}

	// A list of more than is read of it.
	r := s.bash(`git reset -q --hard; id=$(echo harmless | git hash-object -w --stdin); seq -f "100644 $id%%%0200g" 15000 | tr % '\t' | tr -s '\t' | git update-index --add --index-info && git commit -qm many`)
	for _, want := range []string{
		"was not looked through for secrets: 2000 files of a commit are\n", "further files were not looked through for secrets\n",
		"further files were not looked through for secrets: their list has more than 4 MiB\n",
	} {
		if !r.OK || strings.Count(r.Output, "\n") > maxStagedShown+2 || !strings.Contains(r.Output, want) {
			t.Errorf("a long list: %+v, want %q", r, want)
		}
	}
}

func TestCommitWithoutTime(t *testing.T) {
	s := gitSandbox(t)
	s.write("a", "1\n")
	s.write("b\nc", stagedKey+"\n")
	s.must("git add .")
	s.stop() // As long as it runs, it collects every process below this one.
	t.Chdir(s.workspace)
	var out strings.Builder
	status := scanStaged(testContext(t), &out, -1)
	const why = " was not looked through for secrets: there are 20 s for a commit\n"
	if want := "a" + why + `b\nc` + why; status != 0 || out.String() != want {
		t.Errorf("%d: %q, want %q", status, out.String(), want)
	}
	// A file that cannot be looked through in its own time is not taken for harmless.
	out.Reset()
	report := &stagedReport{out: &out}
	report.found("a", secretscan.Finding{RuleID: secretscan.RuleUnfinished, Line: 7})
	if status := report.end(false); status != 1 || !strings.HasPrefix(out.String(), "a was not looked through for secrets from line 7 on: that takes too long\ncommit refused: ") {
		t.Errorf("%d: %q", status, out.String())
	}
}
