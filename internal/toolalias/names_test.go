// SPDX-License-Identifier: Apache-2.0

package toolalias

import (
	"slices"
	"strings"
	"testing"
)

func TestUse(t *testing.T) {
	all := strings.Fields("bash code read write edit patch list glob grep fetch search_web ask_user")
	few := strings.Fields("bash ask_user")
	for _, tc := range []struct {
		name, arguments string
		offered         []string
		want            string
	}{
		{"str_replace", "", all, "use edit with path, oldText and newText"},
		{"str_replace_based_edit_tool", `{"command":"str_replace"}`, all, "use edit with path, oldText and newText"},
		{"str_replace_editor", `{"command":"view","path":"a"}`, all, "use read with path"},
		{"str_replace_editor", `{"command":"create","path":"a"}`, all, "use write with path and content"},
		{"str_replace_editor", `{"command":"view","path":"a"}`, few, "use bash with command: cat FILE"},
		{"apply_patch", "", all, "use patch with patch"},
		{"apply_patch", "", strings.Fields("edit bash"), "use edit with path, oldText and newText"},
		{"python", "", all, `use code with language "python" and source`},
		{"python", "", few, "use bash with command, python3 in it"},
		{"execute_ipython_cell", "", all, `use code with language "python" and source`},
		{"execute_bash", "", all, "use bash with command"},
		{"functions_shell", "", all, "use bash with command"},
		{"run_terminal_cmd", "", all, "use bash with command"},
		{"Bash", "", all, "use bash with command"},
		{"view", "", all, "use read with path"},
		{"read_file", "", strings.Fields("list ask_user"), ""},
		{"create_file", "", all, "use write with path and content"},
		{"search", "", all, "use grep with pattern"},
		{"web_search", "", all, "use search_web with query"},
		{"WebFetch", "", few, ""},
		{"grep", "", few, "use bash with command: grep -rn"},
		{"nonsense", "", all, ""},
		{"", "", all, ""},
		{strings.Repeat("bash", 1000), "", all, ""},
	} {
		if got := Use(tc.name, tc.arguments, tc.offered); got != tc.want {
			t.Errorf("%.40s %s: got %q, want %q", tc.name, tc.arguments, got, tc.want)
		}
	}
}

// Each name has one meaning, and each advised tool is offered.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for d, names := range named {
		for name := range strings.FieldsSeq(names) {
			if seen[name] || deedOf(name) != d {
				t.Errorf("%q is there twice, or cannot be found", name)
			}
			seen[name] = true
		}
		if len(ways[d]) == 0 {
			t.Errorf("there is no way for %s", names)
		}
		for i, w := range ways[d] {
			if !strings.HasPrefix(w.how, "use "+w.tool+" ") || slices.ContainsFunc(ways[d][:i], func(other way) bool { return other.tool == w.tool }) {
				t.Errorf("%s: %s", w.tool, w.how)
			}
		}
	}
}

func TestAdvice(t *testing.T) {
	all := schemas(t)
	for _, tc := range []struct{ tool, name, given, want string }{
		{"bash", "comand", "", `Did you mean "command"?`},
		{"bash", "timeoutSecond", "", `Did you mean "timeoutSeconds"?`},
		{"bash", "workdir", "command", `Every command starts in the workspace: begin it with "cd FOLDER &&".`},
		{"read", "file_path", "path", `It means the same as "path", which was given too, with another value: give "path" alone.`},
		{"grep", "case_sensitive", "pattern", `Give "ignoreCase" instead.`},
		{"bash", "nonsense", "", ""},
		{"bash", strings.Repeat("c", 10000), "", ""},
	} {
		got := Advice(tc.tool, all[tc.tool], tc.name, func(name string) bool { return name == tc.given })
		if got != tc.want {
			t.Errorf("%s %.20s: got %q, want %q", tc.tool, tc.name, got, tc.want)
		}
	}
}
