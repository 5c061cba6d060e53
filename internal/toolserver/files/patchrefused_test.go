// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestPatchIsRefused(t *testing.T) {
	const head = "--- a/a.txt\n+++ b/a.txt\n"
	// The second part of a patch of which the first one fits.
	good := "--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1 @@\n-old\n+new\n"
	tests := map[string]struct{ patch, code, output string }{
		"empty":                 {"", toolapi.CodeInvalidArguments, "It names no file. A diff has the two lines"},
		"V4A, no file":          {"*** Begin Patch\n*** End Patch\n", toolapi.CodeInvalidArguments, `"*** Update File: PATH"`},
		"no header":             {"@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "Line 1: a hunk comes before the first file header"},
		"half a header":         {good + "--- a/a.txt\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "Line 6: a file header is the two lines"},
		"other half":            {good + "\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "Line 7: a file header is the two lines"},
		"no change":             {head + "@@ -1 +1 @@\n one\n", toolapi.CodeInvalidArguments, "Line 3: the hunk has no line that begins with \"+\" or \"-\""},
		"no space":              {head + "@@ -1,3 +1,3 @@\n one\ntwo\n-three\n+3\n", toolapi.CodeInvalidArguments, "Line 5: \"two\" is in a hunk, and begins with none of"},
		"no name":               {"*** Update File:\n@@\n-one\n+1\n", toolapi.CodeInvalidArguments, "Line 1: the name of the file is missing"},
		"no new name":           {"*** Update File: a.txt\n*** Move to:\n@@\n-one\n+1\n", toolapi.CodeInvalidArguments, "Line 2: the new name of the file is missing"},
		"V4A, without hunks":    {"*** Begin Patch\n*** Update File: a.txt\n*** End Patch\n", toolapi.CodeInvalidArguments, "a.txt: it has no hunk"},
		"V4A, with words":       {"*** Begin Patch\n*** Add File: n\n+a\nb\n*** End Patch\n", toolapi.CodeInvalidArguments, "Line 4: \"b\" is not of any hunk. Lines of a hunk begin with \" \", \"+\" or \"-\", and those of a new file with \"+\"."},
		"deleted with lines":    {"*** Begin Patch\n*** Delete File: a.txt\n-one\n*** End Patch\n", toolapi.CodeInvalidArguments, "Line 3: \"-one\" is not of any hunk"},
		"V4A, onto a file":      {"*** Begin Patch\n*** Update File: end\n*** Move to: a.txt\n*** End Patch\n", toolapi.CodeNoMatch, "a.txt, which there is already"},
		"V4A, not there":        {"*** Begin Patch\n*** Update File: none\n@@\n+one\n*** End Patch\n", toolapi.CodeNotFound, "There is no file none to change"},
		"V4A, a folder":         {"*** Begin Patch\n*** Delete File: src\n*** End Patch\n", toolapi.CodeIsDirectory, "it is a folder"},
		"V4A, leads out":        {"*** Begin Patch\n*** Update File: end\n*** Move to: ../end\n*** End Patch\n", toolapi.CodeOutsideWorkspace, "outside of the workspace"},
		"two places":            {"--- a/same\n+++ b/same\n@@\n-x\n+X\n y\n", toolapi.CodeNoMatch, "same: hunk 1 (line 3 of the patch, @@) does not fit: it would fit at the lines 1, 4, 7."},
		"no hunk":               {head, toolapi.CodeInvalidArguments, "a.txt: it has no hunk"},
		"header alone":          {"diff --git a/a.txt b/a.txt\n", toolapi.CodeInvalidArguments, "a.txt: it has no hunk"},
		"a merge":               {"diff --cc a.txt\n--- a/a.txt\n+++ b/a.txt\n@@@ -1,1 -1,1 +1,1 @@@\n", toolapi.CodeInvalidArguments, "combined diff"},
		"binary":                {"diff --git a/x.png b/x.png\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKc$_\n\n", toolapi.CodeInvalidArguments, "Line 3: binary files cannot be patched"},
		"binary, named":         {"diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n", toolapi.CodeInvalidArguments, "binary files cannot be patched"},
		"permissions":           {"diff --git a/end b/end\nold mode 100644\nnew mode 100755\n", toolapi.CodeInvalidArguments, "the permissions of a file cannot be patched"},
		"a link":                {"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", toolapi.CodeInvalidArguments, "symbolic links cannot be patched"},
		"a submodule":           {"diff --git a/l b/l\nnew file mode 160000\n", toolapi.CodeInvalidArguments, "the mode 160000 is not that of a file"},
		"two names":             {"--- a/a.txt\n+++ b/z.txt\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "the names a.txt and z.txt differ"},
		"two names, git":        {"diff --git a/a.txt b/z.txt\n--- a/a.txt\n+++ b/z.txt\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "The names a.txt and z.txt differ"},
		"names unclear":         {"diff --git a/a b c d\nnew file mode 100644\n", toolapi.CodeInvalidArguments, "cannot be told apart"},
		"half a rename":         {"diff --git a/end b/e\nrename from end\n", toolapi.CodeInvalidArguments, "A rename or copy is the two lines"},
		"neither":               {"--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n", toolapi.CodeInvalidArguments, "not both at once"},
		"NUL":                   {head + "@@ -1 +1 @@\n-one\n+\x00\n", toolapi.CodeInvalidArguments, "NUL"},
		"a name with NUL":       {"--- \"a/a\\000b\"\n+++ \"b/a\\000b\"\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "NUL"},
		"bad quotes":            {"--- \"a/a\\x\n+++ \"b/a\"\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "a name in quotes cannot be read"},
		"not there":             {"--- a/none\n+++ b/none\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeNotFound, "There is no file none to change"},
		"there already":         {"--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+a\n", toolapi.CodeNoMatch, "it makes the file a.txt, which there is already"},
		"rename onto":           {"diff --git a/end b/a.txt\nrename from end\nrename to a.txt\n", toolapi.CodeNoMatch, "a.txt, which there is already"},
		"new, untold, is there": {head + "@@ -0,0 +1 @@\n+a\n", toolapi.CodeNoMatch, "hunk 1 (line 3 of the patch, @@ -0,0 +1 @@) does not fit: it makes a new file, and the file has content already"},
		"not all removed":       {"--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n", toolapi.CodeNoMatch, "a.txt: it removes the file, but not all of the lines"},
		"removed without lines": {"diff --git a/end b/end\ndeleted file mode 100644\n", toolapi.CodeNoMatch, "not all of the lines"},
		"other text": {
			head + "@@ -1,3 +1,3 @@\n one\n-zwei\n+2\n three\n", toolapi.CodeNoMatch,
			"The patch does not fit, and nothing was changed. a.txt: hunk 1 (line 3 of the patch, @@ -1,3 +1,3 @@) does not fit: it has \"zwei\" where line 2 of the file is \"two\". " +
				"The file has there:\n     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n     5\tfive\n",
		},
		"white space": {
			"--- a/src/main.go\n+++ b/src/main.go\n@@ -10,3 +10,3 @@\n func twice(n int) int {\n-    return n + n\n+    return 2 * n\n }\n", toolapi.CodeNoMatch,
			"it would fit at line 10 but for white space. The file has there:\n    10\tfunc twice(n int) int {\n    11\t\treturn n + n\n    12\t}\n",
		},
		"behind the end":   {head + "@@ -90,2 +90,2 @@\n seven\n-eight\n+8\n", toolapi.CodeNoMatch, `it has "eight" where the file is at its end, after 7 lines.`},
		"added too far":    {head + "@@ -90,0 +91 @@\n+x\n", toolapi.CodeNoMatch, "the file has only 7 lines"},
		"ambiguous":        {"--- a/same\n+++ b/same\n@@ -2,2 +2,2 @@\n-x\n+X\n y\n", toolapi.CodeNoMatch, "it would fit at the lines 1, 4, 7, and not at its own"},
		"the same twice":   {head + "@@ -1 +1 @@\n-one\n+1\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeNoMatch, "another hunk changes the same lines at line 1"},
		"inside another":   {head + "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -2,0 +3 @@\n+x\n", toolapi.CodeNoMatch, "another hunk changes the same lines"},
		"no newline there": {"--- a/end\n+++ b/end\n@@ -1,2 +1,2 @@\n first\n-last\n+final\n", toolapi.CodeNoMatch, "line 2 of the file is its last one and one of the two has no newline there"},
		"not the end":      {head + "@@ -1 +1 @@\n-one\n+1\n\\ No newline at end of file\n", toolapi.CodeNoMatch, "or the file does not end where the hunk says"},
		"added to no line": {"--- a/end\n+++ b/end\n@@ -2,0 +3 @@\n+x\n", toolapi.CodeNoMatch, "the last line of the file has no newline"},
		"leads out":        {"--- a/../secret\n+++ b/../secret\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeOutsideWorkspace, "outside of the workspace"},
		"makes outside":    {"--- /dev/null\n+++ b/../../new\n@@ -0,0 +1 @@\n+a\n", toolapi.CodeOutsideWorkspace, "outside of the workspace"},
		"renames out":      {"diff --git a/end b/x\nrename from end\nrename to ../end\n", toolapi.CodeOutsideWorkspace, "outside of the workspace"},
		"renames in":       {"diff --git a/x b/x\nrename from /etc/passwd\nrename to passwd\n", toolapi.CodeOutsideWorkspace, "outside of the workspace"},
		"a folder":         {"--- a/src\n+++ b/src\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeIsDirectory, "it is a folder"},
		"below a file":     {"--- /dev/null\n+++ b/a.txt/x\n@@ -0,0 +1 @@\n+a\n", toolapi.CodeNotDirectory, "not a folder"},
		"not text":         {"--- a/latin\n+++ b/latin\n@@ -1 +1 @@\n-caf\n+x\n", toolapi.CodeNotText, "latin is not UTF-8 text"},
		"too many files":   {manyFiles(maxPatchedFiles + 1), toolapi.CodeTooLarge, "A patch may change 256 files"},
		"too large":        {"--- a/large\n+++ b/large\n@@ -1 +1 @@\n-a\n+b\n", toolapi.CodeTooLarge, "large has more than 1 MiB"},
		"too much":         {copies(17), toolapi.CodeTooLarge, "more than 16 MiB together"},
	}
	s := newSandbox(t)
	s.writeAll(patchedTree)
	s.write("latin", "caf\xe9\n")
	s.write("large", strings.Repeat("a\n", 600_000))
	s.write("big", strings.Repeat("0123456789abcde\n", toolapi.MaxFileBytes/16))
	if err := os.Symlink("src", s.workspace+"/alias"); err != nil {
		t.Fatal(err)
	}
	want := tree(t, s.workspace)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolPatch, toolapi.PatchArgs{Patch: test.patch})
			if r.ErrorCode != test.code || !strings.Contains(r.Output, test.output) || !strings.Contains(r.Output, "othing was changed") {
				t.Errorf("%s: %s\nwant %s: %s", r.ErrorCode, r.Output, test.code, test.output)
			}
			if got := tree(t, s.workspace); !maps.Equal(got, want) {
				t.Errorf("something was changed")
			}
			s.wantNoTemporaries(t)
		})
	}
}

func manyFiles(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "--- /dev/null\n+++ b/many/%d\n@@ -0,0 +1 @@\n+a\n", i)
	}
	return b.String()
}

func copies(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "diff --git a/big b/big%d\ncopy from big\ncopy to big%d\n", i, i)
	}
	return b.String()
}
