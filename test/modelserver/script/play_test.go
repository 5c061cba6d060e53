// SPDX-License-Identifier: Apache-2.0

package script

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t *testing.T, text string) *Script {
	t.Helper()
	s, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// start is the beginning of a conversation.
func start(task string) []Message {
	return []Message{{Role: RoleSystem, Content: "You are a test."}, {Role: RoleUser, Content: task}}
}

// step plays a turn and appends it with the outputs of its calls.
func step(t *testing.T, s *Script, talk []Message, outputs ...string) []Message {
	t.Helper()
	play, err := s.Play(talk)
	if err != nil {
		t.Fatal(err)
	}
	if len(play.ToolCalls) != len(outputs) {
		t.Fatalf("turn %d makes %d calls, the test has %d outputs", play.Turn, len(play.ToolCalls), len(outputs))
	}
	return extend(talk, play, outputs...)
}

func extend(talk []Message, play *Play, outputs ...string) []Message {
	talk = append(slices.Clip(talk),
		Message{Role: RoleAssistant, Content: play.Content, ToolCalls: play.ToolCalls})
	for i, output := range outputs {
		talk = append(talk, Message{Role: RoleTool, ToolCallID: play.ToolCalls[i].ID, Content: output})
	}
	return talk
}

// said plays one turn and gives its content, or the error.
func said(s *Script, talk []Message) string {
	play, err := s.Play(talk)
	if err != nil {
		return "error: " + err.Error()
	}
	return play.Content
}

func assistant(id string) Message {
	m := Message{Role: RoleAssistant, Content: "x"}
	if id != "" {
		m.ToolCalls = []Call{{ID: id, Name: "bash"}}
	}
	return m
}

func tool(id, output string) Message {
	return Message{Role: RoleTool, ToolCallID: id, Content: output}
}

func TestWhichTurn(t *testing.T) {
	const plain = "turns: [{content: zero}, {content: one}, {content: two}]\n"
	const byID = "follow: callID\n" + plain
	for name, tc := range map[string]struct {
		script string
		talk   []Message
		want   string
	}{
		"first":            {plain, start("a"), "zero"},
		"second":           {plain, append(start("a"), assistant("i"), tool("i", "")), "one"},
		"nudged":           {plain, append(start("a"), assistant(""), Message{Role: RoleUser}), "one"},
		"warned":           {plain, append(start("a"), assistant("i"), tool("i", ""), Message{Role: RoleSystem}), "one"},
		"new task":         {plain, append(append(start("a"), assistant("")), start("b")...), "zero"},
		"no system":        {plain, []Message{{Role: RoleUser}, assistant(""), {Role: RoleUser}}, "one"},
		"past the end":     {plain, append(start("a"), assistant(""), assistant(""), assistant("")), `error: script "x", turn 3: the conversation went past the script's end after 3 turns`},
		"by id, start":     {byID, start("a"), "zero"},
		"by id, shortened": {byID, append(start("a"), assistant("call_1_0"), tool("call_1_0", "")), "two"},
		"by id, renamed":   {byID, append(start("a"), assistant("r7-call_0_1"), tool("r7-call_0_1", "")), "one"},
		"by id, text last": {byID, append(start("a"), assistant("call_0_0"), tool("call_0_0", ""), assistant("")), "two"},
		"by id, no ids":    {byID, append(start("a"), assistant("zz"), tool("zz", "")), "one"},
		"repeat":           {"turns: [{content: 'n{{.Turn}}', repeat: 2}, {content: end}]", append(start("a"), assistant("")), "n1"},
		"after repeat":     {"turns: [{content: 'n{{.Turn}}', repeat: 2}, {content: end}]", append(start("a"), assistant(""), assistant("")), "end"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := said(mustParse(t, tc.script), tc.talk); got != tc.want {
				t.Errorf("said %q, want %q", got, tc.want)
			}
		})
	}
}

