// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
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
	if r := s.bash("./script.sh"); r.Output != "hi\n" {
		t.Errorf("the script lost its permissions: %+v", r)
	}
	r := s.run(toolapi.ToolWrite, toolapi.WriteArgs{Path: "folder/", Content: "x"})
	if r.ErrorCode != toolapi.CodeIsDirectory {
		t.Errorf("a path with a slash at its end: %+v", r)
	}
	if left, err := filepath.Glob(s.workspace + "/" + workspace.TempDir + "/*"); err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

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

// Following the hints must give the whole file.
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

func TestList(t *testing.T) {
	s := newSandbox(t)
	withTraps(t, s.workspace)
	s.write("a\nb", "12345")
	s.write(".motor/output/x.txt", "hidden")
	s.write("many/x", "")
	for i := range maxListed + 10 {
		s.write(fmt.Sprintf("many/%05d", i), "")
	}
	top := strings.Join([]string{
		`"a\nb"  5`, "abs  symbolic link to " + filepath.Dir(s.workspace) + "/secret", "dangling  symbolic link to nowhere", "dir/",
		"good  symbolic link to dir", "loop  symbolic link to loop", "many/", "newout  symbolic link to ../newfile",
		"pipe  not a regular file", "rel  symbolic link to ../secret", "rootlink  symbolic link to /", "socket  not a regular file",
		"topipe  symbolic link to pipe", "up  symbolic link to ..",
	}, "\n") + "\n"
	tests := map[string]struct {
		args   toolapi.ListArgs
		output string
		has    string
	}{
		"workspace":       {args: toolapi.ListArgs{}, output: top},
		"by its path":     {args: toolapi.ListArgs{Path: s.workspace}, output: top},
		"folder":          {args: toolapi.ListArgs{Path: "dir"}, output: "file  7\nsub/\n"},
		"recursive":       {args: toolapi.ListArgs{Path: "dir", Recursive: true}, output: "file  7\nsub/\n"},
		"deep":            {args: toolapi.ListArgs{Recursive: true}, has: "\ndir/\ndir/file  7\ndir/sub/\ngood  "},
		"through a link":  {args: toolapi.ListArgs{Path: "good"}, output: "file  7\nsub/\n"},
		"empty":           {args: toolapi.ListArgs{Path: "dir/sub"}, output: "[the folder is empty]"},
		"too many":        {args: toolapi.ListArgs{Path: "many"}, has: "only the first 1000 entries"},
		"the server's":    {args: toolapi.ListArgs{Path: ".motor/output"}, output: "x.txt  6\n"},
		"too many, below": {args: toolapi.ListArgs{Recursive: true}, has: "[there is more"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := s.run(toolapi.ToolList, test.args)
			if !r.OK || test.output != "" && r.Output != test.output || !strings.Contains(r.Output, test.has) {
				t.Errorf("%+v, want %q%q", r, test.output, test.has)
			}
		})
	}
}

