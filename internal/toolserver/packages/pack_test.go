// SPDX-License-Identifier: Apache-2.0

//go:build linux

package packages

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// treeOf is everything below a folder: modes, and contents or the targets of links.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().Type() == fs.ModeSymlink:
			to, err := os.Readlink(name)
			if err != nil {
				return err
			}
			text = "-> " + to
		case info.Mode().IsRegular():
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text += " " + string(content)
		}
		found[strings.TrimPrefix(name, dir+"/")] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The archive is the same whenever and in whatever order its files were made, and unpacks to the same files.
func TestPackAndUnpack(t *testing.T) {
	t.Parallel()
	var archives [][]byte
	for n := range 2 {
		dir := t.TempDir()
		made := []func() error{
			func() error { return os.MkdirAll(dir+"/node_modules/.bin", 0o700) },
			func() error { return os.WriteFile(dir+"/node_modules/a.js", []byte("a"), 0o600) },
			func() error { return os.WriteFile(dir+"/node_modules/b.js", []byte("#!b"), 0o777) },
			func() error { return os.Symlink("../b.js", dir+"/node_modules/.bin/b") },
			func() error { return os.Symlink("/etc/passwd", dir+"/absolute") },
			func() error { return os.Symlink("../../x", dir+"/node_modules/out") },
			func() error { return os.Symlink("nothing", dir+"/dangling") },
			func() error { return os.Symlink(".", dir+"/node_modules/self") },
			func() error { return syscall.Mkfifo(dir+"/pipe", 0o644) },
			func() error { return os.WriteFile(dir+"/node_modules/not\xffutf8", nil, 0o644) },
		}
		for i := range made {
			at := i
			if n == 1 && i > 0 { // The other way round, except for the folder.
				at = len(made) - i
			}
			if err := made[at](); err != nil {
				t.Fatal(err)
			}
		}
		when := time.Unix(int64(n)*1e9, 0)
		if err := os.Chtimes(dir+"/node_modules/a.js", when, when); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		var out bytes.Buffer
		got, err := pack(t.Context(), root, &out)
		sum := sha256.Sum256(out.Bytes())
		if want := (packed{hex.EncodeToString(sum[:]), int64(out.Len())}); err != nil || got != want {
			t.Fatalf("%+v, want %+v: %v", got, want, err)
		}
		archives = append(archives, out.Bytes())
	}
	if !bytes.Equal(archives[0], archives[1]) {
		t.Error("the archives differ")
	}
	content := archives[0]
	u := newUnpacking(t, content[:10], content[10:11], content[11:])
	want := map[string]string{
		"node_modules": "drwxr-xr-x", "node_modules/.bin": "drwxr-xr-x", "node_modules/a.js": "-rw-r--r-- a", "node_modules/b.js": "-rwxr-xr-x #!b",
		"node_modules/.bin/b": "-> ../b.js", "node_modules/self": "-> .",
	}
	for range 2 { // The second time over the existing files.
		if code, said := u.run(content); code != 0 || said != "" {
			t.Fatalf("status %d: %s", code, said)
		}
		if diff := cmp.Diff(want, treeOf(t, u.to)); diff != "" {
			t.Errorf("(-want +unpacked):\n%s", diff)
		}
		if err := os.WriteFile(u.to+"/left", []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// noise cannot be compressed.
func noise(size int) string {
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{}).Read(content) // It never fails.
	return string(content)
}

func TestPackLimits(t *testing.T) {
	t.Parallel()
	root := func(make func(dir string) error) *os.Root {
		dir := t.TempDir()
		if err := make(dir); err != nil {
			t.Fatal(err)
		}
		r, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		return r
	}
	sparse := root(func(dir string) error {
		if err := os.WriteFile(dir+"/x", nil, 0o600); err != nil {
			return err
		}
		return os.Truncate(dir+"/x", toolapi.MaxUnpackedBytes+1)
	})
	if _, err := pack(t.Context(), sparse, &bytes.Buffer{}); !errors.Is(err, errTooLarge) || !strings.Contains(err.Error(), "unpacked they have more than 400 MiB") {
		t.Error(err)
	}
	full := root(func(dir string) error {
		return os.WriteFile(dir+"/x", []byte(noise(toolapi.MaxPackedBytes+1)), 0o600)
	})
	if _, err := pack(t.Context(), full, &bytes.Buffer{}); !errors.Is(err, errTooLarge) || !strings.Contains(err.Error(), "compressed they have more than 20 MiB") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(tool.ErrCancelled)
	if _, err := pack(ctx, full, &bytes.Buffer{}); !errors.Is(err, tool.ErrCancelled) {
		t.Error(err)
	}
}
