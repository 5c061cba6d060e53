// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// contents are the contents of a workspace by their paths; an entry that is not a file has its kind instead.
type contents map[string]string

// tree reads everything below dir, except for the server's own folder.
func tree(t testing.TB, dir string) contents {
	t.Helper()
	found := contents{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		local, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case local == workspace.OwnDir:
			return fs.SkipDir
		case e.IsDir():
			if local != "." {
				found[local+"/"] = ""
			}
		case e.Type() == fs.ModeSymlink:
			target, err := os.Readlink(path)
			found[local] = "-> " + target
			return err
		case !e.Type().IsRegular():
			found[local] = e.Type().String()
		default:
			content, err := os.ReadFile(path)
			found[local] = string(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// with is a copy with some files other than they are; those that are "-" are not there.
func (f contents) with(changes contents) contents {
	all := maps.Clone(f)
	for name, content := range changes {
		if content == "-" {
			delete(all, name)
		} else {
			all[name] = content
		}
	}
	return all
}

func (s *sandbox) writeAll(all contents) {
	s.t.Helper()
	for name, content := range all {
		if !strings.HasSuffix(name, "/") {
			s.write(name, content)
		}
	}
}

// clear removes everything from the workspace.
func (s *sandbox) clear() {
	s.t.Helper()
	entries, err := os.ReadDir(s.workspace)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(s.workspace, e.Name())); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *sandbox) wantNoTemporaries(t *testing.T) {
	t.Helper()
	if left, err := filepath.Glob(s.workspace + "/" + workspace.TempDir + "/*"); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}
