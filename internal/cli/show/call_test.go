// SPDX-License-Identifier: Apache-2.0

package show_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/cli/show"
)

func TestCall(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ tool, arguments, want string }{
		"a command":        {"bash", `{"command":"git push","timeoutSeconds":60}`, "tool: bash\nargument command:\n  | git push\nargument timeoutSeconds:\n  | 60\n"},
		"a program":        {"code", `{"language":"python","source":"a = 1\n\tprint(a)\n"}`, "tool: code\nargument language:\n  | python\nargument source (ends with a line break):\n  | a = 1\n  | \tprint(a)\n"},
		"a hidden command": {"bash", "{\"command\":\"ls\\u001b[8m; rm -rf x\\u202e\"}", "tool: bash\nargument command:\n  | ls\\u001b[8m; rm -rf x\\u202e\n"},
		"a key twice":      {"bash", `{"command":"ls","command":"rm x"}`, "tool: bash\n  | {\"command\":\"ls\",\"command\":\"rm x\"}\n"},
		"more behind":      {"bash", `{"command":"ls"} rm`, "tool: bash\n  | {\"command\":\"ls\"} rm\n"},
		"no object":        {"bash", `null`, "tool: bash\n  | null\n"},
		"no JSON":          {"bash", "rm\ncommand: ls", "tool: bash\n  | rm\n  | command: ls\n"},
		"an edit": {
			"edit", `{"path":"a.py","oldText":"x = 1\ny = 2","newText":"x = 1\ny = 3","replaceAll":true}`,
			"tool: edit\npath: a.py\n  | --- before\n  | +++ after\n  | @@ -1,2 +1,2 @@\n  |  x = 1\n  | -y = 2\n  | \\ No newline at end of file\n  | +y = 3\n  | \\ No newline at end of file\nargument replaceAll:\n  | true\n",
		},
		"an edit that only ends a line": {
			"edit", `{"path":"a","oldText":"# ","newText":"# \n"}`,
			"tool: edit\nargument newText (ends with a line break):\n  | # \nargument oldText:\n  | # \nargument path:\n  | a\n",
		},
		"a carriage return":          {"bash", "{\"command\":\"cat <<E\\nE\\r\\nrm x\"}", "tool: bash\nargument command:\n  | cat <<E\n  | E\\u000d\n  | rm x\n"},
		"an argument without a name": {"bash", `{"":"x"}`, "tool: bash\nargument :\n  | x\n"},
		"a text like a digest":       {"bash", `{"command":"ls","digest":"sha256:0"}`, "tool: bash\nargument command:\n  | ls\nargument digest:\n  | sha256:0\n"},
		"a line beyond the screen": {
			"bash", `{"command":"` + strings.Repeat("x", 150) + `"}`, "tool: bash\nargument command:\n  | " + strings.Repeat("x", 100) + "\n  | " + strings.Repeat("x", 50) + "\n",
		},
		"an edit of another form": {"edit", `{"Path":"b","path":"a","oldText":"x","newText":"y"}`, "tool: edit\nargument Path:\n  | b\nargument newText:\n  | y\nargument oldText:\n  | x\nargument path:\n  | a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			show.Call(&b, tt.tool, tt.arguments)
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ arguments, want string }{
		"a command":     {`{"command":"make\nserve","timeoutSeconds":3}`, "make serve"},
		"a program":     {`{"language":"javascript","source":"a\nb\n"}`, "javascript, 2 lines"},
		"something":     {`{"n":1}`, `{"n":1}`},
		"nothing":       {`{}`, ""},
		"no JSON":       {"\x1b", `\u001b`},
		"a long one":    {`{"path":"` + strings.Repeat("x", 100) + `"}`, strings.Repeat("x", 37) + "…"},
		"a hidden path": {`{"path":"a\u202e"}`, `a\u202e`},
	} {
		if got := show.Brief("tool", tt.arguments, 40); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
