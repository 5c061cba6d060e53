// SPDX-License-Identifier: Apache-2.0

//go:build linux

package workspace_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
	"motorcortex.dev/motorcortex/test/traps"
)

func open(t *testing.T) *workspace.Workspace {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "workspace")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func TestPlace(t *testing.T) {
	t.Parallel()
	w := open(t)
	outside := traps.Fill(t, w.Dir)
	if err := os.Chmod(w.Dir+"/dir/file", 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		"x": nil, "a/b/c": nil, "dir/file": nil, "abs": nil, "loop": nil, "good/x": workspace.ErrLinked, "good/sub/x": workspace.ErrLinked,
		"up/x": workspace.ErrLinked, "rootlink/x": workspace.ErrLinked, "dangling/x": workspace.ErrLinked, "dir": syscall.EISDIR,
		"dir/file/x": syscall.ENOTDIR, "pipe": workspace.ErrNotRegular, "socket": workspace.ErrNotRegular, strings.Repeat("日", 100): syscall.ENAMETOOLONG,
	} {
		err := w.Place(name, strings.NewReader("placed"), 0o111)
		if !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if err != nil {
			continue
		}
		if content, err := os.ReadFile(w.Dir + "/" + name); err != nil || string(content) != "placed" {
			t.Errorf("%s has %q (%v)", name, content, err)
		}
	}
	if info, err := os.Lstat(w.Dir + "/dir/file"); err != nil || info.Mode() != 0o711 {
		t.Errorf("an existing file: %v, %v", info, err)
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != traps.Secret {
		t.Errorf("outside is %q (%v)", content, err)
	}
	if left, err := os.ReadDir(w.Dir + "/" + workspace.TempDir); err != nil || len(left) != 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// swapping makes a link in the place of a folder when the content is read.
type swapping struct {
	content io.Reader
	dir     string
	err     error
}

// Read implements io.Reader.
func (s *swapping) Read(p []byte) (int, error) {
	if _, err := os.Lstat(s.dir + "/moved"); err != nil {
		s.err = errors.Join(os.Rename(s.dir+"/answers", s.dir+"/moved"), os.Symlink("closed", s.dir+"/answers"))
	}
	return s.content.Read(p)
}

// A program makes the link after the folder was looked at: the file is in the folder that was looked at.
func TestPlaceWhileAProgramMakesALink(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, dir := range []string{"closed", "answers"} {
		if err := os.Mkdir(w.Dir+"/"+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	content := &swapping{content: strings.NewReader("x"), dir: w.Dir}
	if err := errors.Join(w.Place("answers/x", content, 0), content.err); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(w.Dir + "/closed"); err != nil || len(entries) != 0 {
		t.Errorf("behind the link: %v, %v", entries, err)
	}
	if _, err := os.Lstat(w.Dir + "/moved/x"); err != nil {
		t.Error(err)
	}
}

func TestUnlinked(t *testing.T) {
	t.Parallel()
	w := open(t)
	traps.Fill(t, w.Dir)
	for name, want := range map[string]bool{"dir/file": true, "dir": true, "good": false, "good/file": false, "none": false, "up/x": false} {
		if got := w.Unlinked(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
