// SPDX-License-Identifier: Apache-2.0

package toolalias

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// schemas are those of the tools, with the bounds that the table is about.
func schemas(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	all := map[string]*jsonschema.Schema{
		toolapi.ToolBash: schema[toolapi.BashArgs](t), toolapi.ToolCode: schema[toolapi.CodeArgs](t), toolapi.ToolRead: schema[toolapi.ReadArgs](t),
		toolapi.ToolWrite: schema[toolapi.WriteArgs](t), toolapi.ToolEdit: schema[toolapi.EditArgs](t), toolapi.ToolPatch: schema[toolapi.PatchArgs](t),
		toolapi.ToolList: schema[toolapi.ListArgs](t), toolapi.ToolGlob: schema[toolapi.GlobArgs](t), toolapi.ToolGrep: schema[toolapi.GrepArgs](t),
		toolapi.ToolFetch: schema[toolapi.FetchArgs](t), toolapi.ToolSearchWeb: schema[toolapi.SearchWebArgs](t),
		toolapi.ToolSaveArtifact: schema[toolapi.SaveArtifactArgs](t), toolapi.ToolAskUser: schema[toolapi.AskUserArgs](t),
		toolapi.ToolRequestDomain: schema[toolapi.RequestDomainArgs](t), toolapi.ToolSaveCredential: schema[toolapi.SaveCredentialArgs](t),
	}
	all[toolapi.ToolCode].Properties["language"].Enum = []any{toolapi.LanguageJavaScript, toolapi.LanguagePython}
	all[toolapi.ToolGrep].Properties["output"].Enum = []any{toolapi.GrepContent, toolapi.GrepFiles, toolapi.GrepCount}
	all[toolapi.ToolFetch].Properties["method"].Enum = []any{"GET", "POST"}
	options := all[toolapi.ToolAskUser].Properties["options"]
	options.Type, options.Types = "array", nil
	one := 1.0
	for tool, names := range map[string][]string{toolapi.ToolRead: {"offset", "limit"}, toolapi.ToolBash: {"timeoutSeconds"}} {
		for _, name := range names {
			all[tool].Properties[name].Minimum = &one
		}
	}
	return all
}

