// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/mcpserver"
)

// endPrograms ends all programs, those of MCP servers too.
func (s *sandbox) endPrograms(reason string) {
	s.t.Helper()
	if _, err := s.client(1).EndPrograms(testContext(s.t), reason); err != nil {
		s.t.Fatal(err)
	}
}

// The program of an MCP server ends together with the processes that it started. It starts again when it is needed, and the model is
// informed once.
func TestProgramsOfMCPServersAreEnded(t *testing.T) {
	for reason, told := range map[string]string{
		toolapi.StoppedSuspended:     "[the program of the MCP server srv was ended when the run was suspended, and begun again: what it had in memory is lost]\n",
		toolapi.StoppedAwaitingInput: "[the program of the MCP server srv was ended because the run waited long for a person, and begun again: what it had in memory is lost]\n",
		toolapi.StoppedFinished:      "",
	} {
		t.Run(reason, func(t *testing.T) {
			s := newSandbox(t)
			server := s.friendly()
			word := fmt.Sprintf("of-a-resting-server-%d-%s", os.Getpid(), reason)
			if r := s.mcp("run", "(exec -a "+word+" sleep 1000) >/dev/null 2>&1 &"); !r.OK {
				t.Fatalf("%+v", r)
			}
			await(t, "what the server started", func() bool { return len(marked(t, word)) > 0 })
			if _, err := s.client(1).EndBackground(testContext(t), reason); err != nil || len(marked(t, mcpserver.Mark)) == 0 {
				t.Fatalf("the end of the background ends an MCP server, too: %v", err)
			}
			for range 2 { // It can be repeated.
				s.endPrograms(reason)
				if left := append(marked(t, word), marked(t, mcpserver.Mark)...); len(left) > 0 {
					t.Fatalf("%v still run", left)
				}
			}
			if got := s.setMCP(server)[0]; got.Error != "" || len(got.Tools) != len(mcpserver.Tools) {
				t.Fatalf("%+v", got)
			}
			for _, want := range []string{"again\n" + told, "again\n"} {
				if r := s.mcp("echo", "again"); !r.OK || r.Output != want {
					t.Errorf("%q, want %q", r.Output, want)
				}
			}
			s.endPrograms(reason)
			// A call starts it again, too. Its output and the note about it fit into the limit together.
			if r := s.mcp("echo", strings.Repeat("x", 2*toolapi.MaxOutputBytes)); !r.OK || !strings.HasPrefix(r.Output, "x") || !strings.HasSuffix(r.Output, told) ||
				len(r.Output) > toolapi.MaxOutputBytes || !strings.Contains(r.Output, r.OutputFile) {
				t.Errorf("%d bytes: %.200q", len(r.Output), r.Output)
			}
		})
	}
}

// A call that runs has its result, and then the program of its server is ended as those of the others were before.
func TestProgramOfAnMCPServerEndsAfterItsCall(t *testing.T) {
	s := newSandbox(t)
	s.friendly()
	client, call := s.client(1), newCallOf(t, "", "mcp__srv__run", mcpserver.EchoArgs{Text: "touch begun; " + untilGo + "echo whole"})
	answer := make(chan toolapi.Result, 1)
	go func() {
		r, _ := client.Call(testContext(t), call)
		answer <- r
	}()
	s.awaitBegun()
	s.endPrograms(toolapi.StoppedSuspended)
	if len(marked(t, mcpserver.Mark)) == 0 {
		t.Error("the program was ended in the middle of a call")
	}
	s.write("go", "")
	if r := <-answer; !r.OK || r.Output != "whole\n[<nil>]\n" {
		t.Errorf("%+v", r)
	}
	if left := marked(t, mcpserver.Mark); len(left) > 0 {
		t.Errorf("%v still run", left)
	}
	if r := s.mcp("echo", "again"); !r.OK || !strings.HasPrefix(r.Output, "again\n[the program of the MCP server srv was ended when") {
		t.Errorf("%+v", r)
	}
}
