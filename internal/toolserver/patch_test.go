// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

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

// files are the contents of a workspace by their paths; what is no file has what it is.
type files map[string]string

// tree reads everything below dir, but for the server's own folder.
func tree(t testing.TB, dir string) files {
	t.Helper()
	found := files{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		local, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case local == ownDir:
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
func (f files) with(changes files) files {
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

func (s *sandbox) writeAll(all files) {
	s.t.Helper()
	for name, content := range all {
		if !strings.HasSuffix(name, "/") {
			s.write(name, content)
		}
	}
}

var patchedTree = files{
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
		want   files // what differs then
		output string
	}{
		"git": {
			"diff --git a/a.txt b/a.txt\nindex 1234567..89abcde 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,4 @@\n one\n-two\n+TWO\n three\n four\n",
			files{"a.txt": "one\nTWO\nthree\nfour\nfive\nsix\nseven\n"}, "The patch is applied:\nM a.txt +1 -1\n",
		},
		"plain, with times": {
			"diff -u a.txt.orig a.txt\n--- a.txt.orig\t2024-01-02 03:04:05.123456789 +0100\n+++ a.txt\t2024-01-02 03:04:06.000000000 +0100\n@@ -7 +7,2 @@\n seven\n+eight\n",
			files{"a.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"}, "The patch is applied:\nM a.txt +1 -0\n",
		},
		"without prefixes":       {"--- src/main.go\n+++ src/main.go\n@@ -3 +3 @@\n-import \"fmt\"\n+import \"os\"\n", files{"src/main.go": strings.Replace(goSource, `"fmt"`, `"os"`, 1)}, "M src/main.go +1 -1"},
		"git without prefixes":   {"diff --git src/main.go src/main.go\n--- src/main.go\n+++ src/main.go\n@@ -3 +3 @@\n-import \"fmt\"\n+import \"os\"\n", files{"src/main.go": strings.Replace(goSource, `"fmt"`, `"os"`, 1)}, "M src/main.go"},
		"other prefixes":         {"--- i/a.txt\n+++ w/a.txt\n@@ -1 +1 @@\n-one\n+1\n", files{"a.txt": "1\ntwo\nthree\nfour\nfive\nsix\nseven\n"}, "M a.txt"},
		"a folder like a prefix": {"--- b/in-b\n+++ b/in-b\n@@ -1 +1 @@\n-old\n+new\n", files{"b/in-b": "new\n"}, "M b/in-b"},
		"a prefix before it":     {"--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1 @@\n-old\n+new\n", files{"b/in-b": "new\n"}, "M b/in-b"},
		"quoted names":           {"--- \"a/a.\\164xt\"\n+++ \"b/a.txt\"\n@@ -1 +1 @@\n-one\n+1\n", files{"a.txt": "1\ntwo\nthree\nfour\nfive\nsix\nseven\n"}, "M a.txt"},
		"absolute names":         {"--- WORKSPACE/b/in-b\n+++ WORKSPACE/b/in-b\n@@ -1 +1 @@\n-old\n+new\n", files{"b/in-b": "new\n"}, "M b/in-b"},
		"text around it": {
			"Here is the patch:\n\n```diff\n--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1 @@\n-old\n+new\n```\nDone.\n", files{"b/in-b": "new\n"}, "M b/in-b",
		},
		"a mail": {
			"From 1234 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.org>\nSubject: [PATCH] x\n\n---\n b/in-b | 2 +-\n 1 file changed\n\n" +
				"diff --git a/b/in-b b/b/in-b\n--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1 @@\n-old\n+new\n-- \n2.39.0\n\n", files{"b/in-b": "new\n"}, "M b/in-b",
		},
		"no newline at its end": {"--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1 @@\n-old\n+new", files{"b/in-b": "new\n"}, "M b/in-b"},
		"CRLF in the patch":     {"--- a/b/in-b\r\n+++ b/b/in-b\r\n@@ -1 +1 @@\r\n-old\r\n+new\r\n", files{"b/in-b": "new\n"}, "M b/in-b"},
		"CRLF in the file":      {"--- a/crlf\n+++ b/crlf\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n", files{"crlf": "one\r\nTWO\r\nthree\r\n"}, "M crlf +1 -1"},
		"CRLF in both":          {"--- a/crlf\n+++ b/crlf\n@@ -1,3 +1,3 @@\n one\r\n-two\r\n+TWO\r\n three\r\n", files{"crlf": "one\r\nTWO\r\nthree\r\n"}, "M crlf +1 -1"},
		"empty context lines":   {"--- a/same\n+++ b/same\n@@ -2,3 +2,3 @@\n y\n\n-x\n+z\n", files{"same": "x\ny\n\nz\ny\n\nx\ny\n"}, "M same +1 -1"},
		"end without newline":   {"--- a/end\n+++ b/end\n@@ -1,2 +1,2 @@\n first\n-last\n\\ No newline at end of file\n+final\n\\ No newline at end of file\n", files{"end": "first\nfinal"}, "M end"},
		"newline added":         {"--- a/end\n+++ b/end\n@@ -2 +2 @@\n-last\n\\ No newline at end of file\n+last\n", files{"end": "first\nlast\n"}, "M end"},
		"newline removed":       {"--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1 @@\n-old\n+old\n\\ No newline at end of file\n", files{"b/in-b": "old"}, "M b/in-b"},
		"without context":       {"--- a/a.txt\n+++ b/a.txt\n@@ -2,0 +3 @@\n+two and a half\n@@ -6 +6,0 @@\n-six\n", files{"a.txt": "one\ntwo\ntwo and a half\nthree\nfour\nfive\nseven\n"}, "M a.txt +1 -1"},
		"several hunks": {
			"--- a/src/main.go\n+++ b/src/main.go\n@@ -1,3 +1,4 @@\n package main\n \n import \"fmt\"\n+import \"os\"\n@@ -10,3 +11,3 @@ func main() {\n func twice(n int) int {\n-\treturn n + n\n+\treturn 2 * n\n }\n",
			files{"src/main.go": strings.Replace(strings.Replace(goSource, "\"fmt\"\n", "\"fmt\"\nimport \"os\"\n", 1), "n + n", "2 * n", 1)}, "M src/main.go +2 -1",
		},
		"found elsewhere": {
			"--- a/src/main.go\n+++ b/src/main.go\n@@ -40,3 +40,3 @@\n func thrice(n int) int {\n-\treturn n + n\n+\treturn 3 * n\n }\n@@ -1,2 +1,2 @@\n func twice(n int) int {\n-\treturn n + n\n+\treturn 2 * n\n",
			files{"src/main.go": strings.Replace(strings.Replace(goSource, "n + n", "2 * n", 1), "n + n", "3 * n", 1)},
			"The patch is applied:\nM src/main.go +2 -2\n  hunk 1 was not at its own line but at line 14\n  hunk 2 was not at its own line but at line 10\n",
		},
		"at its line among several": {"--- a/same\n+++ b/same\n@@ -4,2 +4,2 @@\n-x\n+X\n y\n", files{"same": "x\ny\n\nX\ny\n\nx\ny\n"}, "M same"},
		"new file":                  {"diff --git a/new/f b/new/f\nnew file mode 100644\nindex 0000000..1111111\n--- /dev/null\n+++ b/new/f\n@@ -0,0 +1,2 @@\n+a\n+b\n", files{"new/": "", "new/f": "a\nb\n"}, "A new/f +2 -0"},
		"new file, plain":           {"--- /dev/null\t2024-01-02 03:04:05 +0000\n+++ b/new\n@@ -0,0 +1 @@\n+a\n", files{"new": "a\n"}, "A new +1 -0"},
		"new file by time":          {"--- new\t1970-01-01 01:00:00.000000000 +0100\n+++ new\t2024-01-02 03:04:05.000000000 +0100\n@@ -0,0 +1 @@\n+a\n", files{"new": "a\n"}, "A new +1 -0"},
		"new file, untold":          {"--- a/new\n+++ b/new\n@@ -0,0 +1 @@\n+a\n", files{"new": "a\n"}, "A new +1 -0"},
		"new empty file":            {"diff --git a/new b/new\nnew file mode 100644\nindex 0000000..e69de29\n", files{"new": ""}, "A new +0 -0"},
		"into an empty one":         {"--- a/empty\n+++ b/empty\n@@ -0,0 +1 @@\n+a\n", files{"empty": "a\n"}, "M empty +1 -0"},
		"removed":                   {"diff --git a/end b/end\ndeleted file mode 100644\n--- a/end\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-first\n-last\n\\ No newline at end of file\n", files{"end": "-"}, "D end +0 -2"},
		"removed, plain":            {"--- a/b/in-b\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n", files{"b/in-b": "-"}, "D b/in-b +0 -1"},
		"removed by time":           {"--- b/in-b\t2024-01-02 03:04:05 +0000\n+++ b/in-b\t1970-01-01 00:00:00.000000000 +0000\n@@ -1 +0,0 @@\n-old\n", files{"b/in-b": "-"}, "D b/in-b +0 -1"},
		"empty removed":             {"diff --git a/empty b/empty\ndeleted file mode 100644\nindex e69de29..0000000\n", files{"empty": "-"}, "D empty +0 -0"},
		"renamed":                   {"diff --git a/end b/over/there\nsimilarity index 100%\nrename from end\nrename to over/there\n", files{"end": "-", "over/": "", "over/there": "first\nlast"}, "R end -> over/there +0 -0"},
		"renamed and changed": {
			"diff --git a/b/in-b b/out\nsimilarity index 50%\nrename from b/in-b\nrename to out\n--- a/b/in-b\n+++ b/out\n@@ -1 +1 @@\n-old\n+new\n",
			files{"b/in-b": "-", "out": "new\n"}, "R b/in-b -> out +1 -1",
		},
		"copied": {"diff --git a/end b/end2\ncopy from end\ncopy to end2\n", files{"end2": "first\nlast"}, "C end -> end2 +0 -0"},
		"several files": {
			"--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\ndiff --git a/end b/end\ndeleted file mode 100644\n--- a/end\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-first\n-last\n" +
				"\\ No newline at end of file\n--- /dev/null\n+++ b/x/y/z\n@@ -0,0 +1 @@\n+z\n",
			files{"a.txt": "1\ntwo\nthree\nfour\nfive\nsix\nseven\n", "end": "-", "x/": "", "x/y/": "", "x/y/z": "z\n"},
			"The patch is applied:\nM a.txt +1 -1\nD end +0 -2\nA x/y/z +1 -0\n",
		},
		"one file twice": {
			"--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1,2 @@\n-old\n+new\n+line\n--- a/b/in-b\n+++ b/b/in-b\n@@ -2 +2 @@\n-line\n+LINE\n",
			files{"b/in-b": "new\nLINE\n"}, "The patch is applied:\nM b/in-b +2 -1\nM b/in-b +1 -1\n",
		},
		"made, renamed, changed": {
			"--- /dev/null\n+++ b/t1\n@@ -0,0 +1 @@\n+a\ndiff --git a/t1 b/t2\nrename from t1\nrename to t2\n--- a/t2\n+++ b/t2\n@@ -1 +1 @@\n-a\n+b\n",
			files{"t2": "b\n"}, "The patch is applied:\nA t1 +1 -0\nR t1 -> t2 +0 -0\nM t2 +1 -1\n",
		},
		"removed and made again": {"--- a/end\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-first\n-last\n\\ No newline at end of file\n--- /dev/null\n+++ b/end\n@@ -0,0 +1 @@\n+new\n", files{"end": "new\n"}, "D end +0 -2\nA end +1 -0"},
		"lines like headers": {
			"--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1,4 @@\n old\n+++ b/x\n+-- a/x\n+diff --git a/x b/x\n", files{"b/in-b": "old\n++ b/x\n-- a/x\ndiff --git a/x b/x\n"}, "M b/in-b +3 -0",
		},
		"a name with a newline": {"--- /dev/null\n+++ \"b/two\\nlines\"\n@@ -0,0 +1 @@\n+a\n", files{"two\nlines": "a\n"}, `A "two\nlines" +1 -0`},
		"escapes":               {"--- /dev/null\n+++ b/e\n@@ -0,0 +1 @@\n+\x1b[2J\n", files{"e": "\x1b[2J\n"}, "A e +1 -0"},
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
	if left, err := filepath.Glob(s.workspace + "/" + tempDir + "/*"); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func TestPatchIsRefused(t *testing.T) {
	const head = "--- a/a.txt\n+++ b/a.txt\n"
	// The second part of a patch of which the first one fits.
	good := "--- a/b/in-b\n+++ b/b/in-b\n@@ -1 +1 @@\n-old\n+new\n"
	tests := map[string]struct{ patch, code, output string }{
		"empty":                 {"", toolapi.CodeInvalidArguments, "It has no file header"},
		"no patch":              {"*** Begin Patch\n*** Update File: a.txt\n-one\n+1\n*** End Patch\n", toolapi.CodeInvalidArguments, `"--- a/PATH" and "+++ b/PATH"`},
		"no header":             {"@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "Line 1: a hunk comes before the first file header"},
		"half a header":         {good + "--- a/a.txt\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "Line 6: a file header is the two lines"},
		"other half":            {good + "\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "Line 7: a file header is the two lines"},
		"no numbers":            {head + "@@ def f():\n-one\n+1\n", toolapi.CodeInvalidArguments, "Line 3: the header of a hunk is @@ -FIRST,COUNT"},
		"huge numbers":          {head + "@@ -99999999999999999999 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "Line 3: the header of a hunk"},
		"too few lines":         {head + "@@ -1,3 +1,3 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "Line 3: the lines of the hunk are not as many as its header says"},
		"cut off":               {head + "@@ -1,3 +1,3 @@\n one\n-two\n+2", toolapi.CodeInvalidArguments, "Line 3: the lines of the hunk are not as many"},
		"too many lines":        {head + "@@ -1 +1 @@\n-one\n+1\n two\n", toolapi.CodeInvalidArguments, "Line 6: the hunk before has more lines"},
		"too many added":        {head + "@@ -1,2 +1,1 @@\n-one\n+1\n+2\n two\n", toolapi.CodeInvalidArguments, "Line 3: the lines of the hunk"},
		"no change":             {head + "@@ -1 +1 @@\n one\n", toolapi.CodeInvalidArguments, "Line 3: the hunk cannot be read: fragment contains no changes."},
		"no hunk":               {head, toolapi.CodeInvalidArguments, "It has no hunk for a.txt"},
		"header alone":          {"diff --git a/a.txt b/a.txt\n", toolapi.CodeInvalidArguments, "It has no hunk for a.txt"},
		"a merge":               {"diff --cc a.txt\n--- a/a.txt\n+++ b/a.txt\n@@@ -1,1 -1,1 +1,1 @@@\n", toolapi.CodeInvalidArguments, "combined diff"},
		"binary":                {good + "diff --git a/x.png b/x.png\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKc$_\n\n", toolapi.CodeInvalidArguments, "Line 8: binary files cannot be patched"},
		"binary, named":         {good + "diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n", toolapi.CodeInvalidArguments, "binary files cannot be patched"},
		"permissions":           {good + "diff --git a/end b/end\nold mode 100644\nnew mode 100755\n", toolapi.CodeInvalidArguments, "the permissions of a file cannot be patched"},
		"a link":                {good + "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", toolapi.CodeInvalidArguments, "symbolic links cannot be patched"},
		"a submodule":           {good + "diff --git a/l b/l\nnew file mode 160000\n", toolapi.CodeInvalidArguments, "the mode 160000 is not that of a file"},
		"two names":             {"--- a/a.txt\n+++ b/z.txt\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "the names a.txt and z.txt differ"},
		"two names, git":        {"diff --git a/a.txt b/z.txt\n--- a/a.txt\n+++ b/z.txt\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "The names a.txt and z.txt differ"},
		"names unclear":         {"diff --git a/a b c d\nnew file mode 100644\n", toolapi.CodeInvalidArguments, "cannot be told apart"},
		"half a rename":         {"diff --git a/end b/e\nrename from end\n", toolapi.CodeInvalidArguments, "A rename or copy is the two lines"},
		"neither":               {"--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n", toolapi.CodeInvalidArguments, "not both at once"},
		"NUL":                   {head + "@@ -1 +1 @@\n-one\n+\x00\n", toolapi.CodeInvalidArguments, "NUL"},
		"a name with NUL":       {"--- \"a/a\\000b\"\n+++ \"b/a\\000b\"\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "NUL"},
		"bad quotes":            {"--- \"a/a\\x\n+++ \"b/a\"\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeInvalidArguments, "a name in quotes cannot be read"},
		"not there":             {good + "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeNotFound, "There is no file none to change"},
		"there already":         {good + "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+a\n", toolapi.CodeNoMatch, "it makes the file a.txt, which there is already"},
		"rename onto":           {good + "diff --git a/end b/a.txt\nrename from end\nrename to a.txt\n", toolapi.CodeNoMatch, "a.txt, which there is already"},
		"new, untold, is there": {good + head + "@@ -0,0 +1 @@\n+a\n", toolapi.CodeNoMatch, "hunk 1 (line 8 of the patch, @@ -0,0 +1 @@) does not fit: it makes a new file, and the file has content already"},
		"not all removed":       {good + "--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n", toolapi.CodeNoMatch, "a.txt: it removes the file, but not all of the lines"},
		"removed without lines": {good + "diff --git a/end b/end\ndeleted file mode 100644\n", toolapi.CodeNoMatch, "not all of the lines"},
		"other text": {
			good + head + "@@ -1,3 +1,3 @@\n one\n-zwei\n+2\n three\n", toolapi.CodeNoMatch,
			"The patch does not fit, and nothing was changed. a.txt: hunk 1 (line 8 of the patch, @@ -1,3 +1,3 @@) does not fit: it has \"zwei\" where line 2 of the file is \"two\". " +
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
		"leads out":        {good + "--- a/../secret\n+++ b/../secret\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeOutsideWorkspace, "outside of the workspace"},
		"makes outside":    {good + "--- /dev/null\n+++ b/../../new\n@@ -0,0 +1 @@\n+a\n", toolapi.CodeOutsideWorkspace, "outside of the workspace"},
		"renames out":      {good + "diff --git a/end b/x\nrename from end\nrename to ../end\n", toolapi.CodeOutsideWorkspace, "outside of the workspace"},
		"renames in":       {good + "diff --git a/x b/x\nrename from /etc/passwd\nrename to passwd\n", toolapi.CodeOutsideWorkspace, "outside of the workspace"},
		"a folder":         {good + "--- a/src\n+++ b/src\n@@ -1 +1 @@\n-one\n+1\n", toolapi.CodeIsDirectory, "it is a folder"},
		"below a file":     {good + "--- /dev/null\n+++ b/a.txt/x\n@@ -0,0 +1 @@\n+a\n", toolapi.CodeNotDirectory, "not a folder"},
		"new, below a new file": {good + "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n--- /dev/null\n+++ b/m/k/o\n@@ -0,0 +1 @@\n+a\n--- /dev/null\n+++ b/n/x\n@@ -0,0 +1 @@\n+a\n",
			toolapi.CodeNotDirectory, "Cannot patch n/x: a part of the path is not a folder."},
		"not text": {"--- a/latin\n+++ b/latin\n@@ -1 +1 @@\n-caf\n+x\n", toolapi.CodeNotText, "latin is not UTF-8 text"},
		"one file by two names": {"--- a/src/main.go\n+++ b/src/main.go\n@@ -1 +1 @@\n-package main\n+package x\n--- a/alias/main.go\n+++ b/alias/main.go\n@@ -1 +1 @@\n-package main\n+package y\n",
			toolapi.CodeInvalidArguments, "alias/main.go and src/main.go are the same file by a link"},
		"too many files": {manyFiles(maxPatchedFiles + 1), toolapi.CodeTooLarge, "A patch may change 256 files"},
		"too large":      {"--- a/large\n+++ b/large\n@@ -1 +1 @@\n-a\n+b\n", toolapi.CodeTooLarge, "large has more than 1 MiB"},
		"too much":       {copies(17), toolapi.CodeTooLarge, "more than 16 MiB together"},
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

// What git and diff print fits to what they were given.
func TestPatchOfPrograms(t *testing.T) {
	s := newSandbox(t)
	before := patchedTree.with(files{"with space": "a\nb\n", "ünï": "c\n", "tab\there": "d\n"})
	after := before.with(files{
		"a.txt": "one\nand a half\ntwo\nthree\nfour\nfive\n6\nseven\n", "end": "first\nlast\n", "with space": "a\nB\n", "ünï": "C\n", "tab\there": "D\n",
		"src/main.go": "-", "src/": "-", "src2/": "", "src2/prog.go": strings.Replace(goSource, "thrice", "drice", 1), "new": "n\n", "same": "-",
	})
	dir := t.TempDir()
	old, changed := dir+"/old", dir+"/new"
	for at, all := range map[string]files{old: before, changed: after} {
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
			out, _ := cmd.Output() // It fails because there are differences.
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
	w := s.server.workspace
	read := func(local string) fs.FileInfo {
		_, info, err := w.readText(local, local)
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
	err := w.changeAll([]fileChange{
		{local: "a.txt", before: read("a.txt"), there: true, content: "changed", mode: 0o644},
		{local: "end", before: read("end")},
		{local: "x/y/z", there: true, content: "new", mode: 0o644},
		{local: "x/w", there: true, content: "new", mode: 0o644},
		{local: "empty", before: gone, there: true, content: "changed", mode: 0o644},
	})
	r := w.changeFailure(err)
	if err == nil || r.ErrorCode != toolapi.CodeNoMatch || !r.Retryable || !strings.Contains(r.Output, "empty was changed while the patch was applied") || !strings.HasSuffix(r.Output, "Nothing was changed.") {
		t.Errorf("%+v", r)
	}
	if got := tree(t, s.workspace); !maps.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	s.wantNoTemporaries(t)
}
