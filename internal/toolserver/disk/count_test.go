// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// One folder may have as many entries as its filesystem: its count ends in the middle of it.
func TestCountEndsWithinAFolder(t *testing.T) {
	dir := t.TempDir()
	for i := range 3000 {
		write(t, dir+"/"+strconv.Itoa(i), 0)
	}
	got, err := Count(dir, 100)
	if err != nil || got.Inodes <= 100 || got.Inodes > 2000 {
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
	_, err := count(dir, 100, func() bool { asked++; return asked == 3 }, true)
	if !errors.Is(err, errHurry) || asked != 3 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// asOther runs the test again in a process of a user who is not root, for root may read every folder, and reports whether it did.
func asOther(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return false
	}
	const nobody = 61235
	dir := t.TempDir()
	must(t, os.Chown(dir, nobody, nobody))
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
	return true
}

// modes returns the modes of the folders below dir, by their path. It opens closed ones in an order in which it can.
func modes(t *testing.T, dir string, paths ...string) map[string]os.FileMode {
	t.Helper()
	got := make(map[string]os.FileMode)
	for _, path := range paths {
		info, err := os.Stat(dir + path)
		must(t, err)
		got[path] = info.Mode().Perm()
		must(t, os.Chmod(dir+path, 0o700))
	}
	return got
}

func TestCountOpensClosedFolders(t *testing.T) {
	if asOther(t) {
		return
	}
	// Each is below the one before it.
	paths := []string{"/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/b/c/d/e"}
	want := map[string]os.FileMode{"/a": 0, "/a/b": 0o300, "/a/b/c": 0o755, "/a/b/c/d": 0o400, "/a/b/c/d/e": 0o077}
	build := func(t *testing.T) string {
		dir := t.TempDir()
		write(t, dir+"/a/b/c/d/e/file", megabyte)
		write(t, dir+"/a/b/c/f/file", megabyte)
		write(t, dir+"/a/g/file", megabyte)
		for _, path := range slices.Backward(paths) {
			must(t, os.Chmod(dir+path, want[path]))
		}
		return dir
	}
	asked := 0
	for name, test := range map[string]struct {
		most  int64
		hurry func() bool
		opens bool
		err   error
	}{
		"to its end":           {1000, nil, true, nil},
		"over":                 {4, nil, true, nil},
		"in a hurry":           {1000, func() bool { asked++; return asked == 10 }, true, errHurry},
		"while programs write": {1000, nil, false, errClosed},
	} {
		t.Run(name, func(t *testing.T) {
			dir := build(t)
			used, err := count(dir, test.most, test.hurry, test.opens)
			if !errors.Is(err, test.err) || name == "to its end" && (used.Inodes != 10 || used.Bytes < 3*megabyte) {
				t.Errorf("%+v %v", used, err)
			}
			if got := modes(t, dir, paths...); !maps.Equal(got, want) {
				t.Errorf("the folders have the modes %v, and had %v", got, want)
			}
		})
	}
	for most := range int64(12) { // It ends in each folder once.
		dir := build(t)
		if _, err := Count(dir, most); err != nil {
			t.Error(err)
		}
		if got := modes(t, dir, paths...); !maps.Equal(got, want) {
			t.Errorf("after %d inodes the folders have the modes %v, and had %v", most, got, want)
		}
	}
}

// The volume itself may be closed where it belongs to the programs' user.
func TestCountOfAClosedVolume(t *testing.T) {
	if asOther(t) {
		return
	}
	dir := t.TempDir()
	write(t, dir+"/file", megabyte)
	must(t, os.Chmod(dir, 0))
	used, err := Count(dir, 10)
	if err != nil || used.Inodes != 1 {
		t.Errorf("%+v %v", used, err)
	}
	if got := modes(t, dir, ""); got[""] != 0 {
		t.Errorf("it has the mode %v", got[""])
	}
}
