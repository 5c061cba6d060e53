// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// played makes turns of calls "COMMAND>RESULT" to bash. A result is an output, or !CODE, or !CODE=OUTPUT. The command A is a in other spelling, and
// ? is a question.
func played(texts ...string) []*turn.Turn {
	var turns []*turn.Turn
	for i, line := range texts {
		step := &turn.Turn{Index: int32(i + 1)}
		for c := range strings.FieldsSeq(line) {
			command, result, _ := strings.Cut(c, ">")
			made := turn.Call{ModelID: fmt.Sprintf("id-%d-%d", i, len(step.Calls)), Tool: toolapi.ToolBash, Arguments: fmt.Sprintf(`{"command":%q}`, command)}
			switch command {
			case "A":
				made.Arguments = " {\n\"command\" : \"a\"} "
			case "?":
				made.Tool, made.Arguments = toolapi.ToolAskUser, `{"question":"now?"}`
			}
			res := &toolapi.Result{OK: true, Output: result}
			if failure, failed := strings.CutPrefix(result, "!"); failed {
				code, output, _ := strings.Cut(failure, "=")
				res = &toolapi.Result{ErrorCode: code, Output: output, Retryable: code == toolapi.CodeTimeout}
			}
			step.Calls, step.Results = append(step.Calls, made), append(step.Results, res)
		}
		turns = append(turns, step)
	}
	return turns
}

const (
	badArguments = "x>!invalid_arguments"
	noMatch      = "a>!no_match"
)

