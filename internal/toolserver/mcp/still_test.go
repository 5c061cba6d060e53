// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mcp

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/mcpserver"
)

// No program begins while they are held, except for one in whose call it was begun.
func TestNoProgramOfAnMCPServerBeginsWhileTheyAreHeld(t *testing.T) {
	s := newSandbox(t)
	s.friendly()
	s.ok(s.servers.EndPrograms(testContext(t), toolapi.StoppedSuspended))
	srv := s.servers.find("srv")
	if state := srv.state(testContext(t)); !strings.Contains(state.Error, errHeld.Error()) || len(marked(t, mcpserver.Mark)) > 0 {
		t.Errorf("%+v", state)
	}
	s.servers.enter(srv)
	if state := srv.state(testContext(t)); state.Error != "" || len(marked(t, mcpserver.Mark)) == 0 {
		t.Errorf("in a call: %+v", state)
	}
	s.servers.leave(testContext(t), srv)
	if left := marked(t, mcpserver.Mark); len(left) > 0 {
		t.Errorf("%v still run after the call", left)
	}
}
