// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/textlines"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
	"motorcortex.dev/motorcortex/test/traps"
)

const goSource = `package main

import "fmt"

func main() {
	fmt.Println("one")
	fmt.Println("two")
}

func twice(n int) int {
	return n + n
}

func thrice(n int) int {
	return n + n
}
`

func TestEdit(t *testing.T) {
	s := newSandbox(t)
	tests := map[string]struct {
		content string
		args    toolapi.EditArgs
		want    string // "" means that nothing changes
		code    string
		output  string
	}{
		"a line": {
			goSource, toolapi.EditArgs{OldText: `Println("two")`, NewText: `Println("three")`},
			strings.Replace(goSource, "two", "three", 1), "",
			"edited f at line 7; there is now:\n     4\t\n     5\tfunc main() {\n     6\t\tfmt.Println(\"one\")\n" +
				"     7\t\tfmt.Println(\"three\")\n     8\t}\n     9\t\n    10\tfunc twice(n int) int {\n",
		},
		"lines": {
			"a\nb\nc\nd\n", toolapi.EditArgs{OldText: "b\nc\n", NewText: "B\n1\n2\nC\n"}, "a\nB\n1\n2\nC\nd\n", "",
			"edited f at line 2; there is now:\n     1\ta\n     2\tB\n     3\t1\n     4\t2\n     5\tC\n     6\td\n",
		},
		"removal":    {"a\nb\nc\n", toolapi.EditArgs{OldText: "b\n", NewText: ""}, "a\nc\n", "", "edited f at line 2; there is now:\n     1\ta\n     2\tc\n"},
		"everything": {"all", toolapi.EditArgs{OldText: "all", NewText: ""}, "\x00", "", "edited f at line 1; there is now:\n[the file is empty]"},
		"every one": {
			"x = 1\ny = x\n\n\n\n\n\n\n\n\nz = x + x\n", toolapi.EditArgs{OldText: "x", NewText: "a\nb", ReplaceAll: true},
			"a\nb = 1\ny = a\nb\n\n\n\n\n\n\n\n\nz = a\nb + a\nb\n", "",
			"edited f in 4 places, lines 1, 3, 13, 14; there is now:\n     1\ta\n     2\tb = 1\n     3\ty = a\n     4\tb\n     5\t\n     6\t\n     7\t\n" +
				"       …\n    10\t\n    11\t\n    12\t\n    13\tz = a\n    14\tb + a\n    15\tb\n",
		},
		"one of all":   {"x\n", toolapi.EditArgs{OldText: "x", NewText: "y", ReplaceAll: true}, "y\n", "", "edited f at line 1; there is now:\n     1\ty\n"},
		"overlap, all": {"aaa\n", toolapi.EditArgs{OldText: "aa", NewText: "b", ReplaceAll: true}, "ba\n", "", "edited f at line 1; there is now:\n     1\tba\n"},
		"CRLF stays":   {"a\r\nb\r\n", toolapi.EditArgs{OldText: "b", NewText: "c"}, "a\r\nc\r\n", "", "edited f at line 2; there is now:\n     1\ta\n     2\tc\n"},
		"long lines": {
			strings.Repeat("é", 300) + "\n", toolapi.EditArgs{OldText: strings.Repeat("é", 300), NewText: strings.Repeat("ü", 300)},
			strings.Repeat("ü", 300) + "\n", "", "edited f at line 1; there is now:\n     1\t" + strings.Repeat("ü", 100) + "…\n",
		},
		"escapes are not shown": {"a\n", toolapi.EditArgs{OldText: "a", NewText: "\x1b[2J"}, "\x1b[2J\n", "", "edited f at line 1; there is now:\n     1\t\uFFFD[2J\n"},
		"many new lines": {
			"a\n", toolapi.EditArgs{OldText: "a\n", NewText: strings.Repeat("b\n", 40)}, strings.Repeat("b\n", 40), "",
			"edited f at line 1; there is now:\n     1\tb\n     2\tb\n     3\tb\n     4\tb\n     5\tb\n     6\tb\n     7\tb\n     8\tb\n" +
				"       … 24 lines …\n    33\tb\n    34\tb\n    35\tb\n    36\tb\n    37\tb\n    38\tb\n    39\tb\n    40\tb\n",
		},
		"not unique": {
			goSource, toolapi.EditArgs{OldText: "return n + n", NewText: "return 2 * n"}, "", toolapi.CodeNotUnique,
			"oldText is in f 2 times, at the lines 11, 15, and nothing was changed. Give more of the text around the one that you mean, or replaceAll to replace every one.",
		},
		"overlapping":   {"aaa", toolapi.EditArgs{OldText: "aa", NewText: "b"}, "", toolapi.CodeNotUnique, "oldText is in f 2 times, at the lines 1, 1, and"},
		"many of them":  {strings.Repeat("x\n", 9), toolapi.EditArgs{OldText: "x", NewText: "b"}, "", toolapi.CodeNotUnique, "9 times, at the lines 1, 2, 3, 4, 5 and 4 more"},
		"absent":        {goSource, toolapi.EditArgs{OldText: "nowhere", NewText: "x"}, "", toolapi.CodeNoMatch, "oldText is not in f, and nothing was changed. Read the file to see what it has."},
		"in empty file": {"", toolapi.EditArgs{OldText: "x", NewText: "y"}, "", toolapi.CodeNoMatch, "Read the file"},
		"white space": {
			goSource, toolapi.EditArgs{OldText: "func twice(n int) int\n{\n    return n+n\n}", NewText: "x"}, "", toolapi.CodeNoMatch,
			"It is at line 10 but for white space; the file has there:\n    10\tfunc twice(n int) int {\n    11\t\treturn n + n\n    12\t}\n",
		},
		"LF for CRLF":       {"a\r\nb\r\nc", toolapi.EditArgs{OldText: "b\nc", NewText: "x\ny"}, "a\r\nx\r\ny", "", "edited f at line 2; there is now:\n     1\ta\n     2\tx\n     3\ty\n"},
		"LF in new text":    {"a\r\nb\r\n", toolapi.EditArgs{OldText: "b", NewText: "x\ny"}, "a\r\nx\r\ny\r\n", "", "edited f at line 2; there is now:\n     1\ta\n     2\tx\n     3\ty\n"},
		"CRLF for LF":       {"a\nb\nc", toolapi.EditArgs{OldText: "b\r\nc", NewText: "x\r\ny"}, "a\nx\ny", "", "edited f at line 2; there is now:\n     1\ta\n     2\tx\n     3\ty\n"},
		"CRLF becomes LF":   {"a\r\nb\r\n", toolapi.EditArgs{OldText: "\r\n", NewText: "\n", ReplaceAll: true}, "a\nb\n", "", "edited f in 2 places, lines 1, 2; there is now:\n     1\ta\n     2\tb\n"},
		"LF becomes CRLF":   {"a\nb\n", toolapi.EditArgs{OldText: "\n", NewText: "\r\n", ReplaceAll: true}, "a\r\nb\r\n", "", "edited f in 2 places, lines 1, 2; there is now:\n     1\ta\n     2\tb\n"},
		"LF in a mixture":   {"a\nb\r\nc", toolapi.EditArgs{OldText: "b\nc", NewText: "x"}, "", toolapi.CodeNoMatch, `It is at line 2 but for the line ends: the file has CRLF line ends; write \r\n`},
		"CRLF in a mixture": {"a\r\nb\nc", toolapi.EditArgs{OldText: "b\r\nc", NewText: "x"}, "", toolapi.CodeNoMatch, `It is at line 2 but for the line ends: the file has LF line ends; write \n`},
		"one hidden line shown": {
			"a\n", toolapi.EditArgs{OldText: "a\n", NewText: strings.Repeat("b\n", 17)}, strings.Repeat("b\n", 17), "",
			"edited f at line 1; there is now:\n" + numberedLines("b", 17),
		},
		"numbers of read": {
			goSource, toolapi.EditArgs{OldText: "    11\t\treturn n + n\n    12\t}\n    13\t\n", NewText: "x"}, "", toolapi.CodeNoMatch,
			"It has the line numbers in it that read shows",
		},
		"differing line": {
			goSource, toolapi.EditArgs{OldText: "func main() {\n\tfmt.Println(\"one\")\n\tfmt.Println(\"zwei\")\n", NewText: "x"}, "", toolapi.CodeNoMatch,
			"Its first line is line 5 of the file; line 3 of it is \"\\tfmt.Println(\\\"zwei\\\")\", and the file has there:\n     5\tfunc main() {\n",
		},
		"nothing to replace": {"a", toolapi.EditArgs{OldText: "", NewText: "b"}, "", toolapi.CodeInvalidArguments, "oldText is empty"},
		"no change":          {"a", toolapi.EditArgs{OldText: "a", NewText: "a"}, "", toolapi.CodeInvalidArguments, "the same"},
		"NUL":                {"a", toolapi.EditArgs{OldText: "a", NewText: "\x00"}, "", toolapi.CodeInvalidArguments, "NUL"},
		"latin-1":            {"caf\xe9", toolapi.EditArgs{OldText: "caf", NewText: "x"}, "", toolapi.CodeNotText, "f is not UTF-8 text: text/plain in another encoding, 4 bytes, sha256 "},
		"binary":             {"a\x00b", toolapi.EditArgs{OldText: "a", NewText: "x"}, "", toolapi.CodeNotText, "application/octet-stream, 3 bytes"},
		"grows too much": {
			strings.Repeat("a", 1000), toolapi.EditArgs{OldText: "a", NewText: strings.Repeat("b", 50_000), ReplaceAll: true}, "", toolapi.CodeTooLarge,
			"f would have 50000000 bytes and may have 1048576",
		},
		"too large": {strings.Repeat("a\n", 600_000), toolapi.EditArgs{OldText: "b", NewText: "c"}, "", toolapi.CodeTooLarge, "f has more than 1 MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s.write("f", test.content)
			want := strings.TrimSuffix(test.want, "\x00")
			if test.want == "" {
				want = test.content
			}
			test.args.Path = "f"
			r := s.run(toolapi.ToolEdit, test.args)
			if r.ErrorCode != test.code || r.OK != (test.code == "") || s.content("f") != want {
				t.Fatalf("code %q: %s\nthe file is %.200q", r.ErrorCode, r.Output, s.content("f"))
			}
			if r.OK && r.Output != test.output || !strings.Contains(r.Output, test.output) {
				t.Errorf("%q\nwant %q", r.Output, test.output)
			}
		})
	}
	if left, err := filepath.Glob(s.workspace + "/" + workspace.TempDir + "/*"); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