// stuckCases are attempts that are over after their last turn and not before, or that go on.
var stuckCases = map[string]struct {
	turns  []string
	reason string // "" to go on
}{
	"the same result three times":     {[]string{"a>x", "a>x", "a>x"}, ""},
	"the same result four times":      {[]string{"a>x", "a>x", "a>x", "a>x"}, outcome.ReasonStuck},
	"in other spelling":               {[]string{"a>x", "A>x", "a>x", "A>x"}, outcome.ReasonStuck},
	"an answer without a call":        {[]string{"a>x", "", "a>x", "", "a>x", "a>x"}, outcome.ReasonStuck},
	"four times in one turn":          {[]string{"a>x a>x a>x a>x"}, ""},
	"twice in each of two turns":      {[]string{"a>x a>x", "a>x a>x"}, ""},
	"twice in each of four turns":     {[]string{"a>x a>x", "a>x a>x", "a>x a>x", "a>x a>x"}, outcome.ReasonStuck},
	"another call between":            {[]string{"a>x", "a>x", "a>x", "b>x", "a>x"}, ""},
	"another result between":          {[]string{"a>x", "a>x", "a>x", "a>y", "a>x"}, ""},
	"a poll that came to rest":        {[]string{"a>y", "a>x", "a>x", "a>x", "a>x"}, outcome.ReasonStuck},
	"a question between":              {[]string{"a>x", "a>x", "a>x", "?>no", "a>x"}, ""},
	"questions":                       {[]string{"?>no", "?>no", "?>no", "?>no", "?>no"}, ""},
	"a status is a result":            {[]string{"a>!exit_1=x", "a>!exit_1=x", "a>!exit_1=x"}, ""},
	"the same status four times":      {[]string{"a>!exit_1=x", "a>!exit_1=x", "a>!exit_1=x", "a>!exit_1=x"}, outcome.ReasonStuck},
	"other programs that say no":      {[]string{"a>!exit_1", "b>!exit_1", "c>!exit_1", "d>!exit_1", "e>!exit_1", "f>!exit_1"}, ""},
	"tests that get better":           {[]string{"a>!exit_1=5", "a>!exit_1=4", "a>!exit_1=1", "a>ok"}, ""},
	"an edit between tests":           {[]string{"a>!exit_1=5", "b>e1", "a>!exit_1=5", "c>e2", "a>!exit_1=5", "d>e3", "a>!exit_1=5"}, ""},
	"the same error twice":            {[]string{noMatch, noMatch}, ""},
	"the same error three times":      {[]string{noMatch, noMatch, noMatch}, outcome.ReasonStuck},
	"the same error, other arguments": {[]string{noMatch, "b>!no_match", "c>!no_match", "d>!no_match"}, ""},
	"other errors":                    {[]string{"a>!no_match=1", "a>!no_match=2", "a>!no_match=3"}, ""},
	"it may succeed":                  {[]string{"a>!timeout", "a>!timeout", "a>!timeout", "a>!timeout"}, ""},

	"five alternate":           {[]string{"a>x", "b>y", "a>x", "b>y", "a>x"}, ""},
	"six alternate":            {[]string{"a>x", "b>y", "a>x", "b>y", "a>x", "b>y"}, outcome.ReasonStuck},
	"six alternate in pairs":   {[]string{"a>x b>y", "a>x b>y", "a>x b>y"}, outcome.ReasonStuck},
	"with the same result":     {[]string{"a>x", "b>x", "a>x", "b>x", "a>x", "b>x"}, outcome.ReasonStuck},
	"with doubles":             {[]string{"a>x a>x b>y", "a>x b>y b>y", "a>x b>y"}, outcome.ReasonStuck},
	"six in one turn":          {[]string{"a>x b>y a>x b>y a>x b>y"}, ""},
	"six in one turn, and on":  {[]string{"a>x b>y a>x b>y a>x b>y", "a>x"}, outcome.ReasonStuck},
	"the last result is new":   {[]string{"a>x", "b>y", "a>x", "b>y", "a>x", "b>z"}, ""},
	"three calls in turn":      {[]string{"a>x", "b>y", "c>z", "a>x", "b>y", "c>z", "a>x", "b>y", "c>z"}, ""},
	"after another":            {[]string{"c>x", "a>x", "b>y", "a>x", "b>y", "a>x", "b>y"}, outcome.ReasonStuck},
	"after the same":           {[]string{"a>x", "a>x", "b>y", "a>x", "b>y", "a>x", "b>y"}, outcome.ReasonStuck},
	"one of them twice":        {[]string{"a>x", "b>y", "a>x", "a>x", "b>y", "a>x"}, ""},
	"one of them may succeed":  {[]string{"a>x", "b>!timeout", "a>x", "b>!timeout", "a>x", "b>!timeout"}, ""},
	"one is a question":        {[]string{"a>x", "?>y", "a>x", "?>y", "a>x", "?>y"}, ""},
	"the file names the call":  {[]string{"a>x", "b>y", "a>x", "b>y", "a>x", "b>y"}, outcome.ReasonStuck},
	"turns that go on in them": {[]string{"a>x", "a>x", "a>x", "a>x c>z"}, ""},

	"not carried out twice":             {[]string{badArguments, "y>!invalid_arguments"}, ""},
	"not carried out three times":       {[]string{badArguments, "y>!unknown_tool", "z>!tool_not_granted"}, outcome.ReasonRepeatedToolFailure},
	"the same one":                      {[]string{badArguments, badArguments, badArguments}, outcome.ReasonRepeatedToolFailure},
	"three in one turn":                 {[]string{badArguments + " " + badArguments + " y>!invalid_arguments"}, ""},
	"one carried out between":           {[]string{badArguments, badArguments, "a>x", badArguments}, ""},
	"one carried out before the last":   {[]string{badArguments, badArguments, "a>x " + badArguments}, ""},
	"one carried out before the first":  {[]string{"a>x " + badArguments, badArguments, badArguments}, outcome.ReasonRepeatedToolFailure},
	"too many calls":                    {[]string{"a>x b>!too_many_calls", "b>!too_many_calls", "c>!too_many_calls"}, outcome.ReasonRepeatedToolFailure},
	"an answer without a call, between": {[]string{badArguments, "", badArguments, "", badArguments}, outcome.ReasonRepeatedToolFailure},
	"denied":                            {[]string{"a>!approval_denied", "b>!approval_denied", "c>!approval_expired"}, outcome.ReasonRepeatedToolFailure},
	"denied, and not asked again":       {[]string{"a>!domain_denied", "a>!domain_denied", "a>!repeated_call"}, outcome.ReasonRepeatedToolFailure},
	"questions without a text":          {[]string{"?>!invalid_arguments", "?>!invalid_arguments", "?>!invalid_arguments"}, outcome.ReasonRepeatedToolFailure},
	"a file is too large":               {[]string{"a>!too_large", "b>!too_large", "c>!too_large"}, ""},
}

// over returns why an attempt with the turns is over, nil if it goes on.
func over(turns []*turn.Turn) *outcome.Failure {
	return cmp.Or(new(Watch).GetsNowhere(turns), StaysIdle(turns))
}

func TestStuck(t *testing.T) {
	for name, tc := range stuckCases {
		t.Run(name, func(t *testing.T) {
			turns := played(tc.turns...)
			for n := 1; n < len(turns); n++ {
				if f := over(turns[:n]); f != nil {
					t.Fatalf("it is over after %d turns: %v", n, f)
				}
			}
			f := over(turns)
			got := ""
			if f != nil {
				got = f.Reason
			}
			if got != tc.reason {
				t.Errorf("got %v, want %q", f, tc.reason)
			}
		})
	}
}

// Before an attempt ends for any of these reasons, the model has seen a warning in a result. The warning never changes.
func TestTheModelIsWarned(t *testing.T) {
	for name, tc := range stuckCases {
		turns := played(tc.turns...)
		tools := []string{toolapi.ToolBash}
		last := len(turns) - 1
		warned, before := warnings(tools, turns), warnings(tools, turns[:last])
		if (tc.reason != "") && len(before) == 0 {
			t.Errorf("%s: it is over without a warning", name)
		}
		for at, text := range before {
			if warned[at] != text {
				t.Errorf("%s: %q of %+v became %q", name, text, at, warned[at])
			}
		}
	}
}

