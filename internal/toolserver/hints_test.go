// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A text may not send the model to a tool, because the run may not be offered it. Names that are words of English count as names behind a
// word that makes them one.
var (
	plainNames = regexp.MustCompile(`\b(bash|grep|request_domain|ask_user|request_approval|save_artifact|save_credential|search_web)\b`)
	nounNames  = regexp.MustCompile(`(?i)\b(?:use|call|with|the tool|or by) (?:the )?(code|read|write|edit|patch|list|glob|fetch|install|finish)\b`)
	nameOfTool = regexp.MustCompile(`\b(read|code|write|edit|patch|list|fetch) tool\b`)
)

func namedTool(text, own string) string {
	for _, names := range []*regexp.Regexp{plainNames, nounNames, nameOfTool} {
		for _, m := range names.FindAllStringSubmatch(text, -1) {
			if m[1] != own {
				return m[1]
			}
		}
	}
	return ""
}

func TestTextsNameNoOtherTool(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.go", "program/*.go", "files/*.go", "mcp/*.go", "packages/*.go", "harvest/*.go", "patch/*.go", "textlines/*.go", "disk/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	looked := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		own := strings.TrimSuffix(filepath.Base(name), ".go")
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || strings.Count(text, " ") < 2 || strings.HasPrefix(text, "#!") {
				return true
			}
			looked++
			if tool := namedTool(text, own); tool != "" {
				t.Errorf("%s names the tool %s, which the run may not have: %q", set.Position(lit.Pos()), tool, text)
			}
			return true
		})
	}
	if looked < 400 {
		t.Errorf("only %d texts were looked at", looked)
	}
}

// The most frequent failures are also triggered: texts are put together of parts.
func TestFailuresNameNoOtherTool(t *testing.T) {
	s := newSandbox(t)
	s.write("folder/a", "a\n")
	s.write("binary", "\x00\xff")
	for tool, calls := range map[string][]any{
		toolapi.ToolRead:  {toolapi.ReadArgs{Path: "none"}, toolapi.ReadArgs{Path: "folder"}, toolapi.ReadArgs{Path: "binary"}, toolapi.ReadArgs{Path: "../x"}},
		toolapi.ToolWrite: {toolapi.WriteArgs{Path: "folder"}, toolapi.WriteArgs{Path: "binary/x"}},
		toolapi.ToolEdit:  {toolapi.EditArgs{Path: "folder/a"}, toolapi.EditArgs{Path: "binary", OldText: "a", NewText: "b"}, toolapi.EditArgs{Path: "none", OldText: "a"}},
		toolapi.ToolPatch: {toolapi.PatchArgs{Patch: "x"}, toolapi.PatchArgs{Patch: "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n"}},
		toolapi.ToolList:  {toolapi.ListArgs{Path: "none"}, toolapi.ListArgs{Path: "binary"}},
		toolapi.ToolGlob:  {toolapi.GlobArgs{}, toolapi.GlobArgs{Pattern: "[", Path: "none"}},
		toolapi.ToolGrep:  {toolapi.GrepArgs{}, toolapi.GrepArgs{Pattern: "x", Path: "none"}},
		toolapi.ToolBash:  {toolapi.BashArgs{}, toolapi.BashArgs{Command: "true", TimeoutSeconds: -1}},
		toolapi.ToolCode:  {toolapi.CodeArgs{Language: "perl", Source: "1"}, toolapi.CodeArgs{Language: "python"}},
		toolapi.ToolFetch: {toolapi.FetchArgs{URL: "x"}, toolapi.FetchArgs{URL: "https://example.org/"}},
	} {
		for _, args := range calls {
			r := s.run(tool, args)
			if r.OK || !r.NotesOnly() {
				t.Errorf("%s %+v: %+v", tool, args, r)
			}
			if named := namedTool(r.Output, tool); named != "" {
				t.Errorf("%s %+v names %s: %q", tool, args, named, r.Output)
			}
		}
	}
}
