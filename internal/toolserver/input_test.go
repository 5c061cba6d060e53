// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
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
	"motorcortex.dev/motorcortex/test/traps"
)

func TestPutFile(t *testing.T) {
	s := newSandbox(t)
	traps.Fill(t, s.workspace)
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
	// A file of an answer comes between two calls, and never beside its folder.
	for _, content := range []string{"first", "second", "second"} {
		if _, err := c.PutFile(ctx, "answers/sub/a.csv", []byte(content)); err != nil || s.content("answers/sub/a.csv") != content {
			t.Errorf("a file of an answer after the first call: %q, %v", s.content("answers/sub/a.csv"), err)
		}
	}
	for _, path := range []string{"answers", "answers2/a", "in/answers/a", "answers/../in/x"} {
		if _, err := c.PutFile(ctx, path, []byte("other")); err == nil {
			t.Errorf("%s was put there after the first call", path)
		}
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
	traps.Fill(t, s.workspace)
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

// A program of the sandbox makes links in the place of the folder for answers. The file of a person then overwrites none of another folder, and gets into
// none that is closed to it.
func TestAFileOfAnAnswerFollowsNoLink(t *testing.T) {
	s := newSandbox(t)
	c, ctx := s.client(1), testContext(t)
	s.must("mkdir -p src real .motor/git && echo mine > src/main.go && ln -s ../src real/in && echo same > src/same && ln -s src answers")
	large := bytes.Repeat([]byte("x"), toolapi.MaxFileBytes+1)
	put := func(path, content string) error {
		_, err := c.PutFile(ctx, path, []byte(content))
		return err
	}
	wantRemote(t, "the folder is a link", put("answers/main.go", "theirs"), 400, toolapi.ErrBadRequest)
	wantRemote(t, "the file is there behind the link", put("answers/same", "same\n"), 400, toolapi.ErrBadRequest)
	sum := sha256.Sum256(large)
	_, err := c.PutFileParts(ctx, "answers/large", bytes.NewReader(large), int64(len(large)), hex.EncodeToString(sum[:]), toolapi.ProvenanceInternal)
	wantRemote(t, "in parts", err, 400, toolapi.ErrBadRequest)
	s.must("rm answers && ln -s .motor answers")
	wantRemote(t, "the server's own folder", put("answers/git/x", "theirs"), 400, toolapi.ErrBadRequest)
	s.must("rm answers && mv real answers")
	wantRemote(t, "a link below the folder", put("answers/in/main.go", "theirs"), 400, toolapi.ErrBadRequest)
	if got := s.content("src/main.go"); got != "mine\n" {
		t.Errorf("behind the links is %q", got)
	}
	for _, file := range []string{"src/large", ".motor/git/x"} {
		if _, err := os.Lstat(filepath.Join(s.workspace, file)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", file, err)
		}
	}
	// A link in the place of the file itself is replaced.
	s.must("ln -s ../src/main.go answers/main.go")
	if err := put("answers/main.go", "theirs"); err != nil || s.content("answers/main.go") != "theirs" || s.content("src/main.go") != "mine\n" {
		t.Errorf("a link in the place of the file: %v", err)
	}
	if _, err := c.PutFileParts(ctx, "answers/new/large", bytes.NewReader(large), int64(len(large)), hex.EncodeToString(sum[:]), toolapi.ProvenanceInternal); err != nil {
		t.Error(err)
	}
}

// What programs make of the folder for answers is a problem of the file, not of the sandbox.
func TestAFileOfAnAnswerThatCannotBeThere(t *testing.T) {
	s := newSandbox(t)
	c, ctx := s.client(1), testContext(t)
	s.must("mkdir -p answers/folder answers/closed && echo x > answers/file && mkfifo answers/pipe && chmod 500 answers/closed")
	paths := []string{"answers/folder", "answers/file/below", "answers/pipe", "answers/" + strings.Repeat("日", 100)}
	if os.Geteuid() != 0 { // No folder is closed to root.
		paths = append(paths, "answers/closed/x")
	}
	for _, path := range paths {
		_, err := c.PutFile(ctx, path, []byte("x"))
		wantRemote(t, path, err, 400, toolapi.ErrBadRequest)
	}
}
