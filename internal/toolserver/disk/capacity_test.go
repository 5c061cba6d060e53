// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestVolumesFitTheirFilesystem(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, tc := range map[string]struct {
		volume, total, want Usage
	}{
		"a folder of a large disk":      {Usage{1024 * mib, 262144}, Usage{100 * 1024 * mib, 6 << 20}, Usage{1024 * mib, 262144}},
		"a volume of its own":           {Usage{1024 * mib, 262144}, Usage{960 * mib, 65536}, Usage{930 * mib, 63488}},
		"exactly as large":              {Usage{1024 * mib, 65536}, Usage{1024 * mib, 65536}, Usage{992 * mib, 63488}},
		"a little larger":               {Usage{1024 * mib, 65536}, Usage{1100 * mib, 65536}, Usage{1024 * mib, 63488}},
		"no inodes are told":            {Usage{1024 * mib, 65536}, Usage{960 * mib, 0}, Usage{930 * mib, 65536}},
		"nothing is told":               {Usage{1024 * mib, 65536}, Usage{}, Usage{1024 * mib, 65536}},
		"the filesystem grew meanwhile": {Usage{1024 * mib, 65536}, Usage{2048 * mib, 131072}, Usage{1024 * mib, 65536}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Volume{Bytes: tc.volume.Bytes, Inodes: tc.volume.Inodes}.within(room{tc.total.Bytes, tc.total.Inodes})
			if (Usage{got.Bytes, got.Inodes}) != tc.want {
				t.Errorf("got %d bytes and %d inodes, want %+v", got.Bytes, got.Inodes, tc.want)
			}
		})
	}
}

// A volume of its own, which the kernel bounds, is found full before a count of it by its size would: its filesystem ends first.
func TestAVolumeOfItsOwnIsFoundFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const size = 16 << 20
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); errors.Is(err, unix.EPERM) {
		t.Skip("only root mounts a filesystem")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	full := make(chan Full, 1)
	w := New(slog.New(slog.DiscardHandler), Hooks{
		Pause: func(look func(bool) bool) { look(true) },
		Full:  func(f Full) { full <- f },
		Spare: func(int) bool { return true },
		End:   func(int, Reason) {},
	}, Volume{Name: "workspace", Dir: dir, Bytes: size, Inodes: 1000})
	defer w.Close()
	leave := w.Enter()
	if err := os.WriteFile(filepath.Join(dir, "fill"), make([]byte, 2*size), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the volume took more than its size: %v", err)
	}
	leave()
	select {
	case f := <-full:
		if f.Used.Bytes > size || f.Used.Bytes < size*9/10 || f.Volume.Bytes >= size {
			t.Errorf("found %+v", f)
		}
	default:
		t.Error("a volume without room is not found full")
	}
}