func TestWhen(t *testing.T) {
	ran := func(output string) []Message {
		return append(start("task one"), assistant("i"), tool("i", output))
	}
	for name, tc := range map[string]struct {
		when string
		talk []Message
		want bool
	}{
		"tool by name":        {"lastTool: bash", ran(""), true},
		"other tool":          {"lastTool: code", ran(""), false},
		"output":              {"lastToolOutputMatches: '^a.c$'", ran("abc"), true},
		"other output":        {"lastToolOutputMatches: '^a.c$'", ran("abd"), false},
		"two conditions":      {"lastTool: bash, lastToolOutputMatches: x", ran("y"), false},
		"ok by envelope":      {"lastToolOK: true", ran(`{"ok": true, "output": "error"}`), true},
		"not ok by envelope":  {"lastToolOK: false", ran(`{"ok": false}`), true},
		"ok by text":          {"lastToolOK: true", ran("12 errors were found"), true},
		"plural":              {"lastToolOK: true", ran("errors: none"), true},
		"not ok by text":      {"lastToolOK: false", ran("Error: no such file"), true},
		"not ok, json behind": {"lastToolOK: false", ran("error timeout: stopped at its time limit\n{\"ok\": true}"), true},
		"not ok by status":    {"lastToolOK: false", ran("exit status 1\n{\"ok\": true}"), true},
		"not ok by header":    {"lastToolOK: false", ran("[bash ok=false 12ms]\nsomething"), true},
		"ok by header":        {"lastToolOK: true", ran("[bash ok=true 12ms]\nok=false"), true},
		"json without ok":     {"lastToolOK: true", ran(`{"sum": 1}`), true},
		"no tool ran":         {"lastToolOK: true", start("a"), false},
		"user":                {"lastUserMatches: one", ran(""), true},
		"other user":          {"lastUserMatches: one", append(ran(""), Message{Role: RoleUser, Content: "two"}), false},
		"system":              {"systemMatches: test", ran(""), true},
		"later system":        {"systemMatches: hurry", append(ran(""), Message{Role: RoleSystem, Content: "hurry"}), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustParse(t, "turns: [{repeat: 2, alternatives: [{content: hit, when: {"+tc.when+"}}, {content: miss}]}]")
			if got := said(s, tc.talk) == "hit"; got != tc.want {
				t.Errorf("holds = %v, want %v", got, tc.want)
			}
		})
	}
}

// A loop in a script is followed by walking the conversation again, so that a
// client that rebuilt it stands where it stood.
func TestGoto(t *testing.T) {
	s := mustParse(t, `
turns:
- {name: poll, toolCalls: [{name: bash, arguments: {command: status}}]}
- alternatives:
  - {when: {lastToolOutputMatches: running}, toolCalls: [{name: wait}], goto: poll}
  - {when: {lastToolOutputMatches: done}, content: finished}
- {content: never}
`)
	talk := start("a")
	var ids []string
	for _, output := range []string{"running", "", "running", "", "done"} {
		play, err := s.Play(talk)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, play.ToolCalls[0].ID)
		if again, _ := s.Play(talk); !cmp.Equal(play, again) {
			t.Errorf("asked again: %s", cmp.Diff(play, again))
		}
		talk = extend(talk, play, output)
	}
	if got := said(s, talk); got != "finished" {
		t.Errorf("said %q", got)
	}
	if diff := cmp.Diff([]string{"call_0_0", "call_1_0", "call_2_0", "call_3_0", "call_4_0"}, ids); diff != "" {
		t.Errorf("ids are not unique (-want +got):\n%s", diff)
	}
}

func TestNoAlternative(t *testing.T) {
	s := mustParse(t, "turns: [{name: a, when: {lastTool: code}, content: x}]")
	_, err := s.Play(start("a"))
	if !errors.Is(err, ErrNoMatch) || err.Error() != `script "x", turn 0 (a): no alternative of the turn matches` {
		t.Errorf("err = %v", err)
	}
}

