// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harvest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// TestMain makes the test binary the first program of every process.
func TestMain(m *testing.M) {
	if proc.IsChild() {
		os.Exit(proc.RunChild())
	}
	os.Exit(m.Run())
}

// sandbox is a workspace and the files of it that belong to the result.
type sandbox struct {
	t         *testing.T
	workspace string
	opened    *workspace.Workspace
	kept      *Artifacts
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	ok(t, err)
	s := &sandbox{t: t, workspace: dir + "/workspace"}
	ok(t, os.Mkdir(s.workspace, 0o755))
	s.opened, err = workspace.Open(s.workspace)
	ok(t, err)
	t.Cleanup(func() { _ = s.opened.Close() })
	s.kept, err = OpenArtifacts(s.opened, t.TempDir(), func() bool { return false })
	ok(t, err)
	return s
}

// run makes a call of a tool.
func (s *sandbox) run(name string, args any) toolapi.Result {
	s.t.Helper()
	encoded, err := json.Marshal(args)
	ok(s.t, err)
	t := s.kept.Tools()[name]
	return t.Run(testContext(s.t), tool.Job{ID: "call", Args: encoded, Limit: t.Limit})
}

func (s *sandbox) save(path string) toolapi.Result {
	s.t.Helper()
	return s.run(toolapi.ToolSaveArtifact, toolapi.SaveArtifactArgs{Path: path})
}

func (s *sandbox) artifacts() toolapi.Artifacts { return s.kept.List(testContext(s.t)) }

func (s *sandbox) skills() toolapi.Skills { return s.kept.Skills(testContext(s.t), nil) }

func (s *sandbox) write(name, content string) {
	s.t.Helper()
	ok(s.t, os.MkdirAll(filepath.Dir(filepath.Join(s.workspace, name)), 0o755))
	ok(s.t, os.WriteFile(filepath.Join(s.workspace, name), []byte(content), 0o644))
}

func skillFile(path, content string) toolapi.SkillFile {
	return toolapi.SkillFile{Path: path, Size: int64(len(content)), SHA256: sumOf(content)}
}

func sumOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
