// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolserver/textlines"
)

const shapes = `class Circle:
    def area(self):
        return 1

    def name(self):
        return "shape"

class Square:
    def area(self):
        return 1

    def name(self):
        return "shape"
`

// applied is a text as the first part of a patch leaves it.
func applied(t *testing.T, text, content string) (string, []string, error) {
	t.Helper()
	files, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if files[0].Problem != nil {
		return "", nil, files[0].Problem
	}
	return Apply(t.Context(), content, files[0].Hunks)
}

func TestApplyByContext(t *testing.T) {
	const update = "*** Begin Patch\n*** Update File: f\n"
	square := strings.Replace
	tests := map[string]struct {
		patch, content, want string
		note                 string
	}{
		"without numbers": {"--- a/f\n+++ b/f\n@@\n b\n-c\n+C\n d\n", "a\nb\nc\nd\n", "a\nb\nC\nd\n", "hunk 1 at line 2"},
		"dots":            {"--- a/f\n+++ b/f\n@@ ... @@\n-c\n+C\n", "a\nb\nc\nd\n", "a\nb\nC\nd\n", "hunk 1 at line 3"},
		"huge numbers":    {"--- a/f\n+++ b/f\n@@ -99999999999999999999 +1 @@\n-c\n+C\n", "c\n", "C\n", "hunk 1 at line 1"},
		"no second @@":    {"--- a/f\n+++ b/f\n@@ -3,1 +3,1\n-c\n+C\n", "c\n\nc\nd\n", "c\n\nC\nd\n", ""},
		"text":            {"--- a/f\n+++ b/f\n@@ class Square: @@\n     def area(self):\n-        return 1\n+        return 4\n", shapes, shapes[:80] + square(shapes[80:], "return 1", "return 4", 1), "hunk 1 at line 9"},
		"text that is in no line": {
			"--- a/f\n+++ b/f\n@@ the third line @@\n-c\n+C\n", "a\nb\nc\nd\n", "a\nb\nC\nd\n", "hunk 1 at line 3",
		},
		"class": {update + "@@ class Square\n-        return 1\n+        return 4\n*** End Patch\n", shapes, shapes[:80] + square(shapes[80:], "return 1", "return 4", 1), "hunk 1 at line 10"},
		"class and method": {
			update + "@@ class Square:\n@@     def name(self):\n-        return \"shape\"\n+        return \"square\"\n*** End Patch\n", shapes,
			shapes[:len(shapes)-len("shape\"\n")] + "square\"\n", "hunk 1 at line 13",
		},
		"header as context, too": {
			update + "@@ class Square:\n class Square:\n     def area(self):\n-        return 1\n+        return 4\n*** End Patch\n", shapes,
			shapes[:80] + square(shapes[80:], "return 1", "return 4", 1), "hunk 1 at line 8",
		},
		"behind the hunk before": {
			update + "@@\n class Circle:\n     def area(self):\n-        return 1\n+        return 3\n@@\n     def area(self):\n-        return 1\n+        return 4\n*** End Patch\n", shapes,
			strings.Replace(strings.Replace(shapes, "return 1", "return 3", 1), "return 1", "return 4", 1), "hunk 2 at line 9",
		},
		"no header":               {update + " a\n-b\n+B\n*** End Patch\n", "a\nb\n", "a\nB\n", "hunk 1 at line 1"},
		"numbers":                 {update + "@@ -3,2 +3,2 @@\n-a\n+A\n*** End Patch\n", "a\n\na\n", "a\n\nA\n", ""},
		"added below a line":      {update + "@@ import os\n+import sys\n*** End Patch\n", "import os\n\nx\n", "import os\nimport sys\n\nx\n", "hunk 1 at line 2"},
		"added at the end":        {update + "@@\n+z\n*** End Patch\n", "a\nb", "a\nb\nz\n", "hunk 1 at line 3"},
		"added to an empty file":  {update + "@@\n+z\n*** End Patch\n", "", "z\n", ""},
		"at the end of the file":  {update + "@@\n-x\n+y\n*** End of File\n*** End Patch\n", "x\nx\nx\n", "x\nx\ny\n", "hunk 1 at line 3"},
		"no newline at the end":   {update + "@@\n a\n-b\n+B\n*** End Patch\n", "a\nb", "a\nB\n", "hunk 1 at line 1"},
		"it stays without":        {update + "@@\n-a\n+A\n b\n*** End Patch\n", "a\nb", "A\nb", "hunk 1 at line 1"},
		"a line behind it":        {update + "@@\n b\n+c\n*** End Patch\n", "a\nb", "a\nb\nc\n", "hunk 1 at line 2"},
		"CRLF":                    {update + "@@\n a\n-b\n+B\n*** End Patch\n", "a\r\nb\r\n", "a\r\nB\r\n", "hunk 1 at line 1"},
		"blanks at the ends":      {update + "@@\n a\n-b\n+B\n c\n*** End Patch\n", "a  \nb\t\nc \n", "a  \nB\nc \n", "hunk 1 at line 1, which is the same but for white space"},
		"quotes and dashes":       {update + "@@\n-it's - \"x\"\n+X\n*** End Patch\n", "it’s — “x”\n", "X\n", "the same but for white space at the ends of lines, or quotes and dashes"},
		"exact before loose":      {update + "@@\n-a\n+b\n*** End Patch\n", "a \na\n", "a \nb\n", "hunk 1 at line 2"},
		"empty lines between":     {update + "\n@@\n-a\n+A\n\n@@\n-c\n+C\n\n*** End Patch\n", "a\nb\nc\n", "A\nb\nC\n", "hunk 2 at line 3"},
		"a diff's header, too":    {update + "--- a/f\n+++ b/f\n@@ -1,9 +1,9 @@\n-a\n+A\n*** End Patch\n", "a\n", "A\n", ""},
		"what looks like headers": {update + "@@\n--- a/x\n+++ b/x\n*** End Patch\n", "-- a/x\n", "++ b/x\n", "hunk 1 at line 1"},
		"a hunk that only places": {update + "@@\n class Square:\n@@\n-        return 1\n+        return 4\n*** End Patch\n", shapes, shapes[:80] + square(shapes[80:], "return 1", "return 4", 1), "hunk 2 at line 10"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, notes, err := applied(t, test.patch, test.content)
			if err != nil || got != test.want {
				t.Fatalf("%v: %q\nwant %q", err, got, test.want)
			}
			told := slices.ContainsFunc(notes, func(note string) bool {
				return strings.HasPrefix(note, test.note) || strings.HasSuffix(note, test.note)
			})
			if test.note == "" && len(notes) > 0 || test.note != "" && !told {
				t.Errorf("%q", notes)
			}
		})
	}
}

