// SPDX-License-Identifier: Apache-2.0

//go:build linux

package files

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// sandbox is a workspace and the tools that work in it.
type sandbox struct {
	t         *testing.T
	workspace string
	opened    *workspace.Workspace
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{t: t, workspace: dir + "/workspace"}
	if err := os.Mkdir(s.workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	if s.opened, err = workspace.Open(s.workspace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.opened.Close() })
	return s
}

// run makes a call.
func (s *sandbox) run(name string, args any) toolapi.Result {
	s.t.Helper()
	return s.runCall(newCallOf(s.t, "", name, args))
}

func (s *sandbox) runCall(call toolapi.Call) toolapi.Result {
	s.t.Helper()
	t := Tools(s.opened)[call.Tool]
	limit := t.Limit
	if call.MaxOutputBytes > 0 {
		limit = min(limit, int(call.MaxOutputBytes))
	}
	return t.Run(testContext(s.t), tool.Job{ID: call.ID, Args: call.Arguments, Limit: limit})
}

// content is the content of a file in the workspace, "" if there is none.
func (s *sandbox) content(name string) string {
	s.t.Helper()
	content, err := os.ReadFile(filepath.Join(s.workspace, name))
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	return string(content)
}

func (s *sandbox) write(name, content string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(s.workspace, name)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.workspace, name), []byte(content), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func newCallOf(t *testing.T, id, tool string, args any) toolapi.Call {
	t.Helper()
	encoded, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return toolapi.Call{ID: id, Tool: tool, Arguments: encoded}
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
