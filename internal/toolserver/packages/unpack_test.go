// SPDX-License-Identifier: Apache-2.0

//go:build linux

package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// entry is an entry of an archive in a test.
type entry struct {
	tar.Header
	content string
}

func file(name, content string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}, content}
}

func folder(name string) entry {
	return entry{Header: tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755}}
}

func link(name, to string) entry {
	return entry{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}}
}

func archiveOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		if err := archive.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// unpacking is the folders of one use of Unpack.
type unpacking struct{ from, to string }

func newUnpacking(t *testing.T, parts ...[]byte) unpacking {
	t.Helper()
	dir := t.TempDir()
	u := unpacking{dir + "/from", dir + "/to"}
	for _, d := range []string{u.from, u.to} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range parts {
		if err := os.WriteFile(fmt.Sprintf("%s/%04d", u.from, i), p, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// run returns the exit status and the output.
func (u unpacking) run(content []byte) (int, string) {
	sum := sha256.Sum256(content)
	var said bytes.Buffer
	return Unpack([]string{"--sha256", hex.EncodeToString(sum[:]), u.from, u.to}, &said), said.String()
}

func TestUnpackHostile(t *testing.T) {
	t.Parallel()
	many := make([]entry, toolapi.MaxPackageEntries+1)
	for i := range many {
		many[i] = folder(fmt.Sprintf("d%d", i%2))
	}
	special := func(kind byte) entry {
		return entry{Header: tar.Header{Typeflag: kind, Name: "special", Linkname: "x"}}
	}
	tests := map[string]struct {
		entries []entry
		says    string
	}{
		"up":                 {[]entry{file("../x", "x")}, "an entry with the path"},
		"up in the middle":   {[]entry{file("a/../../x", "x")}, "an entry with the path"},
		"absolute":           {[]entry{file("/x", "x")}, "an entry with the path"},
		"itself":             {[]entry{file(".", "x")}, "an entry with the path"},
		"not clean":          {[]entry{file("a//x", "x")}, "an entry with the path"},
		"long":               {[]entry{file(strings.Repeat("a/", 600)+"x", "x")}, "an entry with the path"},
		"deep":               {[]entry{file(strings.Repeat("a/", 100)+"x", "x")}, "folders deep"},
		"twice":              {[]entry{file("x", "1"), file("x", "2")}, "file exists"},
		"file as folder":     {[]entry{file("x", "1"), file("x/y", "2")}, "file exists"},
		"hard link":          {[]entry{file("x", "1"), special(tar.TypeLink)}, "no file, folder or symbolic link"},
		"device":             {[]entry{special(tar.TypeChar)}, "no file, folder or symbolic link"},
		"block device":       {[]entry{special(tar.TypeBlock)}, "no file, folder or symbolic link"},
		"pipe":               {[]entry{special(tar.TypeFifo)}, "no file, folder or symbolic link"},
		"link out":           {[]entry{link("x", "../y")}, "leads out of it"},
		"link to the top":    {[]entry{link("x", "/etc/passwd")}, "leads out of it"},
		"link twice":         {[]entry{link("x", "a"), link("x", "b")}, "is there twice"},
		"link and file":      {[]entry{link("x", "a"), file("x", "1")}, "file exists"},
		"file over a link":   {[]entry{link("x", "."), file("x/y", "1")}, "file exists"},
		"link over a link":   {[]entry{file("d", ""), folder("a/b/c"), link("a/b/l", "../.."), link("x", "a/b/l/../../y")}, "leads out of it"},
		"chain of links out": {[]entry{folder("a/b"), link("a/b/up", "../.."), link("a/b/out", "up/../../y")}, "leads out of it"},
		"too many":           {many, "more than 50000 files"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := archiveOf(t, append([]entry{file("first", "1")}, tt.entries...)...)
			u := newUnpacking(t, content)
			if err := os.WriteFile(u.to+"/../y", []byte("outside"), 0o600); err != nil {
				t.Fatal(err)
			}
			code, said := u.run(content)
			if code != 1 || !strings.Contains(said, tt.says) || strings.Count(said, "\n") != 1 {
				t.Errorf("status %d: %s", code, said)
			}
			if left := treeOf(t, u.to); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if outside, err := os.ReadFile(u.to + "/../y"); err != nil || string(outside) != "outside" {
				t.Errorf("outside: %q %v", outside, err)
			}
		})
	}
}

// A stream whose content exceeds its announced size ends at the limit and not with a full disk.
func TestUnpackBomb(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(compressed)
	zeros := make([]byte, 1<<20)
	for i := range toolapi.MaxUnpackedBytes>>20 + 1 {
		if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: fmt.Sprint(i), Mode: 0o644, Size: int64(len(zeros))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	u := newUnpacking(t, out.Bytes())
	if code, said := u.run(out.Bytes()); code != 1 || !strings.Contains(said, "more than 400 MiB") {
		t.Errorf("status %d: %s", code, said)
	}
	if left := treeOf(t, u.to); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

func TestUnpackModes(t *testing.T) {
	t.Parallel()
	program := file("program", "x")
	program.Mode, program.Uid, program.Uname = 0o4711, 0, "root"
	secret := file("a/b/file", "x")
	secret.Mode = 0
	content := archiveOf(t, program, secret, link("a/link", "b/file"), link("nowhere", "a/none"))
	u := newUnpacking(t, content)
	if code, said := u.run(content); code != 0 {
		t.Fatalf("status %d: %s", code, said)
	}
	want := map[string]string{
		"program": "-rwxr-xr-x x", "a": "drwxr-xr-x", "a/b": "drwxr-xr-x", "a/b/file": "-rw-r--r-- x", "a/link": "-> b/file", "nowhere": "-> a/none",
	}
	if diff := cmp.Diff(want, treeOf(t, u.to)); diff != "" {
		t.Errorf("(-want +unpacked):\n%s", diff)
	}
}

// Parts that are not the archive write nothing, and remove no existing file.
func TestUnpackWrongParts(t *testing.T) {
	t.Parallel()
	good := archiveOf(t, file("x", "1"))
	tests := map[string]struct {
		change func(u unpacking) error
		says   string
	}{
		"a part is missing": {func(u unpacking) error { return os.Remove(u.from + "/0000") }, "where the part 0000 belongs"},
		"none": {func(u unpacking) error {
			return errors.Join(os.Remove(u.from+"/0000"), os.Remove(u.from+"/0001"))
		}, "has 0 parts"},
		"another name": {func(u unpacking) error { return os.WriteFile(u.from+"/2", nil, 0o444) }, "where the part 0002 belongs"},
		"more":         {func(u unpacking) error { return os.WriteFile(u.from+"/0002", []byte("x"), 0o444) }, "not the archive that was installed"},
		"changed":      {func(u unpacking) error { return os.WriteFile(u.from+"/0000", []byte("x"), 0o600) }, "not the archive that was installed"},
		"a folder":     {func(u unpacking) error { return os.Mkdir(u.from+"/0002", 0o755) }, "is a directory"},
		"too much": {func(u unpacking) error {
			return os.WriteFile(u.from+"/0002", make([]byte, toolapi.MaxPackedBytes), 0o444)
		}, "more than 20 MiB"},
		"what the kubelet has beside them": {func(u unpacking) error { return os.Mkdir(u.from+"/..data", 0o755) }, "done"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUnpacking(t, good[:5], good[5:])
			if err := os.Chmod(u.from+"/0000", 0o600); err != nil {
				t.Fatal(err)
			}
			if err := tt.change(u); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(u.to+"/there", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			code, said := u.run(good)
			if tt.says == "done" {
				if code != 0 {
					t.Errorf("status %d: %s", code, said)
				}
				return
			}
			if code != 1 || !strings.Contains(said, tt.says) {
				t.Errorf("status %d: %s", code, said)
			}
			if _, err := os.Stat(u.to + "/there"); err != nil {
				t.Error(err)
			}
		})
	}
	var said bytes.Buffer
	if code := Unpack([]string{"--sha256", "ab", "x", "y"}, &said); code != 2 || !strings.HasPrefix(said.String(), "usage: ") {
		t.Errorf("status %d: %s", code, &said)
	}
	u := newUnpacking(t, []byte("no gzip"))
	if code, said := u.run([]byte("no gzip")); code != 1 || !strings.Contains(said, "cannot be read") {
		t.Errorf("status %d: %s", code, said)
	}
}