func TestApplyByContextFails(t *testing.T) {
	const update = "*** Begin Patch\n*** Update File: f\n"
	tests := map[string]struct{ patch, content, want string }{
		"ambiguous": {
			"--- a/f\n+++ b/f\n@@\n     def area(self):\n-        return 1\n+        return 4\n", shapes,
			`hunk 1 (line 3 of the patch, @@) does not fit: it would fit at the lines 2, 9. Give it more lines around the change, or say where it is in its header: "@@ -2,2 +2,2 @@" for the first of these.`,
		},
		"ambiguous header": {update + "@@ def area\n-        return 1\n+        return 4\n*** End Patch\n", shapes, "it would fit at the lines 3, 10."},
		"many":             {update + "@@\n-x\n+y\n*** End Patch\n", strings.Repeat("x\n", 500), "it would fit at the lines 1, 2, 3, 4, 5 and 96 more."},
		"above its header": {
			update + "@@ class Square:\n class Circle:\n-    def area(self):\n+    def size(self):\n*** End Patch\n", shapes,
			"the line of its header is line 8 of the file, and its other lines are not below it: they are at the lines 1. Correct the header.",
		},
		"nowhere":              {update + "@@ class Square:\n     def area(self):\n-        return 2\n+        return 3\n*** End Patch\n", shapes, `it has "        return 2" where line 10 of the file is "        return 1"`},
		"indented otherwise":   {update + "@@\n def area(self):\n-    return 2\n+    return 3\n*** End Patch\n", "  def area(self):\n      return 2\n", "it would fit at line 1 but for white space. The file has there:\n     1\t  def area"},
		"added nowhere":        {"--- a/f\n+++ b/f\n@@\n+x\n", "a\n", "it has no line of the file, so its place is unknown"},
		"added below no line":  {update + "@@ import os\n+x\n*** End Patch\n", "a\n", `the file has no line "import os", below which its lines would go.`},
		"added below two":      {update + "@@ x\n+y\n*** End Patch\n", "x\n\nx\n", "it would fit at the lines 1, 3."},
		"no header, no place":  {update + "-x\n+y\n*** End Patch\n", "a\n", `hunk 1 (line 3 of the patch) does not fit: it has "x" where line 1 of the file is "a"`},
		"added without a line": {"--- a/f\n+++ b/f\n@@ -5,3 +5,4 @@\n+x\n", shapes, "Line 3: the hunk has no line of the file, so its place is unknown. Give the lines around the change. To add lines behind line 5 its header is @@ -5,0 +6,1 @@."},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, _, err := applied(t, test.patch, test.content)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v: %q\nwant %q", err, got, test.want)
			}
		})
	}
}

