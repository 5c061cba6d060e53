// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each tool has a row: without one a call of it would count as one that does nothing.
func TestEveryToolHasFacts(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "args.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(v.Names[0].Name, "Tool") && len(v.Values) == 1 {
			name, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
		return true
	})
	if rows := slices.Sorted(maps.Keys(tools)); len(names) < 20 || !slices.Equal(slices.Sorted(slices.Values(names)), rows) {
		t.Errorf("the tools are %q, and there are facts of %q", names, rows)
	}
}

// What a tool does decides whether it is made again and whether a person is asked: a change of these lists is a change of behaviour.
func TestFacts(t *testing.T) {
	t.Parallel()
	const mcp = "mcp__server__tool"
	for name, tt := range map[string]struct {
		fact func(string) bool
		of   []string
	}{
		"only reads":       {OnlyReads, []string{"glob", "grep", "list", "read"}},
		"repeatable":       {Repeatable, []string{"glob", "grep", "install", "list", "oneshot", "read", "request_domain", "save_artifact", "save_credential", "search_web"}},
		"has effects":      {HasEffects, []string{"bash", "code", "edit", "fetch", mcp, "oneshot_network", "patch", "write"}},
		"reaches out":      {ReachesOut, []string{"bash", "code", "fetch", "install", mcp, "oneshot", "oneshot_network"}},
		"waits for person": {WaitsForPerson, []string{"ask_user", "request_approval", "request_domain"}},
		"writes files":     {WritesFiles, []string{"bash", "edit", "patch", "write"}},
		"works in sandbox": {WorksInSandbox, []string{"bash", "code", "edit", "fetch", "glob", "grep", "list", mcp, "patch", "read", "write"}},
		"always web":       {AlwaysWeb, []string{"fetch", "install", mcp, "oneshot_network", "search_web"}},
		"an error of it carries web": {func(tool string) bool { return CarriesWeb(tool, false) }, []string{
			"bash", "code", "edit", "fetch", "install", mcp, "oneshot_network", "patch", "search_web",
		}},
		"a result of it carries web": {func(tool string) bool { return CarriesWeb(tool, true) }, []string{
			"bash", "code", "edit", "fetch", "glob", "grep", "install", "list", mcp, "oneshot_network", "patch", "read", "search_web",
		}},
	} {
		var got []string
		for _, tool := range append(slices.Sorted(maps.Keys(tools)), mcp, "no_tool", "mcp__", "") {
			if tt.fact(tool) {
				got = append(got, tool)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.of) {
			t.Errorf("%s: %q, want %q", name, got, tt.of)
		}
	}
}
