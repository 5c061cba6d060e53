// SPDX-License-Identifier: Apache-2.0

package script

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestParseErrors(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"empty file":     {"", []string{`x.yaml:1: is empty`}},
		"not YAML":       {"turns: [", []string{`x.yaml:1: did not find expected node content`}},
		"two documents":  {"turns: [{content: a}]\n---\n{}\n", []string{`x.yaml:2: holds more than one document`}},
		"no turns":       {"name: a\n", []string{`x.yaml:1: turns: there are none`}},
		"unknown field":  {"turns:\n- contents: a\n", []string{`x.yaml:2: contents: there is no such field here`}},
		"unknown deep":   {"turns:\n- content: a\n  fault: {kind: hang, tmies: 1}\n", []string{`x.yaml:3: tmies: there is no such field here`}},
		"duplicate key":  {"name: a\nname: b\n", []string{`x.yaml:2: mapping key "name" already defined at line 1`}},
		"wrong type":     {"turns:\n- content: a\n  repeat: often\n", []string{"x.yaml:3: turns[0].repeat: cannot unmarshal !!str `often` into int"}},
		"wrong shape":    {"turns:\n- content: a\n  toolCalls: code\n", []string{"x.yaml:3: turns[0].toolCalls: cannot unmarshal !!str `code` into []Call"}},
		"bad name":       {"name: a b\nturns: [{content: a}]\n", []string{`x.yaml:1: name: "a b" is not a name (letters, digits, . _ -, at most 63)`}},
		"bad follow":     {"follow: me\nturns: [{content: a}]\n", []string{`x.yaml:1: follow: "me" is neither count nor callID`}},
		"nothing said":   {"turns:\n- name: a\n", []string{`x.yaml:2: turns[0]: has neither content nor toolCalls (for an empty answer use the fault empty)`}},
		"same name":      {"turns:\n- {name: a, content: a}\n- {name: a, content: b}\n", []string{`x.yaml:3: turns[1].name: "a" is the name of an earlier turn`}},
		"goto nowhere":   {"turns:\n- content: a\n  goto: b\n", []string{`x.yaml:3: turns[0].goto: there is no turn named "b"`}},
		"goto by callID": {"follow: callID\nturns:\n- {name: a, content: a, goto: a}\n", []string{`x.yaml:3: turns[0].goto: does not go with follow: callID, which cannot tell where a jump came from`}},
		"repeat 0":       {"turns:\n- {content: a, repeat: 0}\n", []string{`x.yaml:2: turns[0].repeat: has to be 1 or more, and all turns together at most 1000`}},
		"too many turns": {"turns:\n- {content: a, repeat: 1001}\n", []string{`x.yaml:2: turns[0].repeat: has to be 1 or more, and all turns together at most 1000`}},
		"mixed turn":     {"turns:\n- content: a\n  alternatives:\n  - content: b\n", []string{`x.yaml:3: turns[0].alternatives: stands beside an answer; put that into the list`}},
		"empty when":     {"turns:\n- content: a\n  when: {}\n", []string{`x.yaml:3: turns[0].when: is empty`}},
		"bad regexp":     {"turns:\n- content: a\n  when: {lastUserMatches: '('}\n", []string{"x.yaml:3: turns[0].when.lastUserMatches: error parsing regexp: missing closing ): `(`"}},
		"bad template":   {"turns:\n- content: |\n    {{ nope }}\n", []string{`x.yaml:2: turns[0].content: template line 1: function "nope" not defined`}},
		"bad argument":   {"turns:\n- toolCalls:\n  - name: code\n    arguments:\n      a: [b, '{{']\n", []string{`x.yaml:5: turns[0].toolCalls[0].arguments.a[1]: template line 1: unclosed action`}},
		"both arguments": {"turns:\n- toolCalls:\n  - {name: a, arguments: {}, argumentsRaw: ''}\n", []string{`x.yaml:3: turns[0].toolCalls[0].argumentsRaw: stands beside arguments; only one of them can be sent`}},
		"nameless call":  {"turns:\n- toolCalls:\n  - id: a\n", []string{`x.yaml:3: turns[0].toolCalls[0].name: is missing`}},
		"date":           {"turns:\n- toolCalls:\n  - {name: a, arguments: {day: 2026-01-02}}\n", []string{`x.yaml:3: turns[0].toolCalls[0].arguments.day: is a date to YAML; put it in quotes`}},
		"number as key":  {"turns:\n- toolCalls:\n  - {name: a, arguments: {b: {1: 2}}}\n", []string{`x.yaml:3: turns[0].toolCalls[0].arguments.b: has a key that is not a string; JSON has no such thing`}},
		"fault kind":     {"turns:\n- {content: a, fault: {kind: slowly}}\n", []string{`x.yaml:2: turns[0].fault.kind: "slowly" is not one of cutBody cutStream disconnect empty endStream hang late malformedJSON noChoices slow stall status trickle truncatedJSON`}},
		"no pace":        {"turns:\n- {content: a, fault: {kind: trickle}}\n", []string{`x.yaml:2: turns[0].fault.delay: is missing`}},
		"no delay":       {"turns:\n- {content: a, fault: {kind: slow}}\n", []string{`x.yaml:2: turns[0].fault.delay: is missing`}},
		"late at once":   {"turns:\n- {content: a, fault: {kind: late}}\n", []string{`x.yaml:2: turns[0].fault.delay: is missing`}},
		"bad delay":      {"turns:\n- {content: a, fault: {kind: hang, delay: soon}}\n", []string{`x.yaml:2: turns[0].fault.delay: "soon" is not a duration like 500ms`}},
		"long delay":     {"turns:\n- {content: a, fault: {kind: hang, delay: 1h}}\n", []string{`x.yaml:2: turns[0].fault.delay: has to be above 0 and at most 10m0s`}},
		"bad status":     {"turns:\n- {content: a, fault: {kind: status, status: 200}}\n", []string{`x.yaml:2: turns[0].fault.status: has to be 400 to 599`}},
		"bad retry":      {"turns:\n- {content: a, fault: {kind: status, status: 429, retryAfterSeconds: -1}}\n", []string{`x.yaml:2: turns[0].fault.retryAfterSeconds: has to be 0 to 3600`}},
		"bad times":      {"turns:\n- {content: a, fault: {kind: empty, times: -1}}\n", []string{`x.yaml:2: turns[0].fault.times: has to be 0 (always) to 1000000`}},
		"foreign field":  {"turns:\n- {content: a, fault: {kind: empty, status: 429}}\n", []string{`x.yaml:2: turns[0].fault: status, retryAfterSeconds, code and message belong to kind status`}},
		"both faults":    {"turns:\n- {content: a, fault: {kind: empty}, faults: []}\n", []string{`x.yaml:2: turns[0].faults: stands beside fault; use one of them`}},
		"never reached":  {"turns:\n- content: a\n  faults:\n  - {kind: empty}\n  - {kind: empty}\n", []string{`x.yaml:4: turns[0].faults[0].times: is missing, so the faults after it never come`}},
		"all at once": {"turns:\n- name: a\n- {content: b, goto: c}\n", []string{
			`x.yaml:2: turns[0]: has neither content nor toolCalls (for an empty answer use the fault empty)`,
			`x.yaml:3: turns[1].goto: there is no turn named "c"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("x.yaml", []byte(tc.text))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tc.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseTooLarge(t *testing.T) {
	text := "turns: [{content: a}]\n#" + strings.Repeat("x", MaxFileSize)
	_, err := LoadFS(fstest.MapFS{"big.yaml": {Data: []byte(text)}})
	if err == nil || !strings.Contains(err.Error(), "big.yaml: is larger than") {
		t.Errorf("err = %v", err)
	}
}

func TestLoadFS(t *testing.T) {
	one := &fstest.MapFile{Data: []byte("turns: [{content: a}]")}
	for name, tc := range map[string]struct {
		files   fstest.MapFS
		want    []string
		wantErr string
	}{
		"named after file": {files: fstest.MapFS{"a.yaml": one, "b.yaml": one, "c.txt": one}, want: []string{"a", "b"}},
		"none":             {files: fstest.MapFS{"c.txt": one}, wantErr: "no *.yaml file there"},
		"same name": {
			files:   fstest.MapFS{"a.yaml": one, "b.yaml": {Data: []byte("name: a\nturns: [{content: a}]")}},
			wantErr: `b.yaml: name: "a" is already the script in a.yaml`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			scripts, err := LoadFS(tc.files)
			if got := errText(err); got != tc.wantErr {
				t.Fatalf("err = %q, want %q", got, tc.wantErr)
			}
			if len(scripts) != len(tc.want) {
				t.Fatalf("%d scripts, want %v", len(scripts), tc.want)
			}
			for _, name := range tc.want {
				if s := scripts[name]; s == nil || s.Name != name {
					t.Errorf("script %q = %+v", name, s)
				}
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// The example in the package comment is what an author copies first.
func TestDocExample(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse("doc.yaml", []byte(indented(file.Doc)))
	if err != nil {
		t.Fatal(err)
	}
	talk := start("go")
	talk = step(t, s, talk, "a\nb\n")               // read
	talk = step(t, s, talk, "header\nrows: 2\nbye") // code
	talk = step(t, s, talk, "yes, \"go\"\n")        // ask_user
	play, err := s.Play(talk)
	if err != nil {
		t.Fatal(err)
	}
	if want := `Done, the answer was "yes, \"go\"".`; play.Content != want {
		t.Errorf("content = %q, want %q", play.Content, want)
	}
}

// indented returns the first indented block of a comment.
func indented(doc *ast.CommentGroup) string {
	var block strings.Builder
	for line := range strings.SplitSeq(doc.Text(), "\n") {
		code, ok := strings.CutPrefix(line, "\t")
		switch {
		case ok:
			block.WriteString(code + "\n")
		case block.Len() > 0:
			return block.String()
		}
	}
	return block.String()
}

func FuzzParse(f *testing.F) {
	text, err := os.ReadFile("testdata/portfolio.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("turns: [{content: '{{ .Last }}'}]"))
	f.Add([]byte("turns: &a [{content: a, toolCalls: *a}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("x.yaml", text)
		if err != nil {
			return
		}
		talk := []Message{{Role: RoleUser, Content: "go"}}
		first, firstErr := s.Play(talk)
		second, secondErr := s.Play(talk)
		if errText(firstErr) != errText(secondErr) || !cmp.Equal(first, second) {
			t.Errorf("two plays of one conversation differ: %+v %v, %+v %v", first, firstErr, second, secondErr)
		}
	})
}
