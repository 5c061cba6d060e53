// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestRead(t *testing.T) {
	s := newSandbox(t)
	var lines strings.Builder
	for i := range 950 {
		fmt.Fprintf(&lines, "line %d with some text to make it longer\n", i+1)
	}
	s.write("lines", lines.String())
	s.write("short", "a\nb\nc")
	s.write("empty", "")
	s.write("latin1", "caf\xe9\n")
	s.write("binary", "a\x00b")
	s.write("image", "\x89PNG\x0d\x0a\x1a\x0a"+strings.Repeat("\x00", 8184))
	s.write("program", "\x7fELF\x02\x00")
	s.write("late binary", strings.Repeat("text\n", 10000)+"\xff")
	s.write("wide", strings.Repeat("é", 40000)+"\nnext\n")
	s.write("colors", "\x1b[31mred\r\n\ttab\n")
	if err := os.Truncate(s.workspace+"/empty", 0); err != nil {
		t.Fatal(err)
	}
	s.write("sparse", "")
	if err := os.Truncate(s.workspace+"/sparse", maxReadBytes+1); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		args   toolapi.ReadArgs
		code   string
		output string // exactly
		has    string
	}{
		"whole":          {args: toolapi.ReadArgs{Path: "short"}, output: "     1\ta\n     2\tb\n     3\tc"},
		"from an offset": {args: toolapi.ReadArgs{Path: "short", Offset: 2}, output: "     2\tb\n     3\tc\n[lines 2-3 of 3; this is the end]"},
		"one line":       {args: toolapi.ReadArgs{Path: "short", Offset: 2, Limit: 1}, output: "     2\tb\n[lines 2-2 of 3; continue with offset 3]"},
		"last line":      {args: toolapi.ReadArgs{Path: "short", Offset: 3, Limit: 5}, output: "     3\tc\n[lines 3-3 of 3; this is the end]"},
		"behind the end": {args: toolapi.ReadArgs{Path: "short", Offset: 4}, code: toolapi.CodeInvalidArguments, has: "3 lines"},
		"negative":       {args: toolapi.ReadArgs{Path: "short", Offset: -1}, code: toolapi.CodeInvalidArguments},
		"no path":        {args: toolapi.ReadArgs{}, code: toolapi.CodeInvalidArguments, has: "path"},
		"empty":          {args: toolapi.ReadArgs{Path: "empty"}, output: "[the file is empty]"},
		"more than fits": {args: toolapi.ReadArgs{Path: "lines"}, has: " of 950; continue with offset "},
		"other encoding": {args: toolapi.ReadArgs{Path: "latin1"}, code: toolapi.CodeNotText, has: "not UTF-8 text: text/plain in another encoding, 5 bytes, sha256 " +
			"9e4efed0ff1dbcf37240f82e1aad6c763eb9331434d2b394a6441abbbe3634eb"},
		"binary":               {args: toolapi.ReadArgs{Path: "binary"}, code: toolapi.CodeNotText, has: "application/octet-stream, 3 bytes, sha256 "},
		"image":                {args: toolapi.ReadArgs{Path: "image"}, code: toolapi.CodeNotText, has: "image/png, 8192 bytes, sha256 "},
		"program":              {args: toolapi.ReadArgs{Path: "program"}, code: toolapi.CodeNotText, has: "application/x-elf, 6 bytes"},
		"binary after a while": {args: toolapi.ReadArgs{Path: "late binary", Limit: 1}, code: toolapi.CodeNotText},
		"a very long line":     {args: toolapi.ReadArgs{Path: "wide"}, has: "[line 1 of 2 is cut: it has 80001 bytes"},
		"after the long line":  {args: toolapi.ReadArgs{Path: "wide", Offset: 2}, output: "     2\tnext\n[lines 2-2 of 2; this is the end]"},
		"control characters":   {args: toolapi.ReadArgs{Path: "colors"}, output: "     1\t\uFFFD[31mred\r\n     2\t\ttab\n"},
		"too large":            {args: toolapi.ReadArgs{Path: "sparse"}, code: toolapi.CodeTooLarge, has: "64 MiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolRead, test.args)
			if r.ErrorCode != test.code || r.OK != (test.code == "") || len(r.Output) > toolapi.MaxOutputBytes {
				t.Fatalf("code %q, want %q: %.300s", r.ErrorCode, test.code, r.Output)
			}
			if test.output != "" && r.Output != test.output || !strings.Contains(r.Output, test.has) {
				t.Errorf("%.300q, want %q%q", r.Output, test.output, test.has)
			}
		})
	}
}

// Following the hints must return the whole file.
func TestReadInPages(t *testing.T) {
	s := newSandbox(t)
	var want strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&want, "%d: é %s\n", i, strings.Repeat("x", i%50))
	}
	s.write("file", want.String())
	var got strings.Builder
	for offset, pages := 1, 0; offset > 0; pages++ {
		call := newCallOf(t, "", toolapi.ToolRead, toolapi.ReadArgs{Path: "file", Offset: int32(offset)})
		call.MaxOutputBytes = 4000
		r := s.runCall(call)
		text, hint, _ := strings.Cut(r.Output, "[lines ")
		got.WriteString(readNumber.ReplaceAllString(text, ""))
		var from, to, of int
		if n, _ := fmt.Sscanf(hint, "%d-%d of %d; continue with offset %d", &from, &to, &of, &offset); n < 4 {
			offset = 0
		}
		if !r.OK || pages > 100 {
			t.Fatalf("page %d: %+v", pages, r)
		}
	}
	if got.String() != want.String() {
		t.Errorf("%d bytes, want %d", got.Len(), want.Len())
	}
}