func TestArgumentsAreStrict(t *testing.T) {
	s := newSandbox(t)
	for name, call := range map[string]toolapi.Call{
		"unknown field": {ID: "a", Tool: toolapi.ToolRead, Arguments: []byte(`{"file":"x"}`)},
		"wrong type":    {ID: "b", Tool: toolapi.ToolRead, Arguments: []byte(`{"path":1}`)},
		"no object":     {ID: "c", Tool: toolapi.ToolBash, Arguments: []byte(`"ls"`)},
		"null":          {ID: "d", Tool: toolapi.ToolWrite, Arguments: []byte(`null`)},
		"out of range":  {ID: "e", Tool: toolapi.ToolBash, Arguments: []byte(`{"command":"ls","timeoutSeconds":99999999999}`)},
		"list":          {ID: "f", Tool: toolapi.ToolList, Arguments: []byte(`{"depth":1}`)},
		"code":          {ID: "g", Tool: toolapi.ToolCode, Arguments: []byte(`{"lang":"python"}`)},
	} {
		if r := s.runCall(call); r.ErrorCode != toolapi.CodeInvalidArguments || r.Output == "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestPutFile(t *testing.T) {
	s := newSandbox(t)
	withTraps(t, s.workspace)
	c, ctx := s.client(1), testContext(t)
	content := []byte("a,b\n1,2\n")
	sum := sha256.Sum256(content)
	for range 2 {
		file, err := c.PutFile(ctx, "in/data #1?.csv", content)
		want := toolapi.File{Path: "in/data #1?.csv", Size: 8, SHA256: hex.EncodeToString(sum[:])}
		if err != nil || file != want || s.content("in/data #1?.csv") != string(content) {
			t.Fatalf("%+v %v", file, err)
		}
	}
	if _, err := c.PutFile(ctx, "in/data #1?.csv", []byte("new")); err != nil {
		t.Errorf("other content before the first call: %v", err)
	}
	if _, err := c.PutFile(ctx, "largest", make([]byte, toolapi.MaxFileBytes)); err != nil {
		t.Errorf("the largest file: %v", err)
	}
	_, err := c.PutFile(ctx, "x", make([]byte, toolapi.MaxFileBytes+1))
	wantRemote(t, "a file that is too large", err, 413, toolapi.ErrTooLarge)
	for _, path := range []string{"", ".", "..", "../x", "/etc/x", "dir", "dir/", "up/x", "rootlink/x", "pipe", "dir/file/x", "a\x00b",
		".motor/x", ".motor", strings.Repeat("x", 300), strings.Repeat("x/", 3000)} {
		_, err := c.PutFile(ctx, path, []byte("x"))
		wantRemote(t, "path "+workspace.Display(path), err, 400, toolapi.ErrBadRequest)
	}

	s.bash("rm largest")
	if _, err := c.PutFile(ctx, "in/data #1?.csv", []byte("new")); err != nil {
		t.Errorf("the same content after the first call: %v", err)
	}
	for _, path := range []string{"in/data #1?.csv", "largest", "unheard of"} {
		_, err := c.PutFile(ctx, path, []byte("other"))
		wantRemote(t, path+" after the first call", err, 409, toolapi.ErrFileConflict)
	}
	if s.content("in/data #1?.csv") != "new" || s.content("largest") != "" {
		t.Error("a refused file was written")
	}
}

func TestPutProgram(t *testing.T) {
	s := newSandbox(t)
	c, ctx := s.client(1), testContext(t)
	script := []byte("#!/bin/sh\necho ran\n")
	mode := func() fs.FileMode {
		t.Helper()
		info, err := os.Lstat(filepath.Join(s.workspace, "scripts/run.sh"))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	if _, err := c.PutFile(ctx, "scripts/run.sh", script); err != nil || mode() != 0o644 {
		t.Fatalf("no program: mode %s, %v", mode(), err)
	}
	for range 2 {
		if _, err := c.PutProgram(ctx, "scripts/run.sh", script, toolapi.ProvenanceInternal); err != nil || mode() != 0o755 {
			t.Fatalf("mode %s, %v", mode(), err)
		}
	}
	if _, err := c.PutProgram(ctx, "scripts/run.sh", append(script, '\n'), toolapi.ProvenanceInternal); err != nil || mode() != 0o755 {
		t.Fatalf("other bytes: mode %s, %v", mode(), err)
	}
	if r := s.bash("scripts/run.sh; chmod a-x scripts/run.sh"); r.Output != "ran\n" {
		t.Errorf("%+v", r)
	}
	_, err := c.PutProgram(ctx, "scripts/run.sh", append(script, '\n'), toolapi.ProvenanceInternal)
	wantRemote(t, "after the first call", err, 409, toolapi.ErrFileConflict)
	if mode() != 0o644 {
		t.Errorf("a refused file was changed: %s", mode())
	}
	for value, ok := range map[string]bool{"": true, "true": true, "false": false, "True": false, "0755": false} {
		r := httptest.NewRequest(http.MethodPut, toolapi.PathFiles+"a", nil)
		r.Header.Set(toolapi.HeaderExecutable, value)
		if _, err := permissions(&request.Request{Request: r}); (err == nil) != ok {
			t.Errorf("%q: %v", value, err)
		}
	}
}

func TestGetFile(t *testing.T) {
	s := newSandbox(t)
	withTraps(t, s.workspace)
	c, ctx := s.client(1), testContext(t)
	largest := strings.Repeat("\x00\xff", toolapi.MaxReadBytes/2)
	s.write("in/key #1?", largest)
	s.write("empty", "")
	s.write("larger", largest+"x")
	for path, want := range map[string]string{
		"in/key #1?": largest, s.workspace + "/in/key #1?": largest, "empty": "", "./in/../dir/file": "inside\n", "good/file": "inside\n",
	} {
		if got, err := c.GetFile(ctx, path); err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
	}
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"larger": {413, toolapi.ErrTooLarge}, "none": {404, toolapi.ErrNotFound}, "none/x": {404, toolapi.ErrNotFound},
		"dangling": {404, toolapi.ErrNotFound}, "dir": {404, toolapi.ErrNotFound}, "dir/file/x": {404, toolapi.ErrNotFound},
		"pipe": {404, toolapi.ErrNotFound}, "topipe": {404, toolapi.ErrNotFound}, "socket": {404, toolapi.ErrNotFound}, ".": {404, toolapi.ErrNotFound},
		"": {400, toolapi.ErrBadRequest}, "..": {400, toolapi.ErrBadRequest}, "../secret": {400, toolapi.ErrBadRequest},
		"abs": {400, toolapi.ErrBadRequest}, "rel": {400, toolapi.ErrBadRequest}, "up/secret": {400, toolapi.ErrBadRequest},
		"rootlink/etc/passwd": {400, toolapi.ErrBadRequest}, "/etc/passwd": {400, toolapi.ErrBadRequest}, "loop": {400, toolapi.ErrBadRequest},
		"a\x00b": {400, toolapi.ErrBadRequest}, strings.Repeat("x", 300): {400, toolapi.ErrBadRequest},
	} {
		_, err := c.GetFile(ctx, path)
		wantRemote(t, "path "+workspace.Display(path), err, want.status, want.code)
	}
	if s.server.ledger.Used() {
		t.Error("reading a file counts as a call")
	}
	if _, err := s.client(2).GetFile(ctx, "empty"); err != nil {
		t.Error(err)
	}
	if _, err := c.GetFile(ctx, "empty"); !errors.Is(err, toolclient.ErrStaleEpoch) {
		t.Errorf("an older epoch: %v", err)
	}
}