// numberedLines is the excerpt of a file with the same line again and again.
func numberedLines(line string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(textlines.Numbered(i+1, line) + "\n")
	}
	return b.String()
}

func TestEditKeepsPermissions(t *testing.T) {
	s := newSandbox(t)
	s.write("run.sh", "#!/bin/bash\necho one\n")
	if err := os.Chmod(s.workspace+"/run.sh", 0o750); err != nil {
		t.Fatal(err)
	}
	if r := s.run(toolapi.ToolEdit, toolapi.EditArgs{Path: s.workspace + "/run.sh", OldText: "one", NewText: "two"}); !r.OK {
		t.Fatalf("%+v", r)
	}
	if info, err := os.Stat(s.workspace + "/run.sh"); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// Paths that cannot be changed: the same for edit and patch.
func TestChangesAreConfined(t *testing.T) {
	s := newSandbox(t)
	outside := traps.Fill(t, s.workspace)
	for path, code := range map[string]string{
		"../secret": toolapi.CodeOutsideWorkspace, outside: toolapi.CodeOutsideWorkspace, "abs": toolapi.CodeOutsideWorkspace,
		"rel": toolapi.CodeOutsideWorkspace, "up/secret": toolapi.CodeOutsideWorkspace, "rootlink/etc/passwd": toolapi.CodeOutsideWorkspace,
		"/proc/self/mem": toolapi.CodeOutsideWorkspace, "pipe": toolapi.CodeInvalidArguments, "topipe": toolapi.CodeInvalidArguments,
		"socket": toolapi.CodeInvalidArguments, "loop/x": toolapi.CodeInvalidArguments, "dir": toolapi.CodeIsDirectory,
		"dir/": toolapi.CodeIsDirectory, "good": toolapi.CodeInvalidArguments, "dir/file/x": toolapi.CodeNotDirectory, "no/such": toolapi.CodeNotFound,
		"dangling": toolapi.CodeInvalidArguments, "newout": toolapi.CodeOutsideWorkspace, "dir/file/": toolapi.CodeIsDirectory,
		strings.Repeat("x", 300): toolapi.CodeInvalidArguments, "good/file": "",
	} {
		r := s.run(toolapi.ToolEdit, toolapi.EditArgs{Path: path, OldText: "inside", NewText: "INSIDE"})
		if r.ErrorCode != code {
			t.Errorf("edit %s: %+v, want %q", path, r, code)
		}
		// The file was just changed, if it was one.
		diff := "--- " + path + "\n+++ " + path + "\n@@ -1 +1 @@\n-INSIDE\n+inside\n"
		if r := s.run(toolapi.ToolPatch, toolapi.PatchArgs{Patch: diff}); r.ErrorCode != code {
			t.Errorf("patch %s: %+v, want %q", path, r, code)
		}
	}
	if err := os.Symlink("dir/file", s.workspace+"/link"); err != nil {
		t.Fatal(err)
	}
	r := s.run(toolapi.ToolEdit, toolapi.EditArgs{Path: "link", OldText: "inside", NewText: "x"})
	if r.ErrorCode != toolapi.CodeInvalidArguments || !strings.Contains(r.Output, "link is a symbolic link to dir/file") {
		t.Errorf("%+v", r)
	}
	if content, err := os.ReadFile(outside); err != nil || string(content) != traps.Secret {
		t.Errorf("the file outside is %q: %v", content, err)
	}
}
