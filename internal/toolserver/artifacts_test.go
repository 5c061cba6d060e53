// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *sandbox) save(path string) toolapi.Result {
	s.t.Helper()
	return s.run(toolapi.ToolSaveArtifact, toolapi.SaveArtifactArgs{Path: path})
}

func (s *sandbox) artifacts() toolapi.Artifacts {
	s.t.Helper()
	list, err := s.client(1).Artifacts(testContext(s.t))
	ok(s.t, err)
	return list
}

func TestArtifactsOfAHostileWorkspace(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	if got := s.artifacts(); len(got.Files) != 0 || got.Omitted != 0 {
		t.Errorf("an empty workspace has %+v", got)
	}
	outside := filepath.Join(t.TempDir(), "secret")
	ok(t, os.WriteFile(outside, []byte("outside"), 0o600))
	dir := s.workspace + "/artifacts/"
	s.write("artifacts/a.txt", "one\n")
	s.write("artifacts/sub/picture.dat", "\x89PNG\r\n\x1a\n")
	s.write("artifacts/sub/empty", "")
	s.write("artifacts/a\nb", "odd")
	s.write("artifacts/a\xffb", "odd")
	s.write("artifacts/\u202egpj.exe", "odd")
	s.write("artifacts/cafe\u0301", "looks like another name")
	s.write("inner/file", "inner")
	s.write("saved.csv", "a,b\n")
	s.write("gone.txt", "x")
	s.write("replaced.txt", "x")
	s.write("folder.txt", "x")
	for _, path := range []string{"saved.csv", "gone.txt", "replaced.txt", "folder.txt", "artifacts/a.txt"} {
		if r := s.save(path); !r.OK {
			t.Fatalf("%s: %+v", path, r)
		}
	}
	ok(t, os.Remove(s.workspace+"/gone.txt"))
	ok(t, os.Remove(s.workspace+"/replaced.txt"))
	ok(t, os.Symlink(outside, s.workspace+"/replaced.txt"))
	ok(t, os.Remove(s.workspace+"/folder.txt"))
	ok(t, os.Mkdir(s.workspace+"/folder.txt", 0o755))
	ok(t, os.Symlink(outside, dir+"link"))
	ok(t, os.Symlink("../inner", dir+"linked folder"))
	ok(t, os.Symlink("loop", dir+"loop"))
	ok(t, syscall.Mkfifo(dir+"pipe", 0o600))
	ok(t, os.WriteFile(dir+"sparse", nil, 0o600))
	ok(t, os.Truncate(dir+"sparse", 10<<30))
	folder, err := os.Open(dir)
	ok(t, err)
	defer folder.Close()
	// The path of a socket must be short.
	ln, err := net.Listen("unix", "/proc/self/fd/"+strconv.Itoa(int(folder.Fd()))+"/socket")
	ok(t, err)
	defer ln.Close()

	odd := func(name, problem string) toolapi.ArtifactFile {
		return toolapi.ArtifactFile{Path: name, Problem: problem}
	}
	want := toolapi.Artifacts{
		Files: []toolapi.ArtifactFile{
			{Path: "artifacts/a.txt", Size: 4, MediaType: "text/plain", SHA256: sumOf("one\n"), Provenance: "internal"},
			odd("artifacts/a\uFFFDb", toolapi.ProblemUnreadable),
			odd("artifacts/cafe\uFFFD", toolapi.ProblemUnreadable),
			odd("artifacts/link", toolapi.ProblemNotRegular),
			odd("artifacts/linked folder", toolapi.ProblemNotRegular),
			odd("artifacts/loop", toolapi.ProblemNotRegular),
			odd("artifacts/pipe", toolapi.ProblemNotRegular),
			odd("artifacts/socket", toolapi.ProblemNotRegular),
			{Path: "artifacts/sparse", Size: 10 << 30, Provenance: "internal", Problem: toolapi.ProblemTooLarge},
			{Path: "artifacts/sub/empty", MediaType: "text/plain; charset=utf-8", SHA256: sumOf(""), Provenance: "internal"},
			{Path: "artifacts/sub/picture.dat", Size: 8, MediaType: "image/png", SHA256: sumOf("\x89PNG\r\n\x1a\n"), Provenance: "internal"},
			odd("artifacts/\uFFFDgpj.exe", toolapi.ProblemUnreadable),
			odd("folder.txt", toolapi.ProblemNotRegular),
			odd("gone.txt", toolapi.ProblemUnreadable),
			odd("replaced.txt", toolapi.ProblemNotRegular),
			{Path: "saved.csv", Size: 4, MediaType: "text/csv", SHA256: sumOf("a,b\n"), Provenance: "internal"},
		},
		// The two names that differ in what cannot be shown only.
		Omitted: 1,
	}
	if diff := cmp.Diff(want, s.artifacts()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	s.restart()
	if diff := cmp.Diff(want, s.artifacts()); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}

	for path, code := range map[string]string{
		"artifacts/link": toolapi.ErrNotFound, "artifacts/linked folder/file": toolapi.ErrNotFound, "artifacts/pipe": toolapi.ErrNotFound,
		"artifacts/socket": toolapi.ErrNotFound, "artifacts/sparse": toolapi.ErrTooLarge, "artifacts/sub": toolapi.ErrNotFound,
		"artifacts/none": toolapi.ErrNotFound, "artifacts/../inner/file": toolapi.ErrNotFound, "inner/file": toolapi.ErrNotFound,
		"artifacts/../../x": toolapi.ErrBadRequest, "replaced.txt": toolapi.ErrNotFound, outside: toolapi.ErrBadRequest, "artifacts": toolapi.ErrNotFound,
	} {
		var content bytes.Buffer
		_, err := s.client(1).ReadArtifact(testContext(t), path, &content, 1<<20)
		remote, isRemote := errors.AsType[*toolclient.RemoteError](err)
		if !isRemote || remote.Code != code || content.Len() > 0 {
			t.Errorf("%s: %v, want %s; read %q", path, err, code, &content)
		}
	}
}

