// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strings"
	"testing"
)

func TestTemplates(t *testing.T) {
	talk := append(start("a"),
		Message{Role: RoleAssistant, ToolCalls: []Call{{ID: "i", Name: "read"}, {ID: "j", Name: "code"}}},
		tool("i", "first\nsecond\nthird\n"),
		tool("j", "exit 0, 12 ms\n{\"n\": 1234567.50, \"list\": [1, 2]}\nnote"),
		Message{Role: RoleAssistant, ToolCalls: []Call{{ID: "i", Name: "write"}}},
		tool("i", "again"),
	)
	read := talk[:4:4] // Up to the first tool message.
	code := talk[:5:5]
	for name, tc := range map[string]struct {
		text string
		talk []Message
		want string
	}{
		"no tool yet":        {"[{{ .Last }}]", start("a"), "[]"},
		"last":               {"{{ .Last }}", talk, "again"},
		"turn":               {"{{ .Turn }}", talk, "2"},
		"messages":           {"{{ (index .Messages 1).Content }} {{ len .Messages }}", talk, "a 7"},
		"tool by name":       {`{{ .Tool "read" | line 2 }}`, talk, "second"},
		"tool by id":         {`{{ .Tool "j" | line 1 }}`, talk, "exit 0, 12 ms"},
		"latest of an id":    {`{{ .Tool "i" }}`, talk, "again"},
		"no such tool":       {`{{ .Tool "bash" }}`, talk, `error: no output of a tool or call "bash" in the conversation`},
		"json behind header": {"{{ .LastJSON.n }} {{ index .LastJSON.list 1 }}", code, "1234567.50 2"},
		"json, missing key":  {"{{ .LastJSON.m }}", code, `error: map has no entry for key "m"`},
		"json, none":         {"{{ .LastJSON.m }}", read, `error: nil pointer evaluating`},
		"json":               {"{{ json .Last }}", read, `"first\nsecond\nthird\n"`},
		"json, readable":     {`{{ json "<a&b>" }}`, read, `"<a&b>"`},
		"line from the end":  {"{{ .Last | line -1 }}", read, "third"},
		"line 0":             {"{{ .Last | line 0 }}", read, "error: no line 0 in a text of 3 lines"},
		"line 4":             {"{{ .Last | line 4 }}", read, "error: no line 4 in a text of 3 lines"},
		"after, trim":        {`[{{ .Last | after "second" | trim }}]`, read, "[third]"},
		"after, none":        {`{{ .Last | after "x" }}`, read, `error: "x" is not in "first\nsecond\nthird\n"`},
		"regexFind":          {`{{ .Last | regexFind "se[a-z]*" }}`, read, "second"},
		"regexFind, group":   {`{{ .Last | regexFind "(?m)^th(.*)$" }}`, read, "ird"},
		"regexFind, none":    {`{{ .Last | regexFind "x+" }}`, read, `error: "x+" does not match`},
		"regexFind, bad":     {`{{ .Last | regexFind "(" }}`, read, "error: error parsing regexp"},
		"too long":           {`{{ range .Messages }}{{ printf "%3000000d" 1 }}{{ end }}`, talk, "error: the result is too long"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &checker{}
			compiled := c.template(field{"content"}, tc.text)
			if len(c.errs) > 0 {
				t.Fatal(c.errs)
			}
			turn := 0
			for _, m := range tc.talk {
				if m.Role == RoleAssistant {
					turn++
				}
			}
			got, err := render(compiled, data{Turn: turn, Messages: tc.talk})
			want, wantErr := strings.CutPrefix(tc.want, "error: ")
			switch {
			case wantErr && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("err = %v, want %q", err, want)
			case !wantErr && (err != nil || got != want):
				t.Errorf("got %q, %v, want %q", got, err, want)
			}
		})
	}
}

// An error of a template names the script, the turn and the field.
func TestTemplateError(t *testing.T) {
	s := mustParse(t, `turns: [{name: sum, toolCalls: [{name: a, arguments: {b: ['{{ .Tool "x" }}']}}]}]`)
	_, err := s.Play(start("a"))
	const want = `script "x", turn 0 (sum): a template failed: template: turns[0].toolCalls[0].arguments.b[0]:1:`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("err = %v, want prefix %s", err, want)
	}
}
