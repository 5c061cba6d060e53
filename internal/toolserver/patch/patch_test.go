// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"strings"
	"testing"
)

// A problem with one file is reported for that file, and the others are read.
func TestProblemsAreOfOneFile(t *testing.T) {
	const good = "--- a/good\n+++ b/good\n@@ -1 +1 @@\n-a\n+b\n"
	for name, test := range map[string]struct{ part, file, want string }{
		"binary":       {"diff --git a/x.png b/x.png\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKc$_\n\n", "x.png", "Line 3: binary files cannot be patched"},
		"differ":       {"Binary files a/x.png and b/x.png differ\n", "Binary files a/x.png and b/x.png differ", "Line 1: binary files"},
		"a link":       {"diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n", "l", "Line 2: symbolic links cannot be patched"},
		"two names":    {"--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "--- a/x", "Line 1: the names x and y differ"},
		"no hunk":      {"--- a/x\n+++ b/x\n", "x", "it has no hunk"},
		"a bad line":   {"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\nb\n-c\n+d\n@@ -9 +9 @@\n-e\n+f\n", "x", "Line 5: \"b\" is in a hunk, and begins with none of \" \", \"+\" and \"-\". Begin it with a space if it is a line of the file that stays. The hunk has 1 lines of the file before and 1 of the file after it up to there."},
		"no end there": {"--- a/x\n+++ b/x\n@@ -1 +1 @@\n\\ No newline at end of file\n-c\n+d\n", "x", "does not stand after the last line"},
		"an empty end": {"--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n c\n+\n\\ No newline at end of file\n", "x", "does not stand after the last line"},
		"nothing":      {"--- a/x\n+++ b/x\n@@ -1 +1 @@\nwords\n", "x", "Line 3: the hunk has no line that begins with"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := Parse(test.part + good)
			if err != nil || len(files) != 2 || files[1].Name() != "good" || files[1].Problem != nil {
				t.Fatalf("%v: %+v", err, files)
			}
			f := files[0]
			if f.Problem == nil || f.Name() != test.file || !strings.Contains(f.Problem.Error(), test.want) {
				t.Errorf("%s: %v", f.Name(), f.Problem)
			}
		})
	}
}

// A patch of which it is not clear which lines belong to which file is refused as a whole.
func TestUnclearPatches(t *testing.T) {
	const good = "--- a/good\n+++ b/good\n@@ -1 +1 @@\n-a\n+b\n"
	for text, want := range map[string]string{
		"":                                "It names no file",
		"words\n":                         "It names no file",
		"*** Begin Patch\n":               "It names no file",
		"@@ -1 +1 @@\n-a\n+b\n" + good:    "Line 1: a hunk comes before the first file header",
		good + "--- a/x\n@@ -1 +1 @@\n-a": "Line 6: a file header is the two lines",
		good + "+++ a/x\n":                "the counts in the header of that hunk are too small",
		"diff --cc a\n--- a/a\n+++ b/a\n": "Line 1: this is the combined diff of a merge",
	} {
		if files, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", text, files, err)
		}
	}
}