func TestReadArtifact(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	large := strings.Repeat("0123456789abcdef", (2*toolapi.MaxChunkBytes+100)/16)
	for name, content := range map[string]string{
		"empty": "", "small": "x", "a chunk": large[:toolapi.MaxChunkBytes], "large": large, "name with % and ?": "odd\n",
	} {
		s.write("artifacts/"+name, content)
		var got strings.Builder
		n, err := s.client(1).ReadArtifact(testContext(t), "artifacts/"+name, &got, int64(len(content)))
		if err != nil || n != int64(len(content)) || got.String() != content {
			t.Errorf("%s: %d of %d bytes, %v", name, n, len(content), err)
		}
		if content == "" {
			continue
		}
		if _, err := s.client(1).ReadArtifact(testContext(t), "artifacts/"+name, &got, int64(len(content)-1)); !errors.Is(err, toolclient.ErrTooLong) {
			t.Errorf("%s with one byte less: %v", name, err)
		}
	}
	failing := errors.New("the disk is full")
	_, err := s.client(1).ReadArtifact(testContext(t), s.workspace+"/artifacts/small", writerFunc(func([]byte) (int, error) { return 0, failing }), 10)
	if !errors.Is(err, failing) {
		t.Errorf("the error of the writer came back as %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

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
		a, err := openArtifacts(w, state, func() bool { return false })
		ok(t, err)
		for i := range maxSaved {
			ok(t, a.save(fmt.Sprintf("file-%d", i)))
		}
		if err := a.save("one more"); !errors.Is(err, errSavedFull) || a.has("one more") || !a.has("file-255") {
			t.Errorf("one more gives %v", err)
		}
	}
	ok(t, os.WriteFile(filepath.Join(state, savedFile), []byte("["), 0o600))
	if _, err := openArtifacts(w, state, nil); err == nil {
		t.Error("a damaged file is taken for none")
	}
}

func TestArtifactsSayThatTheyMayComeFromTheWeb(t *testing.T) {
	t.Parallel()
	w, err := workspace.Open(t.TempDir())
	ok(t, err)
	ok(t, os.Mkdir(w.Dir+"/artifacts", 0o755))
	ok(t, os.WriteFile(w.Dir+"/artifacts/a", nil, 0o600))
	a, err := openArtifacts(w, t.TempDir(), func() bool { return true })
	ok(t, err)
	if got := a.list(t.Context()); len(got.Files) != 1 || got.Files[0].Provenance != toolapi.ProvenanceWeb {
		t.Errorf("%+v", got)
	}
}

// A program changes what lies at the paths while they are looked at. Nothing from outside is ever read, and nothing waits.
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
	a, err := openArtifacts(w, t.TempDir(), func() bool { return false })
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
		for _, f := range a.list(ctx).Files {
			seen[f.SHA256+f.Problem] = true
		}
		if file, _, err := a.open("artifacts/x/f"); err == nil {
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