func TestCalls(t *testing.T) {
	s := mustParse(t, `
turns:
- content: both
  toolCalls:
  - {name: a, arguments: {n: 1, deep: [{text: '{{ .Turn }} <b>'}], flag: true, nothing: null}}
  - {name: b, id: same}
  - {name: c, id: same, argumentsRaw: '{"cut": "{{ .Turn }}'}
`)
	play, err := s.Play(start("a"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Play{
		Conversation: play.Conversation,
		Content:      "both",
		ToolCalls: []Call{
			{ID: "call_0_0", Name: "a", Arguments: `{"deep":[{"text":"0 <b>"}],"flag":true,"n":1,"nothing":null}`},
			{ID: "same", Name: "b", Arguments: `{}`},
			{ID: "same", Name: "c", Arguments: `{"cut": "0`},
		},
		FinishReason: "tool_calls",
		Faults:       Faults{},
	}
	if diff := cmp.Diff(want, play); diff != "" {
		t.Errorf("play (-want +got):\n%s", diff)
	}
}

func TestConversationKey(t *testing.T) {
	s := mustParse(t, "turns: [{content: a}, {content: b}]")
	key := func(talk []Message) string {
		play, err := s.Play(talk)
		if err != nil {
			t.Fatal(err)
		}
		return play.Conversation
	}
	first := key(start("a"))
	if first == key(start("b")) {
		t.Error("two tasks have one key")
	}
	if first != key(append(start("a"), Message{Role: RoleUser, Content: "well?"})) {
		t.Error("a nudge changes the key")
	}
	if first != key(append(start("a"), assistant(""))) {
		t.Error("the next turn has another key")
	}
}

func TestFaultsAt(t *testing.T) {
	twice := Fault{Kind: FaultStatus, Times: 2}
	once := Fault{Kind: FaultEmpty, Times: 1}
	always := Fault{Kind: FaultHang}
	for name, tc := range map[string]struct {
		faults Faults
		want   []FaultKind
	}{
		"none":     {nil, []FaultKind{"", ""}},
		"two":      {Faults{twice}, []FaultKind{FaultStatus, FaultStatus, "", ""}},
		"in order": {Faults{twice, once}, []FaultKind{FaultStatus, FaultStatus, FaultEmpty, ""}},
		"for ever": {Faults{once, always}, []FaultKind{FaultEmpty, FaultHang, FaultHang}},
	} {
		t.Run(name, func(t *testing.T) {
			for n, want := range tc.want {
				got, due := tc.faults.At(n)
				if got.Kind != want || due != (want != "") {
					t.Errorf("At(%d) = %q, %v, want %q", n, got.Kind, due, want)
				}
			}
		})
	}
}

// A text is a call of finish to a client that offers the tool, unless the script wants a text.
func TestWithFinish(t *testing.T) {
	for finish, want := range map[string]string{
		"":                    `{"status":"Succeeded","summary":"done"}`,
		", finish: Partial":   `{"status":"Partial","summary":"done"}`,
		", finish: Succeeded": `{"status":"Succeeded","summary":"done"}`,
		", finish: Text":      "",
	} {
		s := mustParse(t, "turns: [{content: done"+finish+"}]")
		play, err := s.Play(start("a"))
		if err != nil {
			t.Fatal(err)
		}
		if play.Content != "done" || len(play.ToolCalls) > 0 {
			t.Errorf("%q: without the tool it says %+v", finish, play)
		}
		switch with := play.WithFinish(); {
		case want == "" && (with.Content != "done" || len(with.ToolCalls) > 0):
			t.Errorf("%q: %+v", finish, with)
		case want != "" && (with.Content != "" || len(with.ToolCalls) != 1 || with.ToolCalls[0].Arguments != want || with.FinishReason != "tool_calls"):
			t.Errorf("%q: %+v", finish, with)
		}
	}
}
