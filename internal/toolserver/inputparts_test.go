// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
	"motorcortex.dev/motorcortex/test/traps"
)

// large is a content of some parts and a bit, and its digest.
func large(seed byte) (content []byte, sum string) {
	content = bytes.Repeat([]byte{seed, 0, 0xff, '\n', seed + 1}, toolapi.MaxChunkBytes/2+1)
	digest := sha256.Sum256(content)
	return content, hex.EncodeToString(digest[:])
}

// putParts puts a file in parts, and calls at before each read.
func putParts(ctx context.Context, c *toolclient.Client, path string, content []byte, sum string, at func(read int)) (toolapi.File, error) {
	r := &watchedReader{r: bytes.NewReader(content), at: at}
	return c.PutFileParts(ctx, path, r, int64(len(content)), sum, toolapi.ProvenanceInternal)
}

type watchedReader struct {
	r    io.Reader
	read int
	at   func(read int)
}

func (w *watchedReader) Read(p []byte) (int, error) {
	if w.at != nil {
		w.at(w.read)
	}
	n, err := w.r.Read(p)
	w.read += n
	return n, err
}

func (s *sandbox) leftParts() int {
	s.t.Helper()
	left, err := filepath.Glob(filepath.Join(s.workspace, workspace.TempDir, "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return len(left)
}

func TestPutFileParts(t *testing.T) {
	s := newSandbox(t)
	c, ctx := s.client(1), testContext(t)
	content, sum := large(1)
	path := filepath.Join(s.workspace, "in/data #1?.bin")
	early := false
	file, err := putParts(ctx, c, "in/data #1?.bin", content, sum, func(int) {
		_, err := os.Stat(path)
		early = early || err == nil
	})
	if want := (toolapi.File{Path: "in/data #1?.bin", Size: int64(len(content)), SHA256: sum}); err != nil || file != want {
		t.Fatalf("%+v %v", file, err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, content) || early || s.leftParts() > 0 {
		t.Errorf("%d of %d bytes (%v), there before all parts were: %t, left over: %d", len(got), len(content), err, early, s.leftParts())
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	// Again it ends with the first part.
	read := 0
	if file, err := putParts(ctx, c, "in/data #1?.bin", content, sum, func(n int) { read = n }); err != nil || file.SHA256 != sum || read >= toolapi.MaxChunkBytes {
		t.Errorf("again: %+v %v, %d bytes were read", file, err, read)
	}
	// Sizes at the edges of parts.
	for _, size := range []int{0, 1, toolapi.MaxChunkBytes - 1, toolapi.MaxChunkBytes, toolapi.MaxChunkBytes + 1, 2 * toolapi.MaxChunkBytes} {
		digest := sha256.Sum256(content[:size])
		file, err := putParts(ctx, c, "edge", content[:size], hex.EncodeToString(digest[:]), nil)
		if err != nil || file.Size != int64(size) || s.content("edge") != string(content[:size]) {
			t.Errorf("%d bytes: %+v %v", size, file, err)
		}
	}
	s.bash("rm edge")
	other, otherSum := large(7)
	if file, err := putParts(ctx, c, "in/data #1?.bin", content, sum, nil); err != nil || file.SHA256 != sum {
		t.Errorf("the same content after the first call: %+v %v", file, err)
	}
	_, err = putParts(ctx, c, "in/data #1?.bin", other, otherSum, nil)
	wantRemote(t, "another one after the first call", err, 409, toolapi.ErrFileConflict)
	_, err = putParts(ctx, c, "edge", content, sum, nil)
	wantRemote(t, "one that is gone after the first call", err, 409, toolapi.ErrFileConflict)
	if got := s.content("in/data #1?.bin"); got != string(content) || s.leftParts() > 0 {
		t.Error("a refused file was written")
	}
}

// A file that is incomplete, or not the announced one, is never in the workspace.
func TestPutFilePartsThatDoNotFit(t *testing.T) {
	s := newSandbox(t)
	traps.Fill(t, s.workspace)
	c, ctx := s.client(1), testContext(t)
	content, sum := large(1)
	other, otherSum := large(7)
	failing := errors.New("the bucket is gone")
	for name, tt := range map[string]struct {
		r    io.Reader
		want func(error) bool
	}{
		"an error":         {io.MultiReader(bytes.NewReader(content[:toolapi.MaxChunkBytes+5]), errorReader{failing}), func(err error) bool { return errors.Is(err, failing) }},
		"an error at last": {io.MultiReader(bytes.NewReader(content), errorReader{failing}), func(err error) bool { return errors.Is(err, failing) }},
		"too short":        {bytes.NewReader(content[:len(content)-1]), func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		"too long":         {io.MultiReader(bytes.NewReader(content), strings.NewReader("x")), func(err error) bool { return errors.Is(err, toolclient.ErrTooLong) }},
		"another content": {bytes.NewReader(other), func(err error) bool {
			remote, ok := errors.AsType[*toolclient.RemoteError](err)
			return ok && remote.Code == toolapi.ErrBadRequest
		}},
	} {
		_, err := c.PutFileParts(ctx, "file", tt.r, int64(len(content)), sum, toolapi.ProvenanceInternal)
		if _, statErr := os.Lstat(filepath.Join(s.workspace, "file")); !tt.want(err) || !errors.Is(statErr, fs.ErrNotExist) {
			t.Errorf("%s: %v; the file: %v", name, err, statErr)
		}
	}
	// The remains of one are removed with the next.
	if _, err := putParts(ctx, c, "other", other, otherSum, nil); err != nil || s.leftParts() > 0 {
		t.Errorf("the next file: %v, left over: %d", err, s.leftParts())
	}
	for _, path := range []string{"", ".", "..", "../x", "dir", "up/x", "pipe", "dir/file/x", ".motor/x"} {
		_, err := putParts(ctx, c, path, content, sum, nil)
		wantRemote(t, "path "+workspace.Display(path), err, 400, toolapi.ErrBadRequest)
	}
}

type errorReader struct{ err error }

func (e errorReader) Read([]byte) (int, error) { return 0, e.err }

func TestPutFilePartsOverARestart(t *testing.T) {
	s := newSandbox(t)
	content, sum := large(1)
	ctx := testContext(t)
	restarted := false
	_, err := putParts(ctx, s.client(1), "file", content, sum, func(read int) {
		if read > toolapi.MaxChunkBytes && !restarted {
			restarted = true
			// As a server does that starts.
			if err := s.server.workspace.RemoveLeftovers(); err != nil {
				t.Error(err)
			}
		}
	})
	wantRemote(t, "a part that follows on nothing", err, 409, toolapi.ErrPartMissing)
	if file, err := putParts(ctx, s.client(1), "file", content, sum, nil); err != nil || file.SHA256 != sum || s.content("file") != string(content) {
		t.Errorf("from the beginning: %+v %v", file, err)
	}
	if _, err := putParts(ctx, s.client(2), "x", nil, sum, nil); err == nil {
		t.Error("no bytes have the digest of some")
	}
	_, err = putParts(ctx, s.client(1), "late", content, sum, nil)
	if !errors.Is(err, toolclient.ErrStaleEpoch) {
		t.Errorf("an older epoch: %v", err)
	}
}

func TestPartsThatAreNone(t *testing.T) {
	s := newSandbox(t)
	_, sum := large(1)
	for name, tt := range map[string]struct {
		query string
		body  int
	}{
		"no size":              {"offset=0&sha256=" + sum, 1},
		"no digest":            {"offset=0&size=1", 1},
		"an odd digest":        {"offset=0&size=1&sha256=" + strings.ToUpper(sum), 1},
		"a path as a digest":   {"offset=0&size=1&sha256=..%2F" + sum[3:], 1},
		"a negative size":      {"offset=0&size=-1&sha256=" + sum, 0},
		"a huge size":          {"offset=0&size=67108865&sha256=" + sum, toolapi.MaxChunkBytes},
		"a negative offset":    {"offset=-1048576&size=9&sha256=" + sum, 9},
		"an odd offset":        {"offset=5&size=9&sha256=" + sum, 4},
		"behind the end":       {"offset=1048576&size=1048576&sha256=" + sum, 0},
		"a part that is short": {"offset=0&size=1048577&sha256=" + sum, 5},
		"a part that is long":  {"offset=0&size=5&sha256=" + sum, 6},
	} {
		status, e := s.raw(http.MethodPut, toolapi.PathFiles+"a?"+tt.query, "1", make([]byte, tt.body))
		if status != http.StatusBadRequest || e.Code != toolapi.ErrBadRequest {
			t.Errorf("%s: %d %+v", name, status, e)
		}
	}
	if s.leftParts() > 0 {
		t.Error("a part that was refused was written")
	}
}
