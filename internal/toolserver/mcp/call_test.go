// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mcp

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
	"motorcortex.dev/motorcortex/test/mcpserver"
)

func TestMCPContent(t *testing.T) {
	s := newSandbox(t)
	s.friendly()
	const media = "[image, \"image/png\", 7 bytes, not shown]\n" + `[audio, "audio/\x1bwav\n", 5 bytes, not shown]` + "\n" +
		`[link to the resource "file:///x\ny" "x"]` + "\n" + `[resource "a:b", "x/y", 3 bytes, not shown]` + "\n" +
		"{\n  \"of\": [\n    1,\n    2\n  ],\n  \"sum\": 3\n}\n"
	if r := s.mcp("media", ""); !r.OK || r.Output != media {
		t.Errorf("%+v", r)
	}
	if r := s.mcp("resource", ""); !r.OK || r.Output != "[resource \"a:b\"]\ninside\nafter\n" {
		t.Errorf("%+v", r)
	}
	if r := s.call(testContext(t), "mcp__srv__key", "user:1", mcpserver.EchoArgs{}); r.Output != "user:1\n" {
		t.Errorf("%+v", r)
	}
	long := strings.Repeat("0123456789", 5000)
	r := s.mcp("echo", long)
	if !r.OK || len(r.Output) > toolapi.MaxOutputBytes || s.content(r.OutputFile) != long+"\n" {
		t.Errorf("%d bytes, all in %q", len(r.Output), r.OutputFile)
	}
}

func TestMCPServerDies(t *testing.T) {
	s := newSandbox(t)
	s.friendly()
	r := s.mcp("die", "")
	if r.ErrorCode != toolapi.CodeMCPError || !strings.Contains(r.Output, outcomeOpen) {
		t.Errorf("%+v", r)
	}
	s.awaitEnd()
	if r := s.mcp("echo", "again"); r.Output != "again\n" {
		t.Errorf("it is not started again: %+v", r)
	}
}

func TestMCPToolsChange(t *testing.T) {
	s := newSandbox(t)
	server := s.friendly()
	if r := s.mcp("grow", ""); !r.OK {
		t.Fatalf("%+v", r)
	}
	await(t, "the change", func() bool { return s.mcp("echo", "x").ErrorCode == toolapi.CodeMCPChanged })
	if r := s.mcp("variable", "HOME"); r.ErrorCode != toolapi.CodeMCPChanged {
		t.Errorf("%+v", r)
	}
	got := s.setMCP(server)[0]
	if i := slices.IndexFunc(got.Tools, func(t toolapi.MCPTool) bool { return t.Name == "echo" }); !strings.HasPrefix(got.Tools[i].Description, "Another") {
		t.Errorf("%+v", got)
	}
	// The caller knows, and it is for the caller to judge.
	if r := s.mcp("echo", "x"); !r.OK {
		t.Errorf("%+v", r)
	}
	// One that is started again and describes other tools than the manager knows of.
	s.mcp("die", "")
	s.awaitEnd()
	if r := s.mcp("echo", "x"); r.ErrorCode != toolapi.CodeMCPChanged {
		t.Errorf("%+v", r)
	}
}

func TestMCPCancelAndTimeout(t *testing.T) {
	s := newSandbox(t)
	s.friendly()
	ctx, cancel := context.WithCancelCause(testContext(t))
	done := make(chan toolapi.Result, 1)
	go func() { done <- s.call(ctx, "mcp__srv__wait", "", mcpserver.EchoArgs{}) }()
	srv := s.servers.find("srv")
	await(t, "the call", func() bool {
		s.servers.mu.Lock()
		defer s.servers.mu.Unlock()
		return srv.calls > 0
	})
	cancel(tool.ErrCancelled)
	if r := <-done; r.ErrorCode != toolapi.CodeCancelled {
		t.Errorf("%+v", r)
	}
	s.servers.callTimeout = 200 * time.Millisecond
	if r := s.mcp("wait", ""); r.ErrorCode != toolapi.CodeTimeout || !strings.Contains(r.Output, outcomeOpen) {
		t.Errorf("%+v", r)
	}
	s.servers.callTimeout = presetCallTimeout
	await(t, "the server to hear of it", func() bool { return strings.Contains(s.content(".motor/output/mcp-srv.txt"), "the call was cancelled") })
	if r := s.mcp("echo", "x"); !r.OK {
		t.Errorf("the server is of no use any more: %+v", r)
	}
}