func schema[T any](t testing.TB) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.For[T](nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestArguments(t *testing.T) {
	all := schemas(t)
	for _, tc := range []struct{ tool, raw, want string }{
		// Names.
		{"read", `{"file_path":"a"}`, `{"path":"a"}`},
		{"read", `{"filePath":"a","start_line":3,"end_line":"5"}`, `{"limit":3,"offset":3,"path":"a"}`},
		{"read", `{"path":"a","view_range":[10,-1]}`, `{"offset":10,"path":"a"}`},
		{"read", `{"command":"view","path":"a","view_range":[2,2],"security_risk":"LOW"}`, `{"limit":1,"offset":2,"path":"a"}`},
		{"read", `{"absolute_path":"a","offset":0,"limit":0}`, `{"path":"a"}`},
		{"write", `{"file_path":"a","file_text":"x","command":"create"}`, `{"content":"x","path":"a"}`},
		{"edit", `{"file_path":"a","old_string":"x","new_string":"<&y>","replace_all":"true"}`, `{"newText":"<&y>","oldText":"x","path":"a","replaceAll":true}`},
		{"edit", `{"path":"a","old_str":"x","new_str":"y","command":"str_replace"}`, `{"newText":"y","oldText":"x","path":"a"}`},
		{"edit", `{"Path":"a","old_text":"x","new_text":"y","instruction":"i","expected_replacements":1}`, `{"newText":"y","oldText":"x","path":"a"}`},
		{"bash", `{"cmd":"ls","timeout":120000,"description":"lists","run_in_background":false}`, `{"background":false,"command":"ls","timeoutSeconds":120}`},
		{"bash", `{"command":"ls","timeout":"60","is_input":"false"}`, `{"command":"ls","timeoutSeconds":60}`},
		{"bash", `{"command":"ls","timeout_ms":1500,"workdir":"/workspace","with_escalated_permissions":false}`, `{"command":"ls","timeoutSeconds":2}`},
		{"bash", `{"command":"ls","timeout_seconds":60.0}`, `{"command":"ls","timeoutSeconds":60}`},
		{"bash", `{"command":"ls","timeout":null}`, `{"command":"ls"}`},
		{"bash", `{"command":"ls","timeout":1800}`, `{"command":"ls","timeoutSeconds":1800}`},
		{"code", `{"lang":"Python3","code":"1"}`, `{"language":"python","source":"1"}`},
		{"grep", `{"pattern":"a","output_mode":"files_with_matches","-i":true,"-n":true,"-C":2,"head_limit":5}`,
			`{"context":2,"ignoreCase":true,"output":"files","pattern":"a"}`},
		{"grep", `{"query":"a","include_pattern":"*.go","case_sensitive":false,"dir_path":"src"}`, `{"glob":"*.go","ignoreCase":true,"path":"src","pattern":"a"}`},
		{"grep", `{"regex":"a","names_only":true,"fixed_strings":"True"}`, `{"literal":true,"output":"files","pattern":"a"}`},
		{"patch", `{"input":"x"}`, `{"patch":"x"}`},
		{"list", `{"dir_path":"a","ignore":[]}`, `{"path":"a"}`},
		{"fetch", `{"uri":"https://a","method":"post","prompt":"p"}`, `{"method":"POST","url":"https://a"}`},
		{"ask_user", `{"Question":"q","choices":"[\"a\"]"}`, `{"options":["a"],"question":"q"}`},
		// Lists of words.
		{"bash", `{"command":["bash","-lc","ls && pwd"]}`, `{"command":"ls && pwd"}`},
		{"bash", `{"command":["ls","-l","my file","it's"]}`, `{"command":"ls -l 'my file' 'it'\\''s'"}`},
		{"bash", `{"command":["ls -l"]}`, `{"command":"ls -l"}`},
		// The whole in a string.
		{"bash", `"{\"cmd\":\"ls\"}"`, `{"command":"ls"}`},
		// Given twice, alike.
		{"read", `{"path":"a","file_path":"a"}`, `{"path":"a"}`},
		{"bash", `{"command":"ls","timeoutSeconds":60,"timeout":60000}`, `{"command":"ls","timeoutSeconds":60}`},
	} {
		if got := Arguments(tc.tool, all[tc.tool], tc.raw); got != tc.want {
			t.Errorf("%s %s:\ngot  %s\nwant %s", tc.tool, tc.raw, got, tc.want)
		}
		if again := Arguments(tc.tool, all[tc.tool], tc.want); again != tc.want {
			t.Errorf("%s %s changes to %s when it is read again", tc.tool, tc.want, again)
		}
	}
}

// Arguments that fit, that contradict each other, or whose omission would change the call stay as the model wrote them.
func TestArgumentsThatStay(t *testing.T) {
	all := schemas(t)
	for tool, raws := range map[string][]string{
		"bash": {
			``, ` {"command" : "ls" } `, `{"command":`, `["ls"]`, `null`, `7`, `{"command":7}`, `{"command":["ls",7]}`, `{"command":[]}`, `{"command":null}`,
			`{"command":"a","cmd":"b"}`, `{"command":"a","workdir":"src"}`, `{"command":"a","is_input":true}`, `{"command":"a","nonsense":1}`,
			`{"command":"a","timeoutSeconds":1.5}`, `{"command":"a","timeoutSeconds":"soon"}`, `{"command":"a","background":"maybe"}`,
			`{"command":"` + strings.Repeat("x", toolapi.MaxArgumentsBytes) + `","description":"d"}`,
			`{"command":"a","x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
		},
		"read":     {`{"path":"a","file_path":"b"}`, `{"path":"a","view_range":[5,2]}`, `{"path":"a","start_line":1,"offset":2}`},
		"edit":     {`{"path":"a","oldText":"x","newText":"y","expected_replacements":2}`, `{"path":"a","oldText":"","newText":"y","command":"insert"}`},
		"ask_user": {`{"question":"q","description":"what it is about"}`},
	} {
		for _, raw := range raws {
			if got := Arguments(tool, all[tool], raw); got != raw {
				t.Errorf("%s %.80s:\ngot %.80s", tool, raw, got)
			}
		}
	}
}

// A row of the table that no name leads to would be dead, and a row that hides an argument of the tool would change calls that fit.
func TestTable(t *testing.T) {
	all := schemas(t)
	seen := map[string]bool{}
	for _, r := range rows {
		s := all[r.tool]
		if s == nil || s.Properties[r.to] == nil {
			t.Errorf("%s has no argument %s", r.tool, r.to)
			continue
		}
		for name := range strings.FieldsSeq(r.names) {
			if seen[r.tool+" "+name] || fold(name) != name {
				t.Errorf("%s: %q is there twice, or cannot be found", r.tool, name)
			}
			seen[r.tool+" "+name] = true
			for property := range s.Properties {
				if fold(property) == name && property != r.to {
					t.Errorf("%s: %q is an argument", r.tool, name)
				}
			}
		}
	}
	for tool, s := range all {
		for property := range s.Properties {
			if got := Meant(tool, s, strings.ToUpper(property)); got != property {
				t.Errorf("%s: %s is taken for %q", tool, property, got)
			}
		}
	}
}

// The cost of the worst arguments is bounded by their size.
func TestWorstArguments(t *testing.T) {
	all := schemas(t)
	var many strings.Builder
	for i := 0; many.Len() < toolapi.MaxArgumentsBytes-100; i++ {
		fmt.Fprintf(&many, `"k%d":"",`, i)
	}
	for name, raw := range map[string]string{
		"names":   `{` + many.String() + `"command":"a"}`,
		"aliases": `{` + strings.Repeat(`"cmd":"",`, toolapi.MaxArgumentsBytes/9-10) + `"command":"a"}`,
		"words":   `{"command":[` + strings.Repeat(`"'",`, toolapi.MaxArgumentsBytes/4-10) + `"a"]}`,
		"a name":  `{"` + strings.Repeat("_", toolapi.MaxArgumentsBytes-100) + `":1}`,
	} {
		start := time.Now()
		got := Arguments(toolapi.ToolBash, all[toolapi.ToolBash], raw)
		if took := time.Since(start); took > 5*time.Second || len(got) > 6*len(raw) {
			t.Errorf("%s: %v, %d bytes of %d", name, took, len(got), len(raw))
		}
	}
}

func FuzzArguments(f *testing.F) {
	all := schemas(f)
	tools := slices.Sorted(maps.Keys(all))
	f.Add(uint8(0), `{"cmd":["bash","-lc","ls"],"timeout":60000,"description":""}`)
	f.Add(uint8(8), `{"path":"a","view_range":[1,2],"file_path":"a"}`)
	f.Add(uint8(1), `"{\"code\":\"1\"}"`)
	f.Fuzz(func(t *testing.T, n uint8, raw string) {
		tool := tools[int(n)%len(tools)]
		got := Arguments(tool, all[tool], raw)
		if got != raw && !json.Valid([]byte(got)) {
			t.Fatalf("%q became %q", raw, got)
		}
		if again := Arguments(tool, all[tool], raw); again != got {
			t.Fatalf("%q became %q and %q", raw, got, again)
		}
		if again := Arguments(tool, all[tool], got); len(got) <= toolapi.MaxArgumentsBytes && again != got {
			t.Fatalf("%q became %q, and that %q", raw, got, again)
		}
	})
}
