// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
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
			{Path: "artifacts/a.txt", Size: 4, MediaType: "text/plain", SHA256: sumOf("one\n"), Provenance: "Internal"},
			odd("artifacts/a\uFFFDb", toolapi.ProblemUnreadable),
			odd("artifacts/cafe\uFFFD", toolapi.ProblemUnreadable),
			odd("artifacts/link", toolapi.ProblemNotRegular),
			odd("artifacts/linked folder", toolapi.ProblemNotRegular),
			odd("artifacts/loop", toolapi.ProblemNotRegular),
			odd("artifacts/pipe", toolapi.ProblemNotRegular),
			odd("artifacts/socket", toolapi.ProblemNotRegular),
			{Path: "artifacts/sparse", Size: 10 << 30, Provenance: "Internal", Problem: toolapi.ProblemTooLarge},
			{Path: "artifacts/sub/empty", MediaType: "text/plain; charset=utf-8", SHA256: sumOf(""), Provenance: "Internal"},
			{Path: "artifacts/sub/picture.dat", Size: 8, MediaType: "image/png", SHA256: sumOf("\x89PNG\r\n\x1a\n"), Provenance: "Internal"},
			odd("artifacts/\uFFFDgpj.exe", toolapi.ProblemUnreadable),
			odd("folder.txt", toolapi.ProblemNotRegular),
			odd("gone.txt", toolapi.ProblemUnreadable),
			odd("replaced.txt", toolapi.ProblemNotRegular),
			{Path: "saved.csv", Size: 4, MediaType: "text/csv", SHA256: sumOf("a,b\n"), Provenance: "Internal"},
		},
		// The two names that differ only in characters that cannot be displayed.
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
