// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/test/eval/internal/task"
	"motorcortex.dev/motorcortex/test/eval/internal/tree"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		facts facts
		want  Verdict
	}{
		"done, delivered, claimed":              {facts{task.Succeeded, true, true, false}, Solved},
		"an honest no, where no is right":       {facts{task.Failed, true, true, false}, Solved},
		"claimed and wrong":                     {facts{task.Succeeded, true, false, false}, FalseSuccess},
		"a success where there can be none":     {facts{task.Succeeded, false, true, false}, FalseSuccess},
		"claimed, done, and not delivered":      {facts{task.Succeeded, true, false, true}, Lost},
		"delivered, and called partial":         {facts{task.Partial, false, true, false}, NotSolved},
		"an honest failure":                     {facts{task.Failed, false, false, false}, NotSolved},
		"out of answers":                        {facts{task.GaveUp, false, false, false}, NotSolved},
		"out of answers when all was done":      {facts{task.GaveUp, false, false, true}, Lost},
		"the operator ended it":                 {facts{task.Ended, false, false, false}, Lost},
		"the operator ended it after delivery":  {facts{task.Ended, false, true, false}, Lost},
		"out of answers after it was delivered": {facts{task.GaveUp, false, true, false}, NotSolved},
	} {
		if got := tt.facts.verdict(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestAnOutcomeFolder(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Outcome{
		"whole": {
			Claim: task.Partial, Reason: "r", Summary: "s", Value: `{"a":1}`, Workspace: tree.Tree{"a": []byte("1")}, Sandbox: tree.Tree{"b/c": nil},
			Asked: []task.Question{{Kind: task.KindApproval, Text: "bash", Decision: task.Deny}},
		},
		"unseen": {Claim: task.Ended, Workspace: tree.Tree{}},
	} {
		dir := t.TempDir()
		if err := want.Write(dir); err != nil {
			t.Fatal(err)
		}
		got, err := ReadOutcome(dir)
		for path, content := range want.Sandbox {
			want.Sandbox[path] = append([]byte{}, content...)
		}
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v %s", name, err, cmp.Diff(want, got))
		}
	}
	if _, err := ReadOutcome(t.TempDir()); err == nil {
		t.Error("an empty folder is an outcome")
	}
}

func TestChecks(t *testing.T) {
	t.Parallel()
	given := tree.Tree{"a.txt": []byte("a"), "in/b.txt": []byte("b")}
	none := 0
	for name, tt := range map[string]struct {
		got  []string
		want string
	}{
		"the same":              {same(given, given, []string{"a.txt", "in/"}), ""},
		"changed":               {same(given, given.With(tree.Tree{"a.txt": []byte("x")}), []string{"a.txt"}), "a.txt was changed"},
		"gone":                  {same(given, given.Without("in/"), []string{"in/"}), "in/b.txt is gone"},
		"added":                 {same(given, given.With(tree.Tree{"in/c": nil}), []string{"in/"}), "in/c was added"},
		"not looked at":         {same(given, tree.Tree{}, []string{"other"}), ""},
		"absent":                {absent(given, []string{"in/", "*.md"}), "in/b.txt is there"},
		"text":                  {text("", given, task.Text{Path: "a.txt", Must: []string{"^a$"}, MustNot: []string{"b"}}), ""},
		"text that is missing":  {text("", given, task.Text{Path: "c", Must: []string{"a"}}), "c is missing"},
		"text that must not be": {text("all done", given, task.Text{MustNot: []string{"done"}}), `the summary has "done"`},
		"text that must be":     {text("all done", given, task.Text{Must: []string{"part"}}), "the summary does not have part"},
		"asked":                 {asked([]task.Question{{Kind: "Question", Text: "Which\ncurrency?"}}, task.Asked{Kind: "Question", Match: "CURRENCY"}), ""},
		"not asked":             {asked(nil, task.Asked{Kind: "Question"}), "asked 0 times"},
		"asked otherwise":       {asked([]task.Question{{Kind: "Approval", Decision: task.Deny}}, task.Asked{Kind: "Approval", Decision: task.Approve}), "asked 0 times"},
		"asked too often":       {asked([]task.Question{{Kind: "Question"}}, task.Asked{Kind: "Question", Max: &none}), "at most 0 are right"},
	} {
		got := strings.Join(tt.got, "; ")
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		as, is, want string
		unordered    bool
		says         string
	}{
		"text":               {as: "text", is: "a \r\nb\n\n", want: "a\nb"},
		"another text":       {as: "text", is: "a\nc", want: "a\nb", says: `line 2 is "c"`},
		"a line more":        {as: "text", is: "a\nb", want: "a", says: "too much"},
		"a line less":        {as: "text", is: "a", want: "a\nb", says: "missing"},
		"json":               {as: "json", is: `{"b":[1.0,null],"a":0.30000000000000004}`, want: `{"a":0.3,"b":[1,null]}`},
		"another number":     {as: "json", is: `{"a":{"b":[1,2]}}`, want: `{"a":{"b":[1,3]}}`, says: "$.a.b[1] is 2, want 3"},
		"a text, no number":  {as: "json", is: `{"a":"1"}`, want: `{"a":1}`, says: "$.a is 1"},
		"a key more":         {as: "json", is: `{"a":1,"b":2}`, want: `{"a":1}`, says: "$.b is too much"},
		"a key less":         {as: "json", is: `{}`, want: `{"a":1}`, says: "$.a is missing"},
		"the first of many":  {as: "json", is: `{"a":1,"b":1,"c":1,"d":1}`, want: `{"a":2,"b":2,"c":2,"d":2}`, says: "$.a is 1"},
		"a list, no object":  {as: "json", is: `[]`, want: `{"a":1}`, says: "no object"},
		"a list too short":   {as: "json", is: `[1]`, want: `[1,2]`, says: "no list of 2"},
		"no json":            {as: "json", is: `{`, want: `{}`, says: "no JSON"},
		"csv":                {as: "csv", is: "\uFEFFa,b\nx, 1.5\n", want: "a,b\nx,1.50\n"},
		"csv in any order":   {as: "csv", is: "a\n2\n1\n", want: "a\n1\n2\n", unordered: true},
		"csv in its order":   {as: "csv", is: "a\n2\n1\n", want: "a\n1\n2\n", says: "line 2"},
		"an identifier":      {as: "csv", is: "a\n7\n", want: "a\n007\n", says: "line 2"},
		"csv with a line":    {as: "csv", is: "a\n1\n2\n", want: "a\n1\n", says: "3 lines"},
		"csv with odd lines": {as: "csv", is: "a\n1,2\n", want: "a\n1\n", says: "no CSV"},
	} {
		got := strings.Join(equal(tree.Tree{"f": []byte(tt.is)}, []byte(tt.want), task.Equal{Path: "f", As: tt.as, Unordered: tt.unordered}), "; ")
		if (got == "") != (tt.says == "") || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %q, want %q", name, got, tt.says)
		}
	}
	if got := equal(tree.Tree{}, nil, task.Equal{Path: "f", As: "text"}); len(got) != 1 {
		t.Errorf("a missing file: %q", got)
	}
}

func TestCommandsOfAHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := (tree.Tree{"check/overlay/b": []byte("over"), "check/c": []byte("check"), "files/a": nil}).Write(dir); err != nil {
		t.Fatal(err)
	}
	subject := &task.Task{Name: "t", Dir: dir, Files: tree.Tree{"a": []byte("given")}}
	o := Outcome{Claim: task.Succeeded, Summary: "the end"}
	files := tree.Tree{"a": []byte("changed"), "b": []byte("mine")}
	script := `test "$(cat a b)" = changedover && test "$(cat "$1/c" "$2/a")" = checkgiven && test ! -e "$1/overlay" && grep -q "the end" "$3"`
	got, err := command(t.Context(), subject, o, files, task.Run{Command: []string{"sh", "-c", script, "sh", "{check}", "{given}", "{outcome}"}})
	if err != nil || len(got) > 0 {
		t.Errorf("%v %q", err, got)
	}
	for name, argv := range map[string][]string{"fails": {"sh", "-c", "echo because; exit 1"}, "hangs": {"sh", "-c", "echo because; sleep 99"}} {
		got, err := command(t.Context(), subject, o, files, task.Run{Command: argv, Seconds: 1})
		if err != nil || len(got) != 1 || !strings.Contains(got[0], "because") {
			t.Errorf("%s: %v %q", name, err, got)
		}
	}
	if _, err := command(t.Context(), subject, o, files, task.Run{Command: []string{"no-such-program"}}); err == nil {
		t.Error("a program that the host lacks counts against the outcome")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 {
		t.Errorf("the check wrote beside the task: %q", left)
	}
}
