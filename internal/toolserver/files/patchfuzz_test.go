// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
	"motorcortex.dev/motorcortex/test/traps"
)

// FuzzPatch: whatever the patch, nothing outside of the workspace changes, and a patch that is refused as a whole changes
// nothing.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{
		"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+1\n",
		"--- a/f\n+++ b/f\n@@ -2,2 +2,3 @@\n two\n+x\n three\n@@ -1 +1 @@\n-one\n+1\n",
		"diff --git a/f b/g\nrename from f\nrename to g\n--- a/f\n+++ b/g\n@@ -1 +1 @@\n-one\n+1\n",
		"diff --git a/dir/file b/x/y\ncopy from dir/file\ncopy to x/y\n",
		"diff --git a/f b/f\ndeleted file mode 100644\n--- a/f\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-one\n-two\n-three\n",
		"diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n",
		"--- /dev/null\n+++ b/../escaped\n@@ -0,0 +1 @@\n+x\n", "--- /dev/null\n+++ b/up/escaped\n@@ -0,0 +1 @@\n+x\n",
		"--- /dev/null\n+++ b/rel\n@@ -0,0 +1 @@\n+x\n", "--- a/abs\n+++ b/abs\n@@ -1 +1 @@\n-secret\n+x\n", "--- /dev/null\n+++ b/newout\n@@ -0,0 +1 @@\n+x\n",
		"--- /dev/null\n+++ b/f/x\n@@ -0,0 +1 @@\n+x\n", "--- /dev/null\n+++ b/q\n@@ -0,0 +1 @@\n+x\n--- /dev/null\n+++ b/q/x\n@@ -0,0 +1 @@\n+x\n",
		"--- \"a/\\146\"\n+++ \"b/f\"\n@@ -1 +1 @@\n-one\n+1\n", "@@ -1 +1 @@\n-one\n+1\n", "--- a/f\r\n+++ b/f\r\n@@ -1 +1 @@\r\n-one\r\n+1\r\n",
		"--- a/crlf\n+++ b/crlf\n@@ -1,2 +1,2 @@\n-a\n+A\n b\n", "--- a/f\n+++ b/f\n@@ -1,0 +2,0 @@\n", "diff --git \"a/f\" f\nnew file mode 100644\n",
		"--- a/f\t1970-01-01 00:00:00 +0000\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", "GIT binary patch\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n\n-three\n+3\n",
		"--- a/f\n+++ b/f\n@@ -1,30 +1,9 @@\n-one\n+1\n two\n--- a/dir/file\n+++ b/dir/file\n@@ two @@\n-outside\n+x\n", "--- a/f\n+++ b/f\n@@\n-one\n+1\n",
		"*** Begin Patch\n*** Update File: f\n*** Move to: x/y\n@@ one\n-two\n+2\n*** End of File\n*** Delete File: crlf\n*** Add File: dir/file\n+x\n\n+y\n*** End Patch\n",
		"*** Begin Patch\n*** Add File: ../escaped\n+x\n*** Add File: up/escaped\n+x\n*** Add File: rel\n+x\n*** Add File: newout\n+x\n*** End Patch\n",
		"*** Update File: abs\n@@\n-secret\n+x\n*** Delete File: abs\n*** Delete File: up/secret\n", "*** Update File: f\n*** Move to: ../f\n-one\n+x\n", "*** Delete File: dir\n*** Add File: f/x\n+y\n",
	} {
		f.Add(seed)
	}
	w, outside := openTrapped(f)
	base := filepath.Dir(outside)
	fresh := contents{"f": "one\ntwo\nthree\n", "crlf": "a\r\nb\r\n", "dir/file": "inside\n"}
	f.Fuzz(func(t *testing.T, patch string) {
		for name, content := range fresh {
			if err := w.Replace(name, strings.NewReader(content)); err != nil {
				t.Fatal(err)
			}
		}
		before := tree(t, base)
		args, err := json.Marshal(toolapi.PatchArgs{Patch: patch})
		if err != nil {
			t.Fatal(err)
		}
		r := fileTools{w}.patchTool(context.Background(), tool.Job{Args: args, Limit: toolapi.MaxOutputBytes})
		after := tree(t, base)
		inPart := strings.HasPrefix(r.Output, "A part of the patch is applied:\n")
		if !r.OK && (r.ErrorCode == "" || r.ErrorCode == toolapi.CodeInternal || !inPart && !maps.Equal(before, after)) {
			t.Fatalf("%q: %+v\n%q\n%q", patch, r, before, after)
		}
		for _, all := range []contents{before, after} {
			maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, "workspace/") })
		}
		if !maps.Equal(before, after) {
			t.Fatalf("%q: something outside of the workspace was changed: %q, %q", patch, before, after)
		}
		if left, err := os.ReadDir(filepath.Join(base, "workspace", workspace.TempDir)); err != nil || len(left) > 0 {
			t.Fatalf("%q: temporary files are left: %v, %v", patch, left, err)
		}
		clearMade(t, w.Dir)
	})
}

// clearMade removes the files that patches made in the folder.
func clearMade(t *testing.T, dir string) {
	t.Helper()
	keep := map[string]bool{"dir": true, "f": true, "crlf": true, workspace.OwnDir: true}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !keep[e.Name()] && (e.Type().IsRegular() || e.IsDir()) {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A program swaps a folder for a link that leads out, over and over, while files are changed by a path through it.
func TestSwappedLinkDoesNotLeadChangesOut(t *testing.T) {
	s := newSandbox(t)
	s.write("real/file", "inside\n")
	outside, stop := s.swapLinks()
	w := s.opened
	do := func(run func(context.Context, tool.Job) toolapi.Result, args any) {
		t.Helper()
		encoded, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		if r := run(t.Context(), tool.Job{Args: encoded, Limit: toolapi.MaxOutputBytes}); strings.Contains(r.Output, traps.Secret) || r.ErrorCode == toolapi.CodeInternal {
			t.Fatalf("%+v", r)
		}
	}
	for range 100 {
		do(fileTools{w}.editTool, toolapi.EditArgs{Path: "d/file", OldText: "s", NewText: "S"})
		do(fileTools{w}.editTool, toolapi.EditArgs{Path: "d/file", OldText: "S", NewText: "s"})
		do(fileTools{w}.patchTool, toolapi.PatchArgs{Patch: "--- a/d/file\n+++ b/d/file\n@@ -1 +1 @@\n-inside\n+changed\n"})
		do(fileTools{w}.patchTool, toolapi.PatchArgs{Patch: "--- /dev/null\n+++ b/d/new\n@@ -0,0 +1 @@\n+new\n--- a/d/file\n+++ /dev/null\n@@ -1 +0,0 @@\n-changed\n"})
		do(fileTools{w}.patchTool, toolapi.PatchArgs{Patch: "diff --git a/d/new b/d/file\nrename from d/new\nrename to d/file\n--- a/d/new\n+++ b/d/file\n@@ -1 +1 @@\n-new\n+inside\n"})
		do(fileTools{w}.globTool, toolapi.GlobArgs{Pattern: "d/*"})
	}
	stop()
	if got := tree(t, outside); len(got) != 1 || got["file"] != traps.Secret {
		t.Errorf("outside there is %q", got)
	}
}
