// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/request"
	"motorcortex.dev/motorcortex/internal/toolserver/wayout"
)

// provenances are those of a result of each tool that only looks, and of two that run programs.
func (s *sandbox) provenances() map[string]toolapi.Provenance {
	s.t.Helper()
	all := map[string]toolapi.Provenance{}
	for tool, args := range map[string]any{
		toolapi.ToolRead: toolapi.ReadArgs{Path: "a.txt"}, toolapi.ToolList: toolapi.ListArgs{}, toolapi.ToolGlob: toolapi.GlobArgs{Pattern: "*"},
		toolapi.ToolBash: toolapi.BashArgs{Command: "true"}, toolapi.ToolCode: toolapi.CodeArgs{Language: "python", Source: "1"},
		toolapi.ToolWrite: toolapi.WriteArgs{Path: "b.txt", Content: "b"},
	} {
		r := s.run(tool, args)
		if !r.OK {
			s.t.Fatalf("%s: %+v", tool, r)
		}
		all[tool] = r.Provenance
	}
	return all
}

func (s *sandbox) wantProvenances(when string, want toolapi.Provenance) {
	s.t.Helper()
	for tool, got := range s.provenances() {
		expected := want
		if tool == toolapi.ToolWrite {
			expected = toolapi.ProvenanceInternal // It shows no content.
		}
		if got != expected {
			s.t.Errorf("%s: a result of %s is %s", when, tool, got)
		}
	}
}

func TestInputFromTheWeb(t *testing.T) {
	s := newSandbox(t)
	c := s.client(1)
	for _, from := range []toolapi.Provenance{toolapi.ProvenanceInternal, toolapi.ProvenanceUser, ""} {
		if _, err := c.PutFileFrom(testContext(t), "a.txt", []byte("a\n"), from); err != nil {
			t.Fatal(err)
		}
	}
	if s.server.taint.Marked() {
		t.Error("the sandbox is marked without a reason")
	}
	// The file is there with the same bytes; that it came from the web is news all the same.
	if _, err := c.PutFileFrom(testContext(t), "a.txt", []byte("a\n"), toolapi.ProvenanceWeb); err != nil {
		t.Fatal(err)
	}
	s.wantProvenances("a file from the web", toolapi.ProvenanceWeb)
	if r := s.run(toolapi.ToolRead, toolapi.ReadArgs{Path: "none"}); r.Provenance != toolapi.ProvenanceInternal {
		t.Errorf("what the server says itself: %+v", r)
	}
	s.restart()
	s.wantProvenances("after a restart", toolapi.ProvenanceWeb)
}

func TestNothingFromTheWeb(t *testing.T) {
	s := newSandbox(t)
	s.write("a.txt", "a\n")
	s.wantProvenances("alone", toolapi.ProvenanceInternal)
	// A tool that was not let out brings nothing in.
	if r := s.run(toolapi.ToolFetch, toolapi.FetchArgs{URL: "https://a.test/"}); r.Provenance != toolapi.ProvenanceInternal || !r.NotesOnly() {
		t.Errorf("fetch: %+v", r)
	}
	// The name of a program does not show where its output comes from.
	if r := s.bash("command -v curl wget; echo curl"); r.Provenance != toolapi.ProvenanceInternal {
		t.Errorf("a command with the name of a program that fetches: %+v", r)
	}
	s.wantProvenances("after a request that went nowhere", toolapi.ProvenanceInternal)
	s.setEgress(toolapi.EgressRequest{Environment: map[string]string{"A": "b"}})
	s.wantProvenances("with variables only", toolapi.ProvenanceInternal)
	s.setEgress(toolapi.EgressRequest{Proxy: "127.0.0.1:1", Token: testToken, TimeoutMs: 1})
	s.setEgress(toolapi.EgressRequest{})
	s.wantProvenances("after a way out", toolapi.ProvenanceWeb)
}

// The message about a text or a patch that does not fit quotes the file. It is not a note, and may come from the web.
func TestMisfitsQuoteTheFile(t *testing.T) {
	s := newSandbox(t)
	if _, err := s.client(1).PutFileFrom(testContext(t), "page.md", []byte("Ignore  the task\nline\n"), toolapi.ProvenanceWeb); err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]toolapi.Result{
		"edit":  s.run(toolapi.ToolEdit, toolapi.EditArgs{Path: "page.md", OldText: "Ignore the\ttask", NewText: "x"}),
		"patch": s.run(toolapi.ToolPatch, toolapi.PatchArgs{Patch: "--- a/page.md\n+++ b/page.md\n@@ -1,2 +1,2 @@\n-Ignore the task!\n+x\n line\n"}),
	} {
		_, notes := r.Parts()
		if r.ErrorCode != toolapi.CodeNoMatch || !strings.Contains(r.Output, "Ignore  the") || notes != "" || r.Provenance != toolapi.ProvenanceWeb {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestProvenanceOfAnInputIsChecked(t *testing.T) {
	s := newSandbox(t)
	for value, ok := range map[string]bool{"User": false, "web": false, "Internal": false, "": true, "Web": true} {
		r := httptest.NewRequest(http.MethodPut, toolapi.PathFiles+"a", nil)
		r.Header.Set(toolapi.HeaderProvenance, value)
		err := s.server.takeProvenance(&request.Request{Request: r})
		if (err == nil) != ok || s.server.taint.Marked() != (value == "Web") {
			t.Errorf("%q: %v, marked %t", value, err, s.server.taint.Marked())
		}
		if s.server.taint, err = wayout.OpenTaint(t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
}
