// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/test/mcpserver"
)

// inTheMiddle are calls that begin, say so with the file "begun", and do not end by themselves: one of each tool that is at work for long.
// A tool that changes files is at work for an instant.
var inTheMiddle = map[string]func(*testing.T) (*sandbox, toolapi.Call){
	toolapi.ToolBash: func(t *testing.T) (*sandbox, toolapi.Call) { return newSandbox(t), waitingCall(t, "bash") },
	toolapi.ToolCode: func(t *testing.T) (*sandbox, toolapi.Call) {
		return newSandbox(t), newCallOf(t, "code", toolapi.ToolCode, toolapi.CodeArgs{
			Language: toolapi.LanguagePython, Source: "import time\nopen('begun','w').close()\ntime.sleep(1000)",
		})
	},
	toolapi.ToolOneshot:        func(t *testing.T) (*sandbox, toolapi.Call) { return oneshotWaits(t, toolapi.ToolOneshot) },
	toolapi.ToolOneshotNetwork: func(t *testing.T) (*sandbox, toolapi.Call) { return oneshotWaits(t, toolapi.ToolOneshotNetwork) },
	toolapi.ToolFetch: func(t *testing.T) (*sandbox, toolapi.Call) {
		var s *sandbox
		s, _ = newStandIn(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // Before that a server does not notice that its client has gone.
			s.write("begun", "")
			<-r.Context().Done()
		})
		return s, newCallOf(t, "fetch", toolapi.ToolFetch, toolapi.FetchArgs{URL: "http://a.test/", Method: http.MethodPost, Body: "x"})
	},
	toolapi.ToolInstall: func(t *testing.T) (*sandbox, toolapi.Call) {
		s := installing(t)
		programs := t.TempDir()
		s.path = programs + ":" + s.path
		if err := os.WriteFile(programs+"/npm", fmt.Appendf(nil, "#!/bin/bash\ntouch %q\nexec sleep 1000\n", s.workspace+"/begun"), 0o755); err != nil {
			t.Fatal(err)
		}
		s.start()
		return s, newCallOf(t, "install", toolapi.ToolInstall, toolapi.InstallArgs{NPM: []string{"a@1.0.0"}, NPMRegistry: "https://npm.example.org"})
	},
	"mcp__srv__run": func(t *testing.T) (*sandbox, toolapi.Call) {
		s := newSandbox(t)
		s.friendly()
		return s, newCallOf(t, "mcp", "mcp__srv__run", mcpserver.EchoArgs{Text: "touch begun; exec sleep 1000"})
	},
}

func oneshotWaits(t *testing.T, tool string) (*sandbox, toolapi.Call) {
	s := newSandbox(t)
	source := fmt.Sprintf("import time\nopen(%q,'w').close()\ntime.sleep(1000)", s.workspace+"/begun")
	return s, newCallOf(t, "oneshot", tool, toolapi.OneshotArgs{Language: toolapi.LanguagePython, TimeoutMs: 5000, Source: source})
}

// Every tool that the end of the server cuts off leaves an unknown outcome, not only the programs.
func TestStopLeavesEveryToolUnknown(t *testing.T) {
	for name, begin := range inTheMiddle {
		t.Run(name, func(t *testing.T) {
			s, call := begin(t)
			wantUnknownAfterStop(t, s, call, s.awaitBegun)
		})
	}
}

// wantUnknownAfterStop ends the server when the call has begun. It wants two clients to learn that the outcome is unknown: one that waits,
// and one that asks another server on the same folders.
func wantUnknownAfterStop(t *testing.T, s *sandbox, call toolapi.Call, begun func()) {
	t.Helper()
	client, answer := s.client(1), make(chan toolapi.Result, 1)
	go func() {
		r, _ := client.Call(testContext(t), call)
		answer <- r
	}()
	begun()
	s.stop()
	if r := <-answer; r.OK || r.ErrorCode != toolapi.CodeOutcomeUnknown {
		t.Errorf("the waiting client got %+v", r)
	}
	s.start()
	if state, err := s.client(1).State(testContext(t), call.ID); err != nil || state.Phase != toolapi.CallUnknown {
		t.Errorf("after the restart: %+v, %v", state, err)
	}
	if r := s.runCall(call); r.OK || r.ErrorCode != toolapi.CodeOutcomeUnknown {
		t.Errorf("after the restart: %+v", r)
	}
}

// TestStopOfACallThatWaits wants calls that wait for another one before them to be unknown as well: no record shows that they did not
// begin. This is every tool that changes anything.
func TestStopOfACallThatWaits(t *testing.T) {
	s := newSandbox(t)
	s.friendly()
	names := append(s.server.toolNames(), "mcp__srv__run")
	var waits []toolapi.Call
	for _, name := range names {
		if tool, ok := s.server.toolOf(name); !ok || !tool.Alone {
			if toolapi.HasEffects(name) {
				t.Errorf("%s may have an effect, and waits for none", name)
			}
			continue
		}
		waits = append(waits, newCallOf(t, "waits-"+name, name, map[string]string{}))
	}
	if len(waits) < 8 {
		t.Fatalf("only %d tools wait for their turn", len(waits))
	}
	before := waitingCall(t, "before")
	client := s.client(1)
	go func() { _, _ = client.Call(testContext(t), before) }()
	s.awaitBegun()
	for _, call := range waits {
		go func() { _, _ = client.Call(testContext(t), call) }()
	}
	for _, call := range waits {
		await(t, call.Tool+" waits", func() bool {
			state, err := client.State(testContext(t), call.ID)
			return err == nil && state.Phase == toolapi.CallRunning
		})
	}
	s.restart()
	for _, call := range waits {
		if r := s.runCall(call); r.ErrorCode != toolapi.CodeOutcomeUnknown {
			t.Errorf("%s: %+v", call.Tool, r)
		}
	}
}

// TestEveryToolIsMadeAgainOrMayHaveEffects has each tool of the server be one that another attempt makes again without a word, or one
// whose unknown outcome a person is asked about.
func TestEveryToolIsMadeAgainOrMayHaveEffects(t *testing.T) {
	s := newSandbox(t)
	for _, name := range append(s.server.toolNames(), "mcp__srv__run") {
		if toolapi.Repeatable(name) == toolapi.HasEffects(name) {
			t.Errorf("%s: made again %t, may have effects %t", name, toolapi.Repeatable(name), toolapi.HasEffects(name))
		}
		if _, tried := inTheMiddle[name]; !tried && !slices.Contains(atOnce, name) {
			t.Errorf("%s is not cut off by any test: inTheMiddle must have it, or atOnce if it cannot be caught at work", name)
		}
	}
}

// atOnce are the tools that are done in an instant.
var atOnce = []string{
	toolapi.ToolRead, toolapi.ToolWrite, toolapi.ToolEdit, toolapi.ToolPatch, toolapi.ToolList, toolapi.ToolGlob, toolapi.ToolGrep, toolapi.ToolSaveArtifact,
}
