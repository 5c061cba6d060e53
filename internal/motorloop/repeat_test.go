// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"fmt"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Each case is a list of turns of calls "ARGUMENTS>RESULT" to bash, and what becomes of one more call of the arguments
// {"command":"a"}. A result is an output, or !CODE; A is a in other spelling.
func TestRepeatedCalls(t *testing.T) {
	const a = `{"command":"a"}`
	cases := map[string]struct {
		turns   []string
		refused bool
	}{
		"first":                      {},
		"second":                     {[]string{"a>x"}, false},
		"third":                      {[]string{"a>x", "a>x"}, true},
		"third in one turn":          {[]string{"a>x a>x"}, true},
		"an answer without a call":   {[]string{"a>x", "", "a>x"}, true},
		"fourth":                     {[]string{"a>x", "a>x", "a>!repeated_call"}, true},
		"fifth":                      {[]string{"a>x", "a>x", "a>!repeated_call a>!repeated_call"}, true},
		"a poll":                     {[]string{"a>x", "a>y"}, false},
		"a poll that came to rest":   {[]string{"a>x", "a>y", "a>y"}, true},
		"a failure":                  {[]string{"a>!exit_1", "a>!exit_1"}, true},
		"another failure":            {[]string{"a>!exit_1", "a>!exit_2"}, false},
		"it may succeed":             {[]string{"a>!timeout", "a>!timeout"}, false},
		"it was never made":          {[]string{"a>!too_many_calls a>!too_many_calls"}, false},
		"other arguments":            {[]string{"a>x", "b>x"}, false},
		"other arguments in between": {[]string{"a>x", "b>x", "a>x"}, false},
		"refused, then another":      {[]string{"a>x", "a>x", "a>!repeated_call", "b>x"}, false},
		"equal arguments":            {[]string{"a>x", "A>x"}, true},
		"other outputs after a stop": {[]string{"a>y", "a>x", "a>x"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var turns []*Turn
			for _, text := range tc.turns {
				turn := &Turn{}
				for c := range strings.FieldsSeq(text) {
					command, result, _ := strings.Cut(c, ">")
					arguments := fmt.Sprintf(`{"command":%q}`, command)
					if command == "A" {
						arguments = " {\n\"command\" : \"a\"} "
					}
					res := &toolapi.Result{OK: true, Output: result}
					if code, failed := strings.CutPrefix(result, "!"); failed {
						res = &toolapi.Result{ErrorCode: code, Output: "failed", Retryable: code == toolapi.CodeTimeout}
					}
					turn.Calls = append(turn.Calls, Call{Tool: "bash", Arguments: arguments})
					turn.Results = append(turn.Results, res)
				}
				turns = append(turns, turn)
			}
			next := &Turn{Calls: []Call{{Tool: "bash", Arguments: a}}, Results: []*toolapi.Result{nil}}
			if got := repeats(append(turns, next), len(turns), 0); got != tc.refused {
				t.Errorf("refused: %v", got)
			}
			next.Calls[0].Tool = "code"
			if repeats(append(turns, next), len(turns), 0) {
				t.Error("another tool is refused")
			}
		})
	}
}

func TestCanonicalArguments(t *testing.T) {
	same := [][2]string{
		{`{"a":1,"b":"<"}`, " {\"b\": \"\\u003c\", \"a\":1}\n"},
		{"", "{}"},
		{"not JSON", "not JSON"},
	}
	for _, pair := range same {
		if canonical(pair[0]) != canonical(pair[1]) {
			t.Errorf("%q and %q are not the same", pair[0], pair[1])
		}
	}
	if canonical(`{"a":9007199254740993}`) == canonical(`{"a":9007199254740992}`) {
		t.Error("large numbers are the same")
	}
}

// A model that makes the same call for ever comes to an end, and the sandbox carries out no more than two of them.
func TestRepetitionEndsTheAttempt(t *testing.T) {
	cases := map[string]struct {
		result  toolapi.Result
		turns   int
		message string
	}{
		"a success": {toolapi.Result{OK: true, Output: "same"}, 5, "The model made the same bash call again and again"},
		"a failure": {toolapi.Result{ErrorCode: "exit_7", Output: "same"}, 3, `bash exited 7 three times (code exit_7), last: "same".`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var script []Answer
			for range 20 {
				script = append(script, says("", bash("a")))
			}
			w := newWorld(t, Config{}, func(toolapi.Call) toolapi.Result { return tc.result }, script...)
			out := mustRun(t, w, nil)
			if out.Failure == nil || out.Failure.Reason != ReasonRepeatedToolFailure || !strings.HasPrefix(out.Failure.Message, tc.message) {
				t.Errorf("got %+v, %v", out, out.Failure)
			}
			if len(w.sandbox.executed) != 2 || len(w.journal.stored) != tc.turns {
				t.Errorf("%d executions in %d turns", len(w.sandbox.executed), len(w.journal.stored))
			}
			if res := w.journal.load()[2].Results[0]; res.ErrorCode != CodeRepeatedCall || res.Output != repeatedText {
				t.Errorf("the third call: %+v", res)
			}
		})
	}
}

// Questions are never held back: the controller puts them to a person by themselves.
func TestQuestionsMayBeRepeated(t *testing.T) {
	ask := func() Answer { return says("", question("now?")) }
	w := newWorld(t, Config{}, nil, ask(), ask(), ask(), says("done"))
	out := mustRun(t, w, map[string]string{"a0-s1-c0": "no", "a0-s2-c0": "no"})
	if out.Kind != Awaiting || out.Waiting.ID != "a0-s3-c0" {
		t.Errorf("got %+v", out)
	}
}
