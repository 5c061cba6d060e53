// SPDX-License-Identifier: Apache-2.0

package conversation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestShortenArguments(t *testing.T) {
	long := strings.Repeat("ä<", 300)
	many := map[string]string{}
	for i := range 200 {
		many[fmt.Sprint(i)] = "value"
	}
	cases := map[string]struct{ in, want string }{
		"short":         {`{"a":1}`, `{"a":1}`},
		"one long":      {`{"path":"p","content":"` + long + `","append":true}`, `{"append":true,"content":"` + strings.Repeat("ä<", 21) + `…","path":"p"}`},
		"a long list":   {`{"a":[` + strings.Repeat("1,", 200) + `1]}`, `{"a":"[` + strings.Repeat("1,", 98) + `…"}`},
		"large numbers": {`{"a":9007199254740993,"b":"` + long + `"}`, `{"a":9007199254740993,"b":"` + strings.Repeat("ä<", 32) + `…"}`},
		"no object":     {`[` + strings.Repeat("1,", 200) + `1]`, `[` + strings.Repeat("1,", 98) + "…"},
		"many fields":   {text.JSON(many), `{"shortened":"` + strings.ReplaceAll(text.JSON(many)[:197], `"`, `\"`) + `…"}`},
	}
	for name, tc := range cases {
		if d := cmp.Diff(tc.want, shortenArguments(tc.in, 200)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// Every shortened text names how the model can see it again.
func TestShortenedTextsSayWhereTheRestIs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcde\n", 200)
	for name, tt := range map[string]struct {
		call turn.Call
		res  toolapi.Result
		want string
	}{
		"kept":         {turn.Call{Tool: "bash"}, toolapi.Result{OK: true, KeptFile: ".motor/output/a"}, `[shortened: these are the first 496 of 3200 bytes. All of it is in the workspace file ".motor/output/a"]`},
		"cut before":   {turn.Call{Tool: "bash"}, toolapi.Result{OK: true, OutputFile: ".motor/output/b"}, `All of it is in the workspace file ".motor/output/b"]`},
		"read":         {turn.Call{Tool: "read", Arguments: `{"path":"ISSUE.md"}`}, toolapi.Result{OK: true}, `If you need the rest, read "ISSUE.md" again]`},
		"list":         {turn.Call{Tool: "list", Arguments: `{}`}, toolapi.Result{OK: true}, "If you need the rest, make this call again]"},
		"a search":     {turn.Call{Tool: "search_web"}, toolapi.Result{OK: true, Provenance: toolapi.ProvenanceWeb}, "make this call again]"},
		"nowhere":      {turn.Call{Tool: "write"}, toolapi.Result{ErrorCode: "exit_1"}, "The rest is not kept]"},
		"a person":     {turn.Call{Tool: "ask_user"}, toolapi.Result{OK: true, Provenance: toolapi.ProvenanceUser}, "abcde"},
		"bad argument": {turn.Call{Tool: "read", Arguments: `{"path":7}`}, toolapi.Result{OK: true}, "make this call again]"},
	} {
		tt.res.Output = long
		got := renderCut(tt.call, &tt.res, oldHead)
		if !strings.HasSuffix(got, tt.want) || tt.res.Provenance != toolapi.ProvenanceUser && len(got) > 2*oldHead {
			t.Errorf("%s: %q", name, got)
		}
		if mark := "[end untrusted data"; tt.res.Provenance == toolapi.ProvenanceWeb && strings.Index(got, mark) > strings.Index(got, "[shortened") {
			t.Errorf("%s: what we say is marked as data from the web: %q", name, got)
		}
	}
	if got := renderCut(turn.Call{Tool: "bash"}, &toolapi.Result{OK: true, Output: strings.Repeat("x", 900)}, 500); !strings.HasPrefix(got, strings.Repeat("x", 500)+"\n[shortened: these are the first 500 of 900 bytes.") {
		t.Errorf("one long line: %q", got)
	}
}
