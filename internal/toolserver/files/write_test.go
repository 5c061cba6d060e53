// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"os"
	"path/filepath"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

func TestWrite(t *testing.T) {
	s := newSandbox(t)
	s.write("script.sh", "#!/bin/bash\n")
	if err := os.Chmod(s.workspace+"/script.sh", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("script.sh", s.workspace+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args   toolapi.WriteArgs
		output string
		file   string
		want   string
	}{
		{toolapi.WriteArgs{Path: "a/b/c.txt", Content: "one\n"}, "wrote 4 bytes to a/b/c.txt", "a/b/c.txt", "one\n"},
		{toolapi.WriteArgs{Path: "a/b/c.txt", Content: "two\n", Append: true}, "appended 4 bytes to a/b/c.txt", "a/b/c.txt", "one\ntwo\n"},
		{toolapi.WriteArgs{Path: s.workspace + "/a/b/c.txt", Content: ""}, "wrote 0 bytes to a/b/c.txt", "a/b/c.txt", ""},
		{toolapi.WriteArgs{Path: "x/new", Content: "n", Append: true}, "appended 1 bytes to x/new", "x/new", "n"},
		{toolapi.WriteArgs{Path: "script.sh", Content: "#!/bin/bash\necho hi\n"}, "wrote 20 bytes to script.sh", "script.sh", "#!/bin/bash\necho hi\n"},
		{toolapi.WriteArgs{Path: "link", Content: "own"}, "wrote 3 bytes to link", "link", "own"},
		{toolapi.WriteArgs{Path: "a\nb", Content: "odd"}, `wrote 3 bytes to a\nb`, "a\nb", "odd"},
	} {
		r := s.run(toolapi.ToolWrite, step.args)
		if !r.OK || r.Output != step.output || s.content(step.file) != step.want {
			t.Errorf("%+v: %+v and %q", step.args, r, s.content(step.file))
		}
	}
	if info, err := os.Stat(s.workspace + "/script.sh"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the script lost its permissions: %v %v", info.Mode(), err)
	}
	r := s.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: "folder/", Content: "x"})
	if r.ErrorCode != toolapi.CodeIsDirectory {
		t.Errorf("a path with a slash at its end: %+v", r)
	}
	if left, err := filepath.Glob(s.workspace + "/" + workspace.TempDir + "/*"); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}
