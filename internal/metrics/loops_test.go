// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestCallsAreCountedByToolAndCode(t *testing.T) {
	t.Parallel()
	to := prometheus.NewRegistry()
	l, err := NewLoops(to)
	must(t, err)
	for _, c := range []struct{ tool, code string }{
		{"bash", ""}, {"bash", ""}, {"bash", "exit_1"}, {"bash", "exit_137"}, {"read", "not_found"}, {"mcp__git__log", "mcp_error"},
		{"mcp__other__tool", ""}, {"rm -rf", "unknown_tool"}, {"bash", "made up by a sandbox"},
	} {
		l.CallEnded(c.tool, c.code, time.Second)
	}
	l.StepRecorded(3 * time.Millisecond)
	has(t, to, `
		motorcortex_tool_calls_total{code="exit",tool="bash"} 2
		motorcortex_tool_calls_total{code="mcp_error",tool="mcp"} 1
		motorcortex_tool_calls_total{code="not_found",tool="read"} 1
		motorcortex_tool_calls_total{code="ok",tool="bash"} 2
		motorcortex_tool_calls_total{code="ok",tool="mcp"} 1
		motorcortex_tool_calls_total{code="other",tool="bash"} 1
		motorcortex_tool_calls_total{code="unknown_tool",tool="other"} 1
	`, "motorcortex_tool_calls_total")
	if counts := countsOf(t, to, "motorcortex_tool_call_duration_seconds"); counts["bash"] != 5 || counts["mcp"] != 2 || counts["other"] != 1 {
		t.Errorf("the durations are %v", counts)
	}
	if counts := countsOf(t, to, "motorcortex_step_overhead_seconds"); counts[""] != 1 {
		t.Errorf("the overhead of %v steps was observed", counts)
	}
}

// A tool or a code that is new would be counted as other without a trace.
func TestEveryToolAndCodeHasAValue(t *testing.T) {
	t.Parallel()
	for prefix, of := range map[string]struct {
		dirs  []string
		known map[string]bool
	}{
		"Tool": {[]string{"../toolapi"}, knownTools},
		"Code": {[]string{"../toolapi", "../motorloop/result"}, knownCodes},
	} {
		found := 0
		for _, dir := range of.dirs {
			for name, value := range constantsOf(t, dir, prefix) {
				found++
				if !of.known[value] {
					t.Errorf("%s of %s is not known: %q", name, dir, value)
				}
			}
		}
		if found != len(of.known) {
			t.Errorf("%d constants %s…, and %d are known", found, prefix, len(of.known))
		}
	}
}

// constantsOf returns the string constants of a package whose names begin with a prefix.
func constantsOf(t *testing.T, dir, prefix string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	must(t, err)
	found := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		must(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
				return true
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				value, err := strconv.Unquote(lit.Value)
				must(t, err)
				found[spec.Names[0].Name] = value
			}
			return true
		})
	}
	return found
}