// FuzzApply: a patch changes a text exactly as its hunks require, and lines that no hunk names stay as they are.
func FuzzApply(f *testing.F) {
	for _, seed := range [][2]string{
		{"--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n", "a\nc\n"}, {"--- f\n+++ f\n@@ -1,0 +2 @@\n+b\n", "a\nc\n"},
		{"--- f\n+++ f\n@@ -3,2 +3 @@\n c\n-d\n@@ -1 +1,2 @@\n-a\n+b\n+c\n", "x\na\nb\nc\nd"}, {"--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-c\n+d\n", "a\r\nc\r\n"},
		{"--- f\n+++ f\n@@ -2 +2 @@\n-c\n\\ No newline at end of file\n+d\n\\ No newline at end of file\n", "a\nc"}, {"--- f\n+++ f\n@@ -1 +1 @@\n a\n-b\n+c\n", " a\nb \n"},
		{"diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1,3 +1 @@ x\n-a\n-b\n c\n", "a\nb\nc\n"}, {"--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n", "a\n"},
		{"--- f\n+++ f\n@@ -0,0 +1 @@\n+a\n", ""}, {"--- f\n+++ f\n@@ -1,2 +1,2 @@\n\n-a\n+b\n", "\na\n"},
		{"--- f\n+++ f\n@@ -1,9 +1,9 @@\n a\n-b\n+c\n\nwords\n", "a\nb\n"}, {"--- f\n+++ f\n@@ b @@\n-a\n+c\n", "a\nb\na"}, {"--- f\n+++ f\n@@\n-a\n+c\n", "a\nb\n"},
		{"*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@ class A\n@@ b\n-a\n+c\n*** End of File\n*** End Patch", "class A\nb\na"},
		{"*** Begin Patch\n*** Update File: f\n a\n+c\n@@\n+d\n*** End Patch", "a \nb"}, {"*** Begin Patch\n*** Add File: f\n+a\n\n+b\n*** Delete File: g\n*** End Patch", ""},
		{"*** Update File: f\n@@ -1 +1 @@\n-a\n+c\n\\ No newline at end of file\n", "a\r\nb\r\n"}, {"*** Update File: f\n@@ x\n+“\n-\"\n", "x\n“ \n"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, content string) {
		files, err := Parse(text)
		if err != nil {
			return
		}
		for _, file := range files {
			changed, notes, err := Apply(context.Background(), content, file.Hunks)
			if err != nil {
				if _, ok := errors.AsType[*Misfit](err); !ok {
					t.Fatal(err)
				}
				continue
			}
			added, removed := file.Counts()
			if got, want := len(textlines.Split(changed)), len(textlines.Split(content))+added-removed; got != want {
				t.Fatalf("%q of %q: %q has %d lines, want %d", text, content, changed, got, want)
			}
			if len(file.Hunks) == 0 && changed != content || len(notes) > len(file.Hunks) {
				t.Fatalf("%q of %q: %q", text, content, changed)
			}
		}
	})
}

// The worst patches for the search: many hunks, each of which is nearly everywhere in a large file. It ends with its context.
func TestWorstPatchesEnd(t *testing.T) {
	content := strings.Repeat("a\n", 500_000)
	for name, text := range map[string]string{
		"long hunks":     "--- f\n+++ f\n@@\n" + strings.Repeat(" a\n", 30_000) + "-b\n+c\n",
		"many hunks":     "*** Update File: f\n" + strings.Repeat("@@\n a\n-b\n+c\n", 8_000),
		"many sections":  "*** Update File: f\n" + strings.Repeat("@@ a\n", 18_000) + "-b\n+c\n",
		"many places":    "*** Update File: f\n" + strings.Repeat("@@ a\n+c\n", 10_000),
		"many additions": "--- f\n+++ f\n" + strings.Repeat("@@ -1,0 +2 @@\n+c\n", 5_000),
		"many counts":    "--- f\n+++ f\n" + strings.Repeat("@@ -1,90000 +1,90000 @@\n-a\n", 3_000),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			files, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if read := time.Since(began); read > 2*time.Second {
				t.Errorf("it was read for %s", read)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, _, err = Apply(ctx, content, files[0].Hunks)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s: %.100v", took, err)
			}
		})
	}
}
