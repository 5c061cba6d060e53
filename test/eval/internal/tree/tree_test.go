// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestATreeSurvivesAFolderAndAnArchive(t *testing.T) {
	t.Parallel()
	want := Tree{"a.txt": []byte("a"), "sub/b.bin": {0, 255}, "empty": {}}
	dir := t.TempDir()
	if err := want.Write(dir); err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{".motor/out", "sub/__pycache__/x.pyc", ".git/HEAD"} {
		if err := (Tree{left: []byte("x")}).Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("read: %v %s", err, cmp.Diff(want, got))
	}
	var archive bytes.Buffer
	if err := want.Tar(&archive); err != nil {
		t.Fatal(err)
	}
	if got, err = FromTar(&archive); err != nil || !cmp.Equal(got, want) {
		t.Errorf("archive: %v %s", err, cmp.Diff(want, got))
	}
}

func TestAFolderThatIsMissingIsEmpty(t *testing.T) {
	t.Parallel()
	if got, err := Read(filepath.Join(t.TempDir(), "none")); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
}

func TestPathsThatLeadOutAreRefused(t *testing.T) {
	t.Parallel()
	if err := (Tree{"../out": nil}).Write(filepath.Join(t.TempDir(), "in")); err == nil {
		t.Error("a file was written outside of its folder")
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := errors.Join(w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "../../x"}), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := FromTar(&archive); err == nil {
		t.Error("a file outside of the archive was taken")
	}
}

func TestATreeHasBounds(t *testing.T) {
	t.Parallel()
	full := Tree{}
	for i := range MaxFiles {
		full[string(rune('a'+i))] = nil
	}
	if _, err := full.add("more", bytes.NewReader(nil), 0); !errors.Is(err, ErrTooLarge) {
		t.Errorf("files: %v", err)
	}
	if _, err := (Tree{}).add("more", bytes.NewReader([]byte("xy")), MaxBytes-1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("bytes: %v", err)
	}
}

func TestOverlays(t *testing.T) {
	t.Parallel()
	base := Tree{"a": []byte("1"), "in/b": []byte("2"), "in/c": nil}
	got := base.With(Tree{"a": []byte("3")}).Without("in/", "x*")
	if !cmp.Equal(got, Tree{"a": []byte("3")}) || string(base["a"]) != "1" || len(base) != 3 {
		t.Errorf("%v of %v", got, base)
	}
}
