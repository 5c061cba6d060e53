// SPDX-License-Identifier: Apache-2.0

package patch

import "testing"

func TestReadHead(t *testing.T) {
	for text, want := range map[string]head{
		"@@ -1,3 +2,4 @@ func f() {\n": {numbered: true, first: 1, old: 3, made: 4}, "@@ -1 +2 @@\n": {numbered: true, first: 1, old: 1, made: 1},
		"@@ -1,3 +2,4\r\n": {numbered: true, first: 1, old: 3, made: 4}, "@@ -0,0 +1,4 @@": {numbered: true, made: 4},
		"@@\n": {}, "@@ ... @@\n": {}, "@@ -9 @@\n": {}, "@@ -1234567890 +1 @@\n": {},
		"@@ def f():\n": {section: "def f():"}, "@@ def f(): @@\n": {section: "def f():"}, "@@ \tf @@ \n": {section: "f"},
	} {
		if got := readHead(text); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// The lines of a hunk decide where it ends, and not the counts of its header.
func TestWrongCounts(t *testing.T) {
	const head = "--- a/f\n+++ b/f\n"
	const content = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"
	tests := map[string]struct{ patch, want string }{
		"too large":            {head + "@@ -1,30 +1,40 @@\n one\n-two\n+2\n three\n", "one\n2\nthree\nfour\nfive\nsix\nseven\n"},
		"too small":            {head + "@@ -1 +1 @@\n one\n-two\n+2\n three\n", "one\n2\nthree\nfour\nfive\nsix\nseven\n"},
		"wrong and elsewhere":  {head + "@@ -90,3 +90,23 @@\n three\n-four\n+4\n five\n", "one\ntwo\nthree\n4\nfive\nsix\nseven\n"},
		"two hunks":            {head + "@@ -1,9 +1,9 @@\n-one\n+1\n two\n@@ -6,9 +6,9 @@\n six\n-seven\n+7\n", "1\ntwo\nthree\nfour\nfive\nsix\n7\n"},
		"an empty line behind": {head + "@@ -1,9 +1,9 @@\n-one\n+1\n two\n\n", "1\ntwo\nthree\nfour\nfive\nsix\nseven\n"},
		"a fence behind":       {"```diff\n" + head + "@@ -1,9 +1,9 @@\n-one\n+1\n two\n```\n\n- changed one\n", "1\ntwo\nthree\nfour\nfive\nsix\nseven\n"},
		"words behind":         {head + "@@ -1,9 +1,9 @@\n-one\n+1\n two\n\nThat is all.\n", "1\ntwo\nthree\nfour\nfive\nsix\nseven\n"},
		"a mail":               {head + "@@ -1,9 +1,9 @@\n-one\n+1\n two\n-- \n2.39.0\n", "1\ntwo\nthree\nfour\nfive\nsix\nseven\n"},
		"cut off":              {head + "@@ -1,3 +1,3 @@\n one\n-two\n+2", "one\n2\nthree\nfour\nfive\nsix\nseven\n"},
		"V4A around it":        {"*** Begin Patch\n" + head + "@@ -1,9 +1,9 @@\n-one\n+1\n two\n*** End Patch\n", "1\ntwo\nthree\nfour\nfive\nsix\nseven\n"},
		"another file behind":  {head + "@@ -1,9 +1,9 @@\n-one\n+1\n two\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n", "1\ntwo\nthree\nfour\nfive\nsix\nseven\n"},
		"git's behind":         {head + "@@ -1,9 +1,9 @@\n-one\n+1\n two\ndiff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1 +1 @@\n-x\n+y\n", "1\ntwo\nthree\nfour\nfive\nsix\nseven\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, _, err := applied(t, test.patch, content); err != nil || got != test.want {
				t.Errorf("%v: %q\nwant %q", err, got, test.want)
			}
		})
	}
}

// A comment of Lua or SQL that goes looks like the header of a file.
func TestLinesLikeHeaders(t *testing.T) {
	got, _, err := applied(t, "--- a/f\n+++ b/f\n@@ -1,7 +1,7 @@\n local x\n--- old comment\n+-- new comment\n return x\n", "local x\n-- old comment\nreturn x\n")
	if want := "local x\n-- new comment\nreturn x\n"; err != nil || got != want {
		t.Errorf("%v: %q", err, got)
	}
}
