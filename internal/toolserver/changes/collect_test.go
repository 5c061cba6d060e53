// SPDX-License-Identifier: Apache-2.0

//go:build linux

package changes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/worst"
)

// folder is a Workspace, without the care that the tool server takes.
type folder struct{ root *os.Root }

func (f folder) Lstat(path string) (fs.FileInfo, error) { return f.root.Lstat(path) }

func (f folder) ReadFolder(path string) ([]fs.DirEntry, bool, error) {
	entries, err := fs.ReadDir(f.root.FS(), path)
	const most = 10_000
	return entries[:min(len(entries), most)], len(entries) > most, err
}

func (f folder) Open(path string) (io.ReadCloser, fs.FileInfo, error) {
	info, err := f.root.Lstat(path)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		err = fs.ErrNotExist
	case err != nil:
	case info.Mode().Type() == fs.ModeSymlink:
		err = ErrLink
	case info.IsDir():
		err = fs.ErrNotExist
	case !info.Mode().IsRegular():
		err = ErrNotRegular
	}
	if err != nil {
		return nil, nil, err
	}
	file, err := f.root.Open(path)
	return file, info, err
}

// world is a workspace with its initial content.
type world struct {
	testing.TB
	dir   string
	given tree
	req   Request
}

func newWorld(t testing.TB, given tree) *world {
	t.Helper()
	w := &world{TB: t, dir: t.TempDir(), given: given}
	given.write(t, w.dir)
	root, err := os.OpenRoot(w.dir)
	must(t, err)
	t.Cleanup(func() { _ = root.Close() })
	w.req = Request{
		Workspace: folder{root}, Given: openBaseline(t, t.TempDir()), Own: []string{".motor", "artifacts"},
		Holds: func(text []byte) bool { return bytes.Contains(text, []byte("the-value-of-a-credential")) },
	}
	for path, f := range given {
		must(t, w.req.Given.Put(path, f.content, f.executable))
	}
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) put(files map[string]string) {
	w.Helper()
	for name, content := range files {
		must(w, os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
		must(w, os.WriteFile(w.path(name), []byte(content), 0o644))
	}
}

// applied is the result of git for the given files.
func (w *world) applied(r Result) tree {
	w.Helper()
	if len(r.Diff) > toolapi.MaxDiffBytes {
		w.Errorf("the diff has %d bytes", len(r.Diff))
	}
	return w.given.gitApply(w, r.Diff)
}

func (w *world) leftOut(r Result, want map[string]string) {
	w.Helper()
	got := map[string]string{}
	for _, l := range r.LeftOut {
		got[l.Path] = l.Why
	}
	if d := cmp.Diff(want, got); d != "" {
		w.Errorf("left out (-want +got):\n%s", d)
	}
}

func TestCollect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tree{
		"src/a.go": text("a\n"), "src/b.go": text("b\n"), "old.txt": text("x\n"), "same": text("same\n"), "run.sh": {content: []byte("x\n")},
		"build/given.txt": text("x\n"), "artifacts/given": text("x\n"),
	})
	w.put(map[string]string{
		"src/a.go": "A\n", "new/deep/file": "x\n", "artifacts/out": "x", ".motor/x": "x", ".git/config": "x", "sub/.git/config": "x", "node_modules/m/i.js": "x",
		"src/__pycache__/a.pyc": "x", "web/dist/app.js": "x", "web/index.html": "<p>\n", "build/new.txt": "y\n", ".npm/_cache/x": "x", "saved.csv": "1\n",
	})
	w.req.Own = append(w.req.Own, "saved.csv")
	must(t, os.Remove(w.path("old.txt")))
	must(t, os.Chmod(w.path("run.sh"), 0o755))
	r := Collect(t.Context(), w.req)
	want := maps.Clone(w.given)
	delete(want, "old.txt")
	maps.Copy(want, tree{
		"src/a.go": text("A\n"), "new/deep/file": text("x\n"), "web/index.html": text("<p>\n"), "build/new.txt": text("y\n"),
		"run.sh": {content: []byte("x\n"), executable: true},
	})
	same(t, want, w.applied(r), r.Diff)
	w.leftOut(r, map[string]string{})
	head, _, _ := strings.Cut(string(r.Diff), "diff --git ")
	for _, name := range []string{"node_modules/", "src/__pycache__/", "web/dist/", ".npm/"} {
		if !strings.Contains(head, "#   "+name+"\n") {
			t.Errorf("%s is not named:\n%s", name, head)
		}
	}
	if again := Collect(t.Context(), w.req); !bytes.Equal(r.Diff, again.Diff) {
		t.Error("the second time it is another diff")
	}

	// Paths that the model named are compared wherever they are, except for those that are not part of the changes.
	w.req.Named = []string{"web/dist", "node_modules/m/i.js", "artifacts", ".git/config", "nowhere", ".", "src/__pycache__/a.pyc"}
	maps.Copy(want, tree{"web/dist/app.js": text("x"), "node_modules/m/i.js": text("x"), "src/__pycache__/a.pyc": text("x")})
	r = Collect(t.Context(), w.req)
	same(t, want, w.applied(r), r.Diff)
}

func TestCollectWhereNothingChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tree{"a": text("a\n")})
	must(t, w.req.Given.PutSum("large", 3, strings.Repeat("0", 64), false))
	must(t, os.WriteFile(w.path("large"), []byte("xyz"), 0o644))
	w.req.Given.files["large"] = Given{Path: "large", Size: 3, SHA256: "3608bca1e44ea6c4d268eb6db02260269892c0b42b86bbf1e77a6fa16c3c9282"}
	w.put(map[string]string{"node_modules/x": "x", "artifacts/x": "x"})
	if r := Collect(t.Context(), w.req); len(r.Diff) != 0 || len(r.LeftOut) != 0 {
		t.Errorf("%s\n%v", r.Diff, r.LeftOut)
	}
	must(t, os.Chmod(w.path("large"), 0o755))
	if r := Collect(t.Context(), w.req); !bytes.Contains(r.Diff, []byte("new mode 100755")) {
		t.Errorf("%s\n%v", r.Diff, r.LeftOut)
	}
	must(t, os.WriteFile(w.path("large"), []byte("abc"), 0o644))
	w.leftOut(Collect(t.Context(), w.req), map[string]string{"large": whyNotKept})
}

// One file that cannot be shown costs nothing but itself, and is named.
func TestCollectLeavesOutSingleFiles(t *testing.T) {
	t.Parallel()
	const key = "AKIA" + "YRWSSQ3BPTB4DX7Z"
	w := newWorld(t, tree{"given": text("x\n"), "linked": text("x\n"), "fixture": text("key = " + key + "\nother\n"), "gone": text("key = " + key + "\n")})
	w.put(map[string]string{
		"good.txt": "good\n", "secret.txt": "a\nkey = " + key + "\n", "secret.dat": "\x00key = " + key + "\n", "value.txt": "the-value-of-a-credential", "fixture": "key = " + key + "\nOTHER\n",
		"large.txt": strings.Repeat("x\n", MaxFileBytes), "large.bin": "\x00" + strings.Repeat("x", maxBinaryBytes), "given": strings.Repeat("y", MaxFileBytes+1),
		"a/git~1/x": "x", "go.sum": "golang.org/x/oauth2 v0.30.0 h1:dnDm7JmhM45NNpd8FDDeLhK6FwqbOlmRMAbCdEfGhIj\n",
	})
	must(t, os.Remove(w.path("gone")))
	must(t, os.Remove(w.path("linked")))
	must(t, os.Symlink("good.txt", w.path("linked")))
	must(t, os.Symlink("/etc", w.path("out")))
	must(t, syscall.Mkfifo(w.path("pipe"), 0o644))
	r := Collect(t.Context(), w.req)
	want := maps.Clone(w.given)
	delete(want, "gone") // The deletion can be reported without the key.
	maps.Copy(want, tree{"good.txt": text("good\n"), "go.sum": text("golang.org/x/oauth2 v0.30.0 h1:dnDm7JmhM45NNpd8FDDeLhK6FwqbOlmRMAbCdEfGhIj\n")})
	same(t, want, w.applied(r), r.Diff)
	secret := "it holds what looks like a secret (aws-access-token)"
	w.leftOut(r, map[string]string{
		"secret.txt": secret, "secret.dat": secret, "fixture": secret, "value.txt": whyValue, "linked": whyLink, "out": whyLink, "pipe": whyNotRegular, "a/git~1/x": whyName,
		"large.txt": "it has 2097152 bytes, and a file may have 1024 KiB in the diff", "given": "it has 1048577 bytes, and a file may have 1024 KiB in the diff",
		"large.bin": "it has 262145 bytes, and one that is or was no text may have 256 KiB in the diff",
	})
	head, _, _ := strings.Cut(string(r.Diff), "diff --git ")
	if !strings.Contains(head, "# Left out, 11:\n#   fixture: "+secret+"\n#   given: it has 1048577 bytes") || bytes.Contains(r.Diff, []byte(key)) {
		t.Errorf("%s", head)
	}
	// A name may be the secret.
	w.put(map[string]string{"the-value-of-a-credential": "x"})
	head, _, _ = strings.Cut(string(Collect(t.Context(), w.req).Diff), "diff --git ")
	if !strings.Contains(head, "and 12 more") || strings.Contains(head, "credential") {
		t.Errorf("%s", head)
	}
}