func TestWarnings(t *testing.T) {
	const circle = "One more ends the attempt. Change the arguments, use another tool, or finish with what you have. " + howToWait
	for name, tc := range map[string]struct {
		turns []string
		want  map[At]string // how the text begins
	}{
		"the second":       {[]string{"a>x", "a>x"}, nil},
		"the third":        {[]string{"a>x", "a>x", "b>y a>x", "a>x", "a>x"}, map[At]string{{5, 0}: "[warning: you made this call 3 times in a row, and the result was the same each time. " + circle}},
		"the second error": {[]string{noMatch, noMatch}, map[At]string{{2, 0}: "[warning: you made this call 2 times in a row, and the result was the same each time. " + circle}},
		"once a turn":      {[]string{noMatch, noMatch + " " + noMatch}, map[At]string{{2, 0}: "[warning: you made this call 2 times"}},
		"alternating": {[]string{"a>x b>y", "a>x b>y"}, map[At]string{
			{2, 1}: "[warning: your last 4 calls alternate between the same two, with the same results each time. If you make both once more, the attempt ends. Change",
		}},
		"not carried out":  {[]string{badArguments, badArguments + " y>!unknown_tool"}, map[At]string{{2, 1}: "[warning: calls of your last 2 answers could not be carried out. If that happens once more, the attempt ends. Compare"}},
		"status 1 of many": {[]string{"a>!exit_1", "b>!exit_1", "c>!exit_1"}, nil},
	} {
		got := warnings([]string{toolapi.ToolBash}, played(tc.turns...))
		for at, text := range tc.want {
			if !strings.HasPrefix(got[at], text) {
				t.Errorf("%s: at %+v is %q", name, at, got[at])
			}
		}
		if len(got) != len(tc.want) {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// The name of the file with the whole output differs in each result.
func TestFileNamesAreNoDifference(t *testing.T) {
	turns := played("a>x", "a>x", "a>x", "a>x")
	for i, step := range turns {
		file := toolapi.OutputPath(turn.CallID(1, int32(i+1), 0))
		step.Results[0] = &toolapi.Result{OK: true, Output: "line\n[9 bytes are left out: " + file + " has them]", OutputFile: file}
	}
	if f := watched(turns).circle.stuck(); f == nil || f.Reason != outcome.ReasonStuck {
		t.Errorf("got %v", f)
	}
}

func TestStuckMessages(t *testing.T) {
	for want, turns := range map[string][]string{
		`The model made the same call 4 times in a row, bash {"command":"a"}, with the same result each time, last: "x". Say in a retry what to do instead.`: {"a>x", "a>x", "a>x", "a>x"},
		`The model made the same call 3 times in a row, bash {"command":"a"}, and it failed in the same way each time (code no_match), last: "". Say in a retry what to do instead.`: {
			noMatch, noMatch, noMatch,
		},
		`The model alternated between the same two calls, with the same results each time, 6 calls in a row: bash {"command":"a"} and bash {"command":"b"}, last: "y". Say in a retry what to do instead.`: {
			"a>x b>y", "a>x b>y", "a>x b>y",
		},
		`The model made calls in 3 turns in a row that could not be carried out, the last one of bash (code unknown_tool): "no". Say in a retry how to do it, or allow what it lacks.`: {
			badArguments, badArguments, "y>!unknown_tool=no",
		},
	} {
		f := over(played(turns...))
		if f == nil || f.Message != want || !f.Retryable || f.Category != outcome.ToolFailure {
			t.Errorf("got %+v, want %s", f, want)
		}
	}
	long := strings.Repeat("ä ", 9000)
	turns := played("a>x", "a>x", "a>x", "a>x")
	for _, step := range turns {
		step.Calls[0].Arguments, step.Results[0].Output = fmt.Sprintf(`{"command":%q}`, long), long
	}
	if f := watched(turns).circle.stuck(); f == nil || len(f.Message) > 600 {
		t.Errorf("got %+v", f)
	}
}

func watched(turns []*turn.Turn) *Watch {
	w := &Watch{}
	w.GetsNowhere(turns)
	return w
}

func warnings(tools []string, turns []*turn.Turn) map[At]string {
	found := map[At]string{}
	w := Warner{Tools: tools}
	for _, t := range turns {
		w.Add(t, found)
	}
	return found
}

// A watch that saw the turns one by one, and others before, finds the same as one that sees them all at once.
func TestAWatchFollows(t *testing.T) {
	t.Parallel()
	used := &Watch{}
	for name, tc := range stuckCases {
		turns := played(tc.turns...)
		for n := range turns {
			got, want := used.GetsNowhere(turns[:n+1]), new(Watch).GetsNowhere(turns[:n+1])
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("%s, turn %d: %s", name, n+1, d)
			}
		}
	}
}
