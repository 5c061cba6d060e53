// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

var patchedTree = contents{
	"a.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven\n",
	"src/":  "", "src/main.go": goSource,
	"end":  "first\nlast",
	"crlf": "one\r\ntwo\r\nthree\r\n",
	"same": "x\ny\n\nx\ny\n\nx\ny\n",
	"b/":   "", "b/in-b": "old\n",
	"empty": "",
}

func TestPatch(t *testing.T) {
	tests := map[string]struct {
		patch  string
		want   contents // the differences then
		output string
	}{
		"git": {
			"diff --git a/a.txt b/a.txt\nindex 1234567..89abcde 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n one\n-two\n+TWO\n three\n four\n",
			contents{"a.txt": "one\nTWO\nthree\nfour\nfive\nsix\nseven\n"}, "The patch is applied:\nM a.txt +1 -1\n",
		},
		"plain, with times": {
			"diff -u a.txt.orig a.txt\n--- a.txt.orig\t2024-01-02 03:04:05.123456789 +0100\n+++ a.txt\t2024-01-02 03:04:06.000000000 +0100\n@@ -7 +7,2 @@\n seven\n+eight\n",
			contents{"a.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"}, "The patch is applied:\nM a.txt +1 -0\n",
		},
		"without prefixes":       {"--- src/main.go\n+++ src/main.go\n@@ -3 +3 @@\n-import \"fmt\"\n+import \"os\"\n", contents{"src/main.go": strings.Replace(goSource, `"fmt"`, `"os"`, 1)}, "M src/main.go +1 -1"},
		"git without prefixes":   {"diff --git src/main.go src/main.go\n--- src/main.go\n+++ src/main.go\n@@ -3 +3 @@\n-import \"fmt\"\n+import \"os\"\n", contents{"src/main.go": strings.Replace(goSource, `"fmt"`, `"os"`, 1)}, "M src/main.go"},
		"other prefixes":         {"--- i/a.txt\n+++ w/a.txt\n@@ -1 +1 @@\n-one\n+1\n", contents{"a.txt": "1\ntwo\nthree\nfour\nfive\nsix\nseven\n"}, "M a.txt"},
		"a folder like a prefix": {"--- b/in-b\n+++ b/in-b\n@@ -1 +1 @@\n-old\n+new\n", contents{"b/in-b": "new\n"}, "M b/in-b"},
		"a prefix before it":     {"--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1 @@\n-old\n+new\n", contents{"b/in-b": "new\n"}, "M b/in-b"},
		"quoted names":           {"--- \"a/a.\\164xt\"\n+++ \"b/a.txt\"\n@@ -1 +1 @@\n-one\n+1\n", contents{"a.txt": "1\ntwo\nthree\nfour\nfive\nsix\nseven\n"}, "M a.txt"},
		"absolute names":         {"--- WORKSPACE/b/in-b\n+++ WORKSPACE/b/in-b\n@@ -1 +1 @@\n-old\n+new\n", contents{"b/in-b": "new\n"}, "M b/in-b"},
		"text around it": {
			"Here is the patch:\n\n```diff\n--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1 @@\n-old\n+new\n```\nDone.\n", contents{"b/in-b": "new\n"}, "M b/in-b",
		},
		"a mail": {
			"From 1234 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\nSubject: [PATCH] x\n\n---\n b/in-b | 2 +-\n 1 file changed\n\n" +
				"diff --git a/b/in-b b/b/in-b\n--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1 @@\n-old\n+new\n-- \n2.39.0\n\n", contents{"b/in-b": "new\n"}, "M b/in-b",
		},
		"no newline at its end": {"--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1 @@\n-old\n+new", contents{"b/in-b": "new\n"}, "M b/in-b"},
		"CRLF in the patch":     {"--- a/b/in-b\r\n+++ b/b/in-b\r\n@@ -1 +1 @@\r\n-old\r\n+new\r\n", contents{"b/in-b": "new\n"}, "M b/in-b"},
		"CRLF in the file":      {"--- a/crlf\n+++ b/crlf\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n", contents{"crlf": "one\r\nTWO\r\nthree\r\n"}, "M crlf +1 -1"},
		"CRLF in both":          {"--- a/crlf\n+++ b/crlf\n@@ -1,3 +1,3 @@\n one\r\n-two\r\n+TWO\r\n three\r\n", contents{"crlf": "one\r\nTWO\r\nthree\r\n"}, "M crlf +1 -1"},
		"empty context lines":   {"--- a/same\n+++ b/same\n@@ -2,3 +2,3 @@\n y\n\n-x\n+z\n", contents{"same": "x\ny\n\nz\ny\n\nx\ny\n"}, "M same +1 -1"},
		"end without newline":   {"--- a/end\n+++ b/end\n@@ -1,2 +1,2 @@\n first\n-last\n\\ No newline at end of file\n+final\n\\ No newline at end of file\n", contents{"end": "first\nfinal"}, "M end"},
		"newline added":         {"--- a/end\n+++ b/end\n@@ -2 +2 @@\n-last\n\\ No newline at end of file\n+last\n", contents{"end": "first\nlast\n"}, "M end"},
		"newline removed":       {"--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1 @@\n-old\n+old\n\\ No newline at end of file\n", contents{"b/in-b": "old"}, "M b/in-b"},
		"without context":       {"--- a/a.txt\n+++ b/a.txt\n@@ -2,0 +3 @@\n+two and a half\n@@ -6 +6,0 @@\n-six\n", contents{"a.txt": "one\ntwo\ntwo and a half\nthree\nfour\nfive\nseven\n"}, "M a.txt +1 -1"},
		"several hunks": {
			"--- a/src/main.go\n+++ b/src/main.go\n@@ -1,3 +1,4 @@\n package main\n \n import \"fmt\"\n+import \"os\"\n@@ -10,3 +11,3 @@ func main() {\n func twice(n int) int {\n-\treturn n + n\n+\treturn 2 * n\n }\n",
			contents{"src/main.go": strings.Replace(strings.Replace(goSource, "\"fmt\"\n", "\"fmt\"\nimport \"os\"\n", 1), "n + n", "2 * n", 1)}, "M src/main.go +2 -1",
		},
		"found elsewhere": {
			"--- a/src/main.go\n+++ b/src/main.go\n@@ -40,3 +40,3 @@\n func thrice(n int) int {\n-\treturn n + n\n+\treturn 3 * n\n }\n@@ -1,2 +1,2 @@\n func twice(n int) int {\n-\treturn n + n\n+\treturn 2 * n\n",
			contents{"src/main.go": strings.Replace(strings.Replace(goSource, "n + n", "2 * n", 1), "n + n", "3 * n", 1)},
			"The patch is applied:\nM src/main.go +2 -2\n  hunk 1 was not at its own line but at line 14\n  hunk 2 was not at its own line but at line 10\n",
		},
		"at its line among several": {"--- a/same\n+++ b/same\n@@ -4,2 +4,2 @@\n-x\n+X\n y\n", contents{"same": "x\ny\n\nX\ny\n\nx\ny\n"}, "M same"},
		"new file":                  {"diff --git a/new/f b/new/f\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/new/f\n@@ -0,0 +1,2 @@\n+a\n+b\n", contents{"new/": "", "new/f": "a\nb\n"}, "A new/f +2 -0"},
		"new file, plain":           {"--- /dev/null\t2024-01-02 03:04:05 +0000\n+++ b/new\n@@ -0,0 +1 @@\n+a\n", contents{"new": "a\n"}, "A new +1 -0"},
		"new file by time":          {"--- new\t1970-01-01 01:00:00.000000000 +0100\n+++ new\t2024-01-02 03:04:05.000000000 +0100\n@@ -0,0 +1 @@\n+a\n", contents{"new": "a\n"}, "A new +1 -0"},
		"new file, untold":          {"--- a/new\n+++ b/new\n@@ -0,0 +1 @@\n+a\n", contents{"new": "a\n"}, "A new +1 -0"},
		"new empty file":            {"diff --git a/new b/new\nnew file mode 100644\nindex 0000000..e69de29\n", contents{"new": ""}, "A new +0 -0"},
		"into an empty one":         {"--- a/empty\n+++ b/empty\n@@ -0,0 +1 @@\n+a\n", contents{"empty": "a\n"}, "M empty +1 -0"},
		"removed":                   {"diff --git a/end b/end\ndeleted file mode 100644\n--- a/end\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-first\n-last\n\\ No newline at end of file\n", contents{"end": "-"}, "D end +0 -2"},
		"removed, plain":            {"--- a/b/in-b\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n", contents{"b/in-b": "-"}, "D b/in-b +0 -1"},
		"removed by time":           {"--- b/in-b\t2024-01-02 03:04:05 +0000\n+++ b/in-b\t1970-01-01 00:00:00.000000000 +0000\n@@ -1 +0,0 @@\n-old\n", contents{"b/in-b": "-"}, "D b/in-b +0 -1"},
		"empty removed":             {"diff --git a/empty b/empty\ndeleted file mode 100644\nindex e69de29..0000000\n", contents{"empty": "-"}, "D empty +0 -0"},
		"renamed":                   {"diff --git a/end b/over/there\nsimilarity index 100%\nrename from end\nrename to over/there\n", contents{"end": "-", "over/": "", "over/there": "first\nlast"}, "R end -> over/there +0 -0"},
		"renamed and changed": {
			"diff --git a/b/in-b b/out\nsimilarity index 50%\nrename from b/in-b\nrename to out\n--- a/b/in-b\n+++ b/out\n@@ -1 +1 @@\n-old\n+new\n",
			contents{"b/in-b": "-", "out": "new\n"}, "R b/in-b -> out +1 -1",
		},
		"copied": {"diff --git a/end b/end2\ncopy from end\ncopy to end2\n", contents{"end2": "first\nlast"}, "C end -> end2 +0 -0"},
		"several files": {
			"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\ndiff --git a/end b/end\ndeleted file mode 100644\n--- a/end\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-first\n-last\n" +
				"\\ No newline at end of file\n--- /dev/null\n+++ b/x/y/z\n@@ -0,0 +1 @@\n+z\n",
			contents{"a.txt": "1\ntwo\nthree\nfour\nfive\nsix\nseven\n", "end": "-", "x/": "", "x/y/": "", "x/y/z": "z\n"},
			"The patch is applied:\nM a.txt +1 -1\nD end +0 -2\nA x/y/z +1 -0\n",
		},
		"one file twice": {
			"--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1,2 @@\n-old\n+new\n+line\n--- a/b/in-b\n+++ b/b/in-b\n@@ -2 +2 @@\n-line\n+LINE\n",
			contents{"b/in-b": "new\nLINE\n"}, "The patch is applied:\nM b/in-b +2 -1\nM b/in-b +1 -1\n",
		},
		"made, renamed, changed": {
			"--- /dev/null\n+++ b/t1\n@@ -0,0 +1 @@\n+a\ndiff --git a/t1 b/t2\nrename from t1\nrename to t2\n--- a/t2\n+++ b/t2\n@@ -1 +1 @@\n-a\n+b\n",
			contents{"t2": "b\n"}, "The patch is applied:\nA t1 +1 -0\nR t1 -> t2 +0 -0\nM t2 +1 -1\n",
		},
		"removed and made again": {"--- a/end\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-first\n-last\n\\ No newline at end of file\n--- /dev/null\n+++ b/end\n@@ -0,0 +1 @@\n+new\n", contents{"end": "new\n"}, "D end +0 -2\nA end +1 -0"},
		"lines like headers": {
			"--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1,4 @@\n old\n+++ b/x\n+-- a/x\n+diff --git a/x b/x\n", contents{"b/in-b": "old\n++ b/x\n-- a/x\ndiff --git a/x b/x\n"}, "M b/in-b +3 -0",
		},
		"a name with a newline": {"--- /dev/null\n+++ \"b/two\\nlines\"\n@@ -0,0 +1 @@\n+a\n", contents{"two\nlines": "a\n"}, `A "two\nlines" +1 -0`},
		"V4A": {
			"*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** Delete File: same\n*** Add File: x/new\n+a\n\n+b\n*** Update File: src/main.go\n*** Move to: src/prog.go\n" +
				"@@ func thrice(n int) int {\n-\treturn n + n\n+\treturn 3 * n\n*** End Patch\n",
			contents{"a.txt": "1\ntwo\nthree\nfour\nfive\nsix\nseven\n", "same": "-", "x/": "", "x/new": "a\n\nb\n", "src/main.go": "-", "src/prog.go": goSource[:len(goSource)-len("return n + n\n}\n")] + "return 3 * n\n}\n"},
			"The patch is applied:\nM a.txt +1 -1\n  hunk 1 at line 1\nD same +0 -8\nA x/new +3 -0\nR src/main.go -> src/prog.go +1 -1\n  hunk 1 at line 15\n",
		},
		"V4A, in a shell": {"apply_patch <<'EOF'\n *** Begin Patch \n  *** Delete File: end\n*** End Patch\nEOF\n", contents{"end": "-"}, "D end +0 -2"},
		"V4A, in a fence": {"```\n*** Begin Patch\n*** Update File: WORKSPACE/b/in-b\n@@\n-old\n+new\n```\nThat is all.\n", contents{"b/in-b": "new\n"}, "M b/in-b"},
		"V4A, renamed":    {"*** Begin Patch\n*** Update File: end\n*** Move to: x/end\n*** End Patch", contents{"end": "-", "x/": "", "x/end": "first\nlast"}, "R end -> x/end +0 -0"},
		"V4A, over a file": {
			"*** Begin Patch\n*** Add File: end\n+new\n*** End Patch\n", contents{"end": "new\n"}, "M end +1 -2\n  all of it is replaced: there was such a file\n",
		},
		"V4A, empty":            {"*** Begin Patch\n*** Add File: new\n*** End Patch\n", contents{"new": ""}, "A new +0 -0"},
		"V4A, gone and made":    {"*** Begin Patch\n*** Delete File: end\n*** Add File: end\n+new\n*** End Patch\n", contents{"end": "new\n"}, "D end +0 -2\nA end +1 -0\n"},
		"an empty line without": {"--- /dev/null\n+++ b/new\n@@ -0,0 +1,9 @@\n+a\n\n+b\n\n", contents{"new": "a\n\nb\n"}, "A new +3 -0"},
		"escapes":               {"--- /dev/null\n+++ b/e\n@@ -0,0 +1 @@\n+\x1b[2J\n", contents{"e": "\x1b[2J\n"}, "A e +1 -0"},
	}
	s := newSandbox(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s.clear()
			s.writeAll(patchedTree)
			r := s.run(toolapi.ToolPatch, toolapi.PatchArgs{Patch: strings.ReplaceAll(test.patch, "WORKSPACE", s.workspace)})
			if !r.OK || !strings.Contains(r.Output, test.output) {
				t.Fatalf("%s: %s\nwant %q", r.ErrorCode, r.Output, test.output)
			}
			if got, want := tree(t, s.workspace), patchedTree.with(test.want); !maps.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
			s.wantNoTemporaries(t)
		})
	}
}

