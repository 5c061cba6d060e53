// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"path/filepath"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
	"motorcortex.dev/motorcortex/test/mcpserver"
)

// Commits of an MCP server's program are scanned like those of bash.
func TestMCPProgramCommits(t *testing.T) {
	s := gitSandbox(t)
	s.friendly()
	s.write("a", "harmless\n")
	if r := s.mcp("run", "git add a && git commit -qm first"); r.Output != "[<nil>]\n" || s.commits() != "motor <motor@sandbox.invalid> first\n" {
		t.Fatalf("%+v", r)
	}
	s.write("k", stagedKey)
	refused := func(when string) {
		t.Helper()
		r := s.mcp("run", "git add k && git commit -qm leak")
		if !strings.HasPrefix(r.Output, "secret found: k line 1, rule aws-access-token\n") || !strings.HasSuffix(r.Output, "[exit status 1]\n") {
			t.Errorf("%s: %+v", when, r)
		}
	}
	refused("at first")
	before := marked(t, mcpserver.Mark)
	// The program was started before the files went, and no call of bash puts them back.
	if r := s.mcp("run", "rm -rf "+filepath.Join(s.temp, workspace.OwnDir)); r.Output != "[<nil>]\n" {
		t.Fatalf("%+v", r)
	}
	refused("when the hooks were removed")
	if after := marked(t, mcpserver.Mark); len(before) == 0 || strings.Join(before, "") != strings.Join(after, "") {
		t.Errorf("the program was started again: %q, then %q", before, after)
	}
	if got := s.commits(); strings.Contains(got, "leak") {
		t.Errorf("%q", got)
	}
}
