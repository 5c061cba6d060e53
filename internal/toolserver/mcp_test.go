// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
	"motorcortex.dev/motorcortex/test/mcpserver"
)

// setMCP sets the servers, and returns what they offer.
func (s *sandbox) setMCP(servers ...toolapi.MCPServer) []toolapi.MCPServerState {
	s.t.Helper()
	resp, err := s.client(1).MCP(testContext(s.t), toolapi.MCPRequest{Servers: servers, TimeoutMs: toolapi.MaxEgressTimeoutMs})
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.Servers
}

// friendly starts the server that follows the protocol.
func (s *sandbox) friendly() toolapi.MCPServer {
	s.t.Helper()
	server := toolapi.MCPServer{Name: "srv", Command: mcpserver.Command(s.t, "friendly"), Tools: mcpserver.Tools}
	if got := s.setMCP(server); got[0].Error != "" || got[0].Omitted != "" || len(got[0].Tools) != len(mcpserver.Tools) {
		s.t.Fatalf("%+v", got)
	}
	return server
}

func (s *sandbox) mcp(tool, text string) toolapi.Result {
	s.t.Helper()
	return s.run("mcp__srv__"+tool, mcpserver.EchoArgs{Text: text})
}

func TestMCPTools(t *testing.T) {
	s := newSandbox(t)
	hello, err := s.client(1).Hello(testContext(t))
	if err != nil || hello.Used || hello.MCP {
		t.Fatalf("%+v %v", hello, err)
	}
	server := toolapi.MCPServer{Name: "srv", Command: mcpserver.Command(t, "friendly"), Tools: []string{"fail", "echo", "missing"}}
	got := s.setMCP(server)[0]
	if got.Name != "srv" || got.Error != "" || got.Omitted != "missing: the server has no such tool" || len(got.Tools) != 2 {
		t.Fatalf("%+v", got)
	}
	echo := got.Tools[0]
	if echo.Name != "echo" || got.Tools[1].Name != "fail" || echo.Description != "The tool echo." {
		t.Errorf("%+v", got.Tools)
	}
	const schema = `{"additionalProperties":false,"properties":{"text":{"description":"what to say","type":"string"}},"required":["text"],"type":"object"}`
	if string(echo.InputSchema) != schema {
		t.Errorf("%s", echo.InputSchema)
	}
	if hello, err = s.client(1).Hello(testContext(t)); err != nil || !hello.Used || !hello.MCP {
		t.Errorf("a program was started, and hello says %+v %v", hello, err)
	}
	for name, want := range map[string]toolapi.Result{
		"mcp__srv__echo":    {OK: true, Output: "<hi>"},
		"mcp__srv__fail":    {ErrorCode: toolapi.CodeMCPError, Output: "<hi>"},
		"mcp__srv__die":     {ErrorCode: toolapi.CodeToolNotGranted, Provenance: toolapi.ProvenanceInternal, Output: `No tool "die" of an MCP server "srv" may be called here.`},
		"mcp__srv__missing": {ErrorCode: toolapi.CodeMCPError, Output: `The MCP server srv answered with error -32602: unknown tool "missing"`},
		"mcp__other__echo":  {ErrorCode: toolapi.CodeToolNotGranted, Provenance: toolapi.ProvenanceInternal, Output: `No tool "echo" of an MCP server "other" may be called here.`},
	} {
		r := s.run(name, mcpserver.EchoArgs{Text: "<hi> \x1b[2J"})
		if r.OK != want.OK || r.ErrorCode != want.ErrorCode || strings.TrimSpace(r.Output) != want.Output || r.Provenance != cmp.Or(want.Provenance, toolapi.ProvenanceWeb) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := s.run("mcp__srv__echo", []string{"x"}); r.ErrorCode != toolapi.CodeInvalidArguments {
		t.Errorf("%+v", r)
	}
	if r := s.run("mcp__srv__", mcpserver.EchoArgs{}); r.ErrorCode != toolapi.CodeUnknownTool {
		t.Errorf("%+v", r)
	}
	// The output of such a server may be in any file.
	s.write("file", "x")
	if r := s.run(toolapi.ToolRead, toolapi.ReadArgs{Path: "file"}); r.Provenance != toolapi.ProvenanceWeb {
		t.Errorf("%+v", r)
	}
}

func TestMCPProgramIsLikeThoseOfTools(t *testing.T) {
	s := newSandbox(t)
	s.setEgress(toolapi.EgressRequest{
		Proxy: testProxy(t, 0), Token: testToken, Environment: map[string]string{"API_KEY": "mch-x"}, TimeoutMs: 10_000,
	})
	server := s.friendly()
	for variable, want := range map[string]string{
		"API_KEY": "mch-x", "HTTPS_PROXY": "http://motor:" + testToken + "@", "HOME": s.workspace, "MOTOR_STATE": "",
	} {
		if r := s.mcp("variable", variable); !strings.HasPrefix(r.Output, want) || want == "" && r.Output != "" {
			t.Errorf("%s: %+v", variable, r)
		}
	}
	if r := s.mcp("folder", ""); r.Output != s.workspace+"\n" {
		t.Errorf("%+v", r)
	}
	// Calls in between do not end it, and a change of the programs' variables starts it again.
	before := marked(t, mcpserver.Mark)
	if r := s.bash("true"); !r.OK {
		t.Fatalf("%+v", r)
	}
	s.setMCP(server)
	if after := marked(t, mcpserver.Mark); !slices.Equal(before, after) || len(after) == 0 {
		t.Errorf("%q, then %q", before, after)
	}
	s.setEgress(toolapi.EgressRequest{Environment: map[string]string{"API_KEY": "another"}})
	if r := s.mcp("variable", "API_KEY"); r.Output != "another\n" {
		t.Errorf("%+v", r)
	}
	s.setMCP()
	if left := marked(t, mcpserver.Mark); len(left) > 0 {
		t.Errorf("%q", left)
	}
	if r := s.mcp("echo", "x"); r.ErrorCode != toolapi.CodeToolNotGranted {
		t.Errorf("%+v", r)
	}
}

func TestMCPAfterARestart(t *testing.T) {
	s := newSandbox(t)
	server := s.friendly()
	s.restart()
	hello, err := s.client(1).Hello(testContext(t))
	if err != nil || hello.Used || hello.MCP {
		t.Errorf("%+v %v", hello, err)
	}
	if r := s.mcp("echo", "x"); r.ErrorCode != toolapi.CodeToolNotGranted {
		t.Errorf("%+v", r)
	}
	s.setMCP(server)
	if r := s.mcp("echo", "x"); !r.OK {
		t.Errorf("%+v", r)
	}
}

func TestMCPRequestsThatAreRefused(t *testing.T) {
	s := newSandbox(t)
	good := toolapi.MCPServer{Name: "a", Command: []string{"x"}, Tools: []string{"t"}}
	with := func(change func(*toolapi.MCPServer)) toolapi.MCPRequest {
		srv := good
		change(&srv)
		return toolapi.MCPRequest{Servers: []toolapi.MCPServer{srv}, TimeoutMs: 1}
	}
	for name, req := range map[string]toolapi.MCPRequest{
		"no time":        {},
		"too much time":  {TimeoutMs: toolapi.MaxEgressTimeoutMs + 1},
		"too many":       {Servers: make([]toolapi.MCPServer, toolapi.MaxMCPServers+1), TimeoutMs: 1},
		"twice":          {Servers: []toolapi.MCPServer{good, good}, TimeoutMs: 1},
		"name":           with(func(s *toolapi.MCPServer) { s.Name = "a__b" }),
		"long name":      with(func(s *toolapi.MCPServer) { s.Name = strings.Repeat("a", 25) }),
		"no tools":       with(func(s *toolapi.MCPServer) { s.Tools = nil }),
		"odd tool":       with(func(s *toolapi.MCPServer) { s.Tools = []string{"a/b"} }),
		"nothing":        with(func(s *toolapi.MCPServer) { s.Command = nil }),
		"both":           with(func(s *toolapi.MCPServer) { s.URL = "https://example.org/" }),
		"NUL":            with(func(s *toolapi.MCPServer) { s.Command = []string{"a\x00b"} }),
		"empty program":  with(func(s *toolapi.MCPServer) { s.Command = []string{""} }),
		"many arguments": with(func(s *toolapi.MCPServer) { s.Command = make([]string, 33) }),
		"authorization":  with(func(s *toolapi.MCPServer) { s.Authorization = "Bearer x" }),
		"http":           with(func(s *toolapi.MCPServer) { s.Command, s.URL = nil, "http://example.org/" }),
		"user":           with(func(s *toolapi.MCPServer) { s.Command, s.URL = nil, "https://u:p@example.org/" }),
		"header": with(func(s *toolapi.MCPServer) {
			s.Command, s.URL, s.Authorization = nil, "https://example.org/", "Bearer x\r\nHost: y"
		}),
	} {
		body, err := json.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		if status, e := s.raw("PUT", toolapi.PathMCP, "1", body); status != 400 || e.Code != toolapi.ErrBadRequest {
			t.Errorf("%s: %d %+v", name, status, e)
		}
	}
	if status, _ := s.raw("POST", toolapi.PathMCP, "1", nil); status != 405 {
		t.Error(status)
	}
	if status, e := s.raw("PUT", toolapi.PathMCP, "0", []byte(`{"servers":[],"timeoutMs":1}`)); status != 409 || e.Code != toolapi.ErrStaleEpoch {
		t.Errorf("%d %+v", status, e)
	}
	if s.server.mcp.IsSet() || s.server.mcp.Ran() || s.server.taint.Marked() {
		t.Error("a refused request took effect")
	}
}

// A loop that took the run over is not kept waiting by the one before it.
func TestMCPNewerClaim(t *testing.T) {
	s := newSandbox(t)
	ended := make(chan error, 1)
	go func() {
		_, err := s.client(1).MCP(testContext(t), toolapi.MCPRequest{Servers: []toolapi.MCPServer{mcpserver.Hostile(t, "silent")}, TimeoutMs: 60_000})
		ended <- err
	}()
	await(t, "the server to start", func() bool { return len(marked(t, mcpserver.Mark)) > 0 })
	began := time.Now()
	resp, err := s.client(2).MCP(testContext(t), toolapi.MCPRequest{Servers: []toolapi.MCPServer{mcpserver.Hostile(t, "fine")}, TimeoutMs: 60_000})
	if err != nil || resp.Servers[0].Error != "" {
		t.Errorf("%+v %v", resp, err)
	}
	if err := <-ended; !errors.Is(err, toolclient.ErrStaleEpoch) {
		t.Errorf("the former one got %v", err)
	}
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("it took %s", took)
	}
}
