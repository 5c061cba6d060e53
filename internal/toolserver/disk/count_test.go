// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const megabyte = 1 << 20

func write(t testing.TB, path string, size int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCount(t *testing.T) {
	for name, test := range map[string]struct {
		make   func(t *testing.T, dir string)
		bytes  int64 // of files; folders take a little more
		inodes int64
	}{
		"nothing":  {func(*testing.T, string) {}, 0, 0},
		"one file": {func(t *testing.T, dir string) { write(t, dir+"/a", megabyte) }, megabyte, 1},
		"empty files": {func(t *testing.T, dir string) {
			for i := range 300 {
				write(t, dir+"/d/"+strconv.Itoa(i), 0)
			}
		}, 0, 301},
		"a hole": {func(t *testing.T, dir string) {
			write(t, dir+"/a", 0)
			must(t, os.Truncate(dir+"/a", 1<<30))
		}, 0, 1},
		"two names": {func(t *testing.T, dir string) {
			write(t, dir+"/a", megabyte)
			must(t, os.Link(dir+"/a", dir+"/b"))
		}, megabyte, 2},
		"a link out": {func(t *testing.T, dir string) { must(t, os.Symlink("/usr", dir+"/usr")) }, 0, 1},
		"deeper than a path may be long": {func(t *testing.T, dir string) {
			fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
			must(t, err)
			name := strings.Repeat("n", 200)
			for range 100 {
				must(t, unix.Mkdirat(fd, name, 0o755))
				next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
				must(t, err)
				must(t, unix.Close(fd))
				fd = next
			}
			file, err := unix.Openat(fd, "a", unix.O_CREAT|unix.O_WRONLY, 0o600)
			must(t, err)
			_, err = unix.Write(file, make([]byte, megabyte))
			must(t, err)
			must(t, unix.Close(file))
			must(t, unix.Close(fd))
		}, megabyte, 101},
		"several branches": {func(t *testing.T, dir string) {
			for _, path := range []string{"/a/b/c", "/a/d/e", "/f/g/h", "/i"} {
				write(t, dir+path, megabyte)
			}
		}, 4 * megabyte, 9},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			test.make(t, dir)
			got, err := Count(dir, 1000)
			if err != nil || got.Inodes != test.inodes || got.Bytes < test.bytes || got.Bytes > test.bytes+megabyte {
				t.Errorf("%+v %v, want %d bytes and %d inodes", got, err, test.bytes, test.inodes)
			}
		})
	}
}

func TestCountEnds(t *testing.T) {
	dir := t.TempDir()
	for i := range 500 {
		write(t, dir+"/d/"+strconv.Itoa(i%50)+"/"+strconv.Itoa(i), 0)
	}
	got, err := Count(dir, 100)
	if err != nil || got.Inodes <= 100 || got.Inodes > 200 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestCountOfNothing(t *testing.T) {
	if _, err := Count(t.TempDir()+"/gone", 1); err == nil {
		t.Error("a folder that is not there was counted")
	}
}

func BenchmarkCount(b *testing.B) {
	dir := b.TempDir()
	for i := range 20000 {
		write(b, dir+"/"+strconv.Itoa(i%200)+"/"+strconv.Itoa(i), 0)
	}
	for b.Loop() {
		if _, err := Count(dir, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}

func TestCountIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/a/b/c", 0)
	asked := 0
	_, err := count(dir, 100, func() bool { asked++; return asked == 3 })
	if !errors.Is(err, errHurry) || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}
