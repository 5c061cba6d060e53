// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harvest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

func TestArtifactsAreBounded(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write("z/last.txt", "saved")
	if r := s.save("z/last.txt"); !r.OK {
		t.Fatalf("%+v", r)
	}
	ok(t, os.MkdirAll(s.workspace+"/artifacts/many", 0o755))
	ok(t, os.Symlink("x", s.workspace+"/artifacts/a link"))
	const files = maxWalked + 500
	for i := range files {
		ok(t, os.WriteFile(fmt.Sprintf("%s/artifacts/many/%05d", s.workspace, i), nil, 0o600))
	}
	deep := s.workspace + "/artifacts" + strings.Repeat("/zz", maxDepth+5)
	ok(t, os.MkdirAll(deep, 0o755))
	ok(t, os.WriteFile(deep+"/file", nil, 0o600))
	list := s.artifacts()
	if n := len(list.Files); n != toolapi.MaxArtifacts || list.Files[n-1].Path != "z/last.txt" || list.Files[0].Path != "artifacts/many/00000" {
		t.Errorf("%d files, from %+v to %+v", n, list.Files[0], list.Files[n-1])
	}
	if least := int32(maxWalked - 2*toolapi.MaxArtifacts); list.Omitted < least || list.Omitted > files {
		t.Errorf("%d are omitted", list.Omitted)
	}
}

func TestSaveArtifact(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write("out/report.md", "# Report\n")
	s.write("bad\u200bname", "x")
	ok(t, os.Symlink("report.md", s.workspace+"/out/link"))
	ok(t, os.Symlink("out", s.workspace+"/linked"))
	ok(t, syscall.Mkfifo(s.workspace+"/pipe", 0o600))
	s.write("sparse", "")
	ok(t, os.Truncate(s.workspace+"/sparse", toolapi.MaxArtifactBytes+1))
	for path, code := range map[string]string{
		"out/report.md": "", s.workspace + "/out/report.md": "", "./out//report.md": "",
		"": toolapi.CodeInvalidArguments, "none": toolapi.CodeNotFound, "out": toolapi.CodeIsDirectory, "../x": toolapi.CodeOutsideWorkspace,
		"out/link": toolapi.CodeInvalidArguments, "linked/report.md": toolapi.CodeInvalidArguments, "pipe": toolapi.CodeInvalidArguments,
		"sparse": toolapi.CodeTooLarge, "bad\u200bname": toolapi.CodeInvalidArguments, "out/report.md/x": toolapi.CodeNotDirectory,
		"/etc/passwd": toolapi.CodeOutsideWorkspace, "x\x00y": toolapi.CodeInvalidArguments,
	} {
		if r := s.save(path); r.ErrorCode != code || r.OK != (code == "") {
			t.Errorf("%q: %+v, want %q", path, r, code)
		}
	}
	want := "out/report.md belongs to the result. It has 9 bytes now, media type text/markdown, sha256 " + sumOf("# Report\n") + ". What it holds at the end counts."
	if r := s.save("out/report.md"); r.Output != want {
		t.Errorf("%q", r.Output)
	}
	if r := s.run(toolapi.ToolSaveArtifact, map[string]any{"file": "x"}); r.ErrorCode != toolapi.CodeInvalidArguments {
		t.Errorf("other arguments: %+v", r)
	}
	if n := len(s.artifacts().Files); n != 1 {
		t.Errorf("%d files are listed", n)
	}
}

func TestNoMoreThanSoManyFilesAreSaved(t *testing.T) {
	t.Parallel()
	w, err := workspace.Open(t.TempDir())
	ok(t, err)
	state := t.TempDir()
	for range 2 {
		a, err := OpenArtifacts(w, state, func() bool { return false })
		ok(t, err)
		for i := range maxSaved {
			ok(t, a.save(fmt.Sprintf("file-%d", i)))
		}
		if err := a.save("one more"); !errors.Is(err, errSavedFull) || a.Has("one more") || !a.Has("file-255") {
			t.Errorf("one more gives %v", err)
		}
	}
	ok(t, os.WriteFile(filepath.Join(state, savedFile), []byte("["), 0o600))
	if _, err := OpenArtifacts(w, state, nil); err == nil {
		t.Error("a damaged file is taken for none")
	}
}

func TestArtifactsSayThatTheyMayComeFromTheWeb(t *testing.T) {
	t.Parallel()
	w, err := workspace.Open(t.TempDir())
	ok(t, err)
	ok(t, os.Mkdir(w.Dir+"/artifacts", 0o755))
	ok(t, os.WriteFile(w.Dir+"/artifacts/a", nil, 0o600))
	a, err := OpenArtifacts(w, t.TempDir(), func() bool { return true })
	ok(t, err)
	if got := a.List(t.Context()); len(got.Files) != 1 || got.Files[0].Provenance != toolapi.ProvenanceWeb {
		t.Errorf("%+v", got)
	}
}

// A program changes the entries at the paths while they are examined. Nothing from outside is ever read, and nothing waits.
func TestArtifactsWhileTheWorkspaceChanges(t *testing.T) {
	t.Parallel()
	const inside, beyond = "inside", "this is outside"
	w, err := workspace.Open(t.TempDir())
	ok(t, err)
	outside := t.TempDir()
	ok(t, os.WriteFile(outside+"/f", []byte(beyond), 0o600))
	ok(t, os.MkdirAll(w.Dir+"/artifacts", 0o755))
	ok(t, os.MkdirAll(w.Dir+"/store/dir", 0o755))
	ok(t, os.WriteFile(w.Dir+"/store/dir/f", []byte(inside), 0o600))
	ok(t, os.Symlink(outside, w.Dir+"/store/link"))
	ok(t, syscall.Mkfifo(w.Dir+"/store/pipe", 0o600))
	a, err := OpenArtifacts(w, t.TempDir(), func() bool { return false })
	ok(t, err)
	ctx := testContext(t)

	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		place := w.Dir + "/artifacts/x"
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			kind := w.Dir + "/store/" + []string{"dir", "link", "pipe"}[n%3]
			_ = os.Rename(kind, place)
			_ = os.Rename(place, kind)
		}
	})
	seen := map[string]bool{}
	for n := 0; n < 3000 || !seen[sumOf(inside)] && ctx.Err() == nil; n++ {
		for _, f := range a.List(ctx).Files {
			seen[f.SHA256+f.Problem] = true
		}
		if file, _, err := a.Open("artifacts/x/f"); err == nil {
			content := make([]byte, 100)
			n, _ := file.Read(content)
			seen[sumOf(string(content[:n]))] = true
			ok(t, file.Close())
		}
	}
	close(done)
	swapping.Wait()
	if seen[sumOf(beyond)] || ctx.Err() != nil {
		t.Errorf("seen %v; %v", seen, ctx.Err())
	}
	if !seen[sumOf(inside)] {
		t.Error("the file was never there, so nothing was tried")
	}
}