// The permissions of a file that is changed or renamed stay; a new program can be run.
func TestPatchPermissions(t *testing.T) {
	s := newSandbox(t)
	s.write("run", "#!/bin/bash\necho one\n")
	s.write("move", "x\n")
	for name, mode := range map[string]os.FileMode{"run": 0o750, "move": 0o600} {
		if err := os.Chmod(filepath.Join(s.workspace, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	r := s.run(toolapi.ToolPatch, toolapi.PatchArgs{Patch: "--- a/run\n+++ b/run\n@@ -2 +2 @@\n-echo one\n+echo two\n" +
		"diff --git a/move b/moved\nrename from move\nrename to moved\n" +
		"diff --git a/new b/new\nnew file mode 100755\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+#!/bin/bash\n" +
		"--- /dev/null\n+++ b/plain\n@@ -0,0 +1 @@\n+x\n"})
	if !r.OK {
		t.Fatalf("%+v", r)
	}
	for name, mode := range map[string]os.FileMode{"run": 0o750, "moved": 0o600, "new": 0o755, "plain": 0o644} {
		if info, err := os.Stat(filepath.Join(s.workspace, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// The files that a patch fits to are changed though it does not fit to another; files that it renames into each other belong
// together. Only what failed has to be written again.
func TestPatchInPart(t *testing.T) {
	const misfit = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-eins\n+1\n"
	const good = "--- a/b/in-b\n+++ b/b/in-b\n@@ -1,7 +1,7 @@\n-old\n+new\n"
	tests := map[string]struct {
		patch  string
		want   contents
		code   string
		output []string
	}{
		"the first": {
			misfit + good, contents{"b/in-b": "new\n"}, toolapi.CodeNoMatch,
			[]string{"A part of the patch is applied:\nM b/in-b +1 -1\nNot changed, and to be sent again alone:\na.txt: hunk 1 (line 3 of the patch, @@ -1 +1 @@) does not fit: it has \"eins\" where"},
		},
		"the last":     {good + misfit, contents{"b/in-b": "new\n"}, toolapi.CodeNoMatch, []string{"M b/in-b +1 -1\nNot changed", "a.txt: hunk 1 (line 8 of the patch"}},
		"one of hunks": {good + "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n@@ -3 +3 @@\n-drei\n+3\n", contents{"b/in-b": "new\n"}, toolapi.CodeNoMatch, []string{"a.txt: hunk 2 (line 11"}},
		"one of twice": {good + "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n" + misfit, contents{"b/in-b": "new\n"}, toolapi.CodeNoMatch, []string{"a.txt: hunk 1 (line 13"}},
		"a bad hunk":   {good + "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\ntwo\n-three\n+3\n" + "--- a/end\n+++ b/end\n@@ -1 +1 @@\n-first\n+1st\n", contents{"b/in-b": "new\n", "end": "1st\nlast"}, toolapi.CodeInvalidArguments, []string{`a.txt: Line 10: "two" is in a hunk, and begins with none of " ", "+" and "-".`, "M end +1 -1"}},
		"with a rename": {
			good + "diff --git a/end b/end2\nrename from end\nrename to end2\n--- a/end2\n+++ b/end2\n@@ -1 +1 @@\n-nothing\n+x\n", contents{"b/in-b": "new\n"}, toolapi.CodeNoMatch,
			[]string{"end2: hunk 1 (line 11", "With it, these stay as they were: end, end2\n"},
		},
		"V4A": {
			"*** Begin Patch\n*** Update File: a.txt\n@@\n-eins\n+1\n*** Delete File: none\n*** Delete File: end\n*** End Patch\n", contents{"end": "-"}, toolapi.CodeNoMatch,
			[]string{"D end +0 -2\nNot changed", "a.txt: hunk 1", "There is no file none to change"},
		},
		"leads out": {good + "--- a/../secret\n+++ b/../secret\n@@ -1 +1 @@\n-one\n+1\n", contents{"b/in-b": "new\n"}, toolapi.CodeOutsideWorkspace, []string{"outside of the workspace"}},
		"one file by two names": {
			"--- a/src/main.go\n+++ b/src/main.go\n@@ -1 +1 @@\n-package main\n+package x\n--- a/alias/main.go\n+++ b/alias/main.go\n@@ -1 +1 @@\n-package main\n+package y\n",
			contents{"src/main.go": strings.Replace(goSource, "package main", "package x", 1)}, toolapi.CodeInvalidArguments, []string{"alias/main.go and src/main.go are the same file by a link"},
		},
		"a folder in place of a file": {
			"--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n--- /dev/null\n+++ b/m/k/o\n@@ -0,0 +1 @@\n+a\n--- /dev/null\n+++ b/n/x\n@@ -0,0 +1 @@\n+a\n",
			contents{"n": "a\n", "m/": "", "m/k/": "", "m/k/o": "a\n"}, toolapi.CodeNotDirectory, []string{"A n +1 -0\nA m/k/o +1 -0\nNot changed", "Cannot patch n/x: a part of the path is not a folder."},
		},
	}
	s := newSandbox(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s.clear()
			s.writeAll(patchedTree)
			if err := os.Symlink("src", s.workspace+"/alias"); err != nil {
				t.Fatal(err)
			}
			r := s.run(toolapi.ToolPatch, toolapi.PatchArgs{Patch: test.patch})
			if err := os.Remove(s.workspace + "/alias"); err != nil {
				t.Fatal(err)
			}
			if r.OK || r.Retryable || r.ErrorCode != test.code || strings.Contains(r.Output, "othing was changed") {
				t.Errorf("%s: %s", r.ErrorCode, r.Output)
			}
			for _, want := range test.output {
				if !strings.Contains(r.Output, want) {
					t.Errorf("%s\nwant %q", r.Output, want)
				}
			}
			if got, want := tree(t, s.workspace), patchedTree.with(test.want); !maps.Equal(got, want) {
				t.Errorf("%q\nwant %q", got, want)
			}
			s.wantNoTemporaries(t)
		})
	}
}

// If a patch does not fit to many files, the result describes the first ones and names the others.
func TestPatchFitsToNothing(t *testing.T) {
	s := newSandbox(t)
	var patch strings.Builder
	for i := range maxPatchedFiles {
		name := fmt.Sprintf("f%d", i)
		s.write(name, strings.Repeat(strings.Repeat("x", 150)+"\n", 20))
		fmt.Fprintf(&patch, "--- a/%s\n+++ b/%s\n@@ -9 +9 @@\n-y\n+z\n", name, name)
	}
	r := s.run(toolapi.ToolPatch, toolapi.PatchArgs{Patch: patch.String()})
	if r.ErrorCode != toolapi.CodeNoMatch || len(r.Output) > 2*maxMisfitBytes || !strings.HasPrefix(r.Output, "The patch does not fit, and nothing was changed. f0: hunk 1") {
		t.Errorf("%s: %d bytes: %.300s", r.ErrorCode, len(r.Output), r.Output)
	}
	if !strings.Contains(r.Output, "Nor does it fit to: f") || !strings.HasSuffix(r.Output, ", f254, f255\n") {
		t.Errorf("%s", r.Output[len(r.Output)-300:])
	}
}

// The output of git and diff fits to the files that they compared.
func TestPatchOfPrograms(t *testing.T) {
	s := newSandbox(t)
	before := patchedTree.with(contents{"with space": "a\nb\n", "ünï": "c\n", "tab\there": "d\n"})
	after := before.with(contents{
		"a.txt": "one\nand a half\ntwo\nthree\nfour\nfive\n6\nseven\n", "end": "first\nlast\n", "with space": "a\nB\n", "ünï": "C\n", "tab\there": "D\n",
		"src/main.go": "-", "src/": "-", "src2/": "", "src2/prog.go": strings.Replace(goSource, "thrice", "drice", 1), "new": "n\n", "same": "-",
	})
	dir := t.TempDir()
	old, changed := dir+"/old", dir+"/new"
	for at, all := range map[string]contents{old: before, changed: after} {
		side := &sandbox{t: t, workspace: at}
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		side.writeAll(all)
	}
	for name, command := range map[string][]string{
		"diff":            {"diff", "-ruN", "old", "new"},
		"git":             {"git", "diff", "--no-index", "old", "new"},
		"git, no prefix":  {"git", "diff", "--no-index", "--no-prefix", "old", "new"},
		"git, no context": {"git", "diff", "--no-index", "-U0", "old", "new"},
		"git, renames":    {"git", "diff", "--no-index", "-M40", "old", "new"},
	} {
		t.Run(name, func(t *testing.T) {
			program, err := exec.LookPath(command[0])
			if err != nil {
				t.Skipf("this needs %s, which makes the patch", command[0])
			}
			s.clear()
			s.writeAll(before)
			cmd := exec.Command(program, command[1:]...)
			cmd.Dir = dir
			out, _ := cmd.CombinedOutput() // It fails because there are differences.
			// git names the folders after its prefixes.
			patch := strings.NewReplacer("a/old/", "a/", "b/new/", "b/", "a/new/", "a/", "b/old/", "b/",
				"rename from old/", "rename from ", "rename to new/", "rename to ").Replace(string(out))
			if name == "git, no prefix" {
				patch = strings.NewReplacer(" old/", " ", " new/", " ", `"old/`, `"`, `"new/`, `"`).Replace(string(out))
			}
			r := s.run(toolapi.ToolPatch, toolapi.PatchArgs{Patch: patch})
			if !r.OK {
				t.Fatalf("%s\n%s", r.Output, patch)
			}
			got := tree(t, s.workspace)
			delete(got, "src/") // Folders that are empty then stay.
			if !maps.Equal(got, after) {
				t.Errorf("%q\nwant %q\n%s", got, after, patch)
			}
		})
	}
}

// A change that cannot be made when others are made already: they are undone, whatever they are.
func TestChangesAreUndone(t *testing.T) {
	s := newSandbox(t)
	s.writeAll(patchedTree)
	want := tree(t, s.workspace)
	w := s.opened
	read := func(local string) fs.FileInfo {
		_, info, err := w.ReadText(local, local)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	gone := read("empty")
	if err := os.Remove(s.workspace + "/empty"); err != nil {
		t.Fatal(err)
	}
	s.write("empty", "other")
	want["empty"] = "other"
	c := &patchChange{order: []*patchedFile{
		{local: "a.txt", before: read("a.txt"), there: true, content: "changed", mode: 0o644},
		{local: "end", before: read("end")},
		{local: "x/y/z", there: true, content: "new", mode: 0o644},
		{local: "x/w", there: true, content: "new", mode: 0o644},
		{local: "empty", before: gone, there: true, content: "changed", mode: 0o644},
	}}
	c.make(fileTools{w})
	r := patchResult([]*patchChange{c})
	if r.OK || r.ErrorCode != toolapi.CodeNoMatch || !r.Retryable || !strings.Contains(r.Output, "empty was changed while the patch was applied") || !strings.Contains(r.Output, "nothing was changed") {
		t.Errorf("%+v", r)
	}
	if got := tree(t, s.workspace); !maps.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	s.wantNoTemporaries(t)
}