// If the space is short, given and small files come first.
func TestCollectFillsTheRoom(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tree{"z-given": text(strings.Repeat("line\n", 50_000))})
	w.put(map[string]string{"z-given": strings.Repeat("LINE\n", 50_000), "z-small": "x\n"})
	for i := range 12 {
		w.put(map[string]string{fmt.Sprintf("data-%02d", i): strings.Repeat(fmt.Sprintln(i), 40_000+i)})
	}
	r := Collect(t.Context(), w.req)
	got := w.applied(r)
	if string(got["z-given"].content[:4]) != "LINE" || string(got["z-small"].content) != "x\n" || len(got) < 5 || len(r.LeftOut) != 14-len(got) {
		t.Errorf("%d files, and %v", len(got), r.LeftOut)
	}
	if r.LeftOut[0].Why != whyFull {
		t.Errorf("%+v", r.LeftOut[0])
	}
}

func TestCollectEndsInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tree{"a": text("a\n")})
	w.put(map[string]string{"a": "b\n", "b": "b\n"})
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	r := Collect(ctx, w.req)
	if len(r.Diff) != 0 || len(r.LeftOut) == 0 {
		t.Errorf("%s, %v", r.Diff, r.LeftOut)
	}
}

// For any content of the workspace, the diff is made in bounded time and memory, and has the given files.
func TestWorstWorkspace(t *testing.T) {
	for name, make := range map[string]func(w *world){
		"100,000 files": func(w *world) {
			for i := range 100 {
				dir := w.path(fmt.Sprintf("d%02d", i))
				must(w, os.Mkdir(dir, 0o755))
				for j := range 1000 {
					must(w, os.Symlink("x", filepath.Join(dir, fmt.Sprintf("f%03d", j))))
				}
			}
		},
		"one folder of 20,000": func(w *world) {
			for i := range 20_000 {
				must(w, os.WriteFile(w.path(fmt.Sprintf("file-%d", i)), []byte("x\n"), 0o644))
			}
		},
		"deep folders": func(w *world) {
			must(w, os.MkdirAll(w.path(strings.Repeat("deep/", 500)), 0o755))
			must(w, os.WriteFile(w.path(strings.Repeat("deep/", 500)+"file"), []byte("x"), 0o644))
		},
		"a sparse file of 20 GB": func(w *world) {
			must(w, os.WriteFile(w.path("sparse"), nil, 0o644))
			must(w, os.Truncate(w.path("sparse"), 20<<30))
		},
		"names": func(w *world) {
			for _, name := range []string{"line\nbreak", "diff --git a/x b/x\n--- a\n", "\x1b[2J", "bad\xff", strings.Repeat("n", 255)} {
				w.put(map[string]string{name: "x\n"})
			}
		},
		"closed folders": func(w *world) {
			w.put(map[string]string{"closed/x": "x"})
			must(w, os.Chmod(w.path("closed"), 0))
			w.Cleanup(func() { _ = os.Chmod(w.path("closed"), 0o755) })
		},
		"binaries that pack well": func(w *world) {
			for i := range 200 {
				must(w, os.WriteFile(w.path(fmt.Sprintf("zeros-%d", i)), append(bytes.Repeat([]byte{0}, maxBinaryBytes-16), byte(i)), 0o644))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tree{"z/given": text("a\n"), "z/gone": text("a\n")})
			make(w)
			w.put(map[string]string{"z/given": "b\n"})
			must(t, os.Remove(w.path("z/gone")))
			var r Result
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			worst.Within(t, name, worst.Cost{Stack: worst.Race * 8 << 20, Heap: worst.Race * 2 << 30, Time: 20 * time.Second}, func() { r = Collect(ctx, w.req) })
			got := w.applied(r)
			if _, there := got["z/gone"]; there || string(got["z/given"].content) != "b\n" {
				t.Errorf("what was given is %+v", got["z/given"])
			}
		})
	}
}

// The workspace changes while it is walked: links take the place of files and folders, and files grow.
func TestCollectInAWorkspaceThatChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tree{"given": text("a\n")})
	secret := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(secret, []byte("from outside\n"), 0o644))
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		rng := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-done:
				return
			default:
			}
			// A pipe in place of the folder would block the cleanup.
			name := []string{"given", "a", "b/c", "b"}[rng.IntN(4)]
			at, kinds := w.path(name), 5
			if name == "b" {
				kinds = 2
			}
			_ = os.RemoveAll(at)
			switch rng.IntN(kinds) {
			case 0:
				_ = os.Symlink(secret, at)
			case 1:
				_ = os.MkdirAll(at, 0o755)
			case 2:
				_ = syscall.Mkfifo(at, 0o644)
			case 3:
				_ = os.WriteFile(at, bytes.Repeat([]byte("grows\n"), rng.IntN(400_000)), 0o644)
			default:
				_ = os.WriteFile(at, []byte("x\n"), 0o755)
			}
		}
	}()
	for range 60 {
		r := Collect(t.Context(), w.req)
		if bytes.Contains(r.Diff, []byte("from outside")) {
			t.Fatalf("%s", r.Diff)
		}
		w.applied(r)
	}
	close(done)
	<-stopped
}
