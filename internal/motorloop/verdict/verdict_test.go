// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestVerdict(t *testing.T) {
	bad, refused := settled("", "bash/exit_1"), settled("", "bash/unknown_tool")
	cases := map[string]struct {
		cfg    config.Config
		turns  []*turn.Turn
		reason string // of the failure; "completed"; "" to go on
		says   string
	}{
		"nothing yet":                    {},
		"closing text":                   {turns: []*turn.Turn{closed("done")}, reason: "completed"},
		"closing text at the end":        {cfg: config.Config{MaxIterations: 1, MaxTokens: 1}, turns: []*turn.Turn{closed("done")}, reason: "completed"},
		"broken off text":                {turns: []*turn.Turn{settled("half" + turn.TruncatedMark)}},
		"refusals around a summary":      {turns: []*turn.Turn{refused, refused, summed(1), refused}, reason: outcome.ReasonRepeatedToolFailure},
		"a circle around a summary":      {turns: []*turn.Turn{bad, bad, bad, summed(1), bad}, reason: outcome.ReasonStuck, says: `bash {}, with the same result each time, last: "port 80: permission denied"`},
		"a summary is no end":            {turns: []*turn.Turn{settled("", "bash/ok"), summed(1)}},
		"a summary is no answer":         {cfg: config.Config{MaxIterations: 2}, turns: []*turn.Turn{settled("", "bash/ok"), summed(1)}},
		"a summary uses tokens":          {cfg: config.Config{MaxTokens: 200}, turns: []*turn.Turn{settled("", "bash/ok"), summed(1)}, reason: outcome.ReasonMaxTokens},
		"empty around a summary":         {turns: []*turn.Turn{settled(""), summed(1), settled("")}, reason: outcome.ReasonEmptyAnswers},
		"empty":                          {turns: []*turn.Turn{settled("")}},
		"two empty":                      {turns: []*turn.Turn{settled("half" + turn.TruncatedMark), settled("")}, reason: outcome.ReasonEmptyAnswers, says: "The model m gave 2 answers"},
		"empty, not in a row":            {turns: []*turn.Turn{settled(""), settled("", "bash/ok"), settled("")}},
		"text":                           {turns: []*turn.Turn{settled("done")}},
		"two texts":                      {turns: []*turn.Turn{settled("done"), settled("It is done.")}, reason: outcome.ReasonNotFinished, says: `Last: "It is done."`},
		"text, then empty":               {turns: []*turn.Turn{settled("done"), settled("")}, reason: outcome.ReasonEmptyAnswers},
		"a broken off turn with calls":   {turns: []*turn.Turn{settled(""), settled(turn.TruncatedMark, "bash/ok")}},
		"tokens left":                    {cfg: config.Config{MaxTokens: 201}, turns: []*turn.Turn{settled("", "bash/ok"), settled("", "bash/ok")}},
		"no tokens left":                 {cfg: config.Config{MaxTokens: 200}, turns: []*turn.Turn{settled("", "bash/ok"), settled("", "bash/ok")}, reason: outcome.ReasonMaxTokens, says: "200 tokens of 200"},
		"no turns left":                  {cfg: config.Config{MaxIterations: 2}, turns: []*turn.Turn{settled("", "bash/ok"), settled("", "bash/ok")}, reason: outcome.ReasonMaxIterations, says: "2 turns"},
		"failure is said before budgets": {cfg: config.Config{MaxIterations: 4, MaxTokens: 1}, turns: []*turn.Turn{bad, bad, bad, bad}, reason: outcome.ReasonStuck},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.cfg.MaxIterations == 0 {
				tc.cfg.MaxIterations = 20
			}
			out, over := new(Judge).Of(tc.cfg, tc.turns)
			got := ""
			switch {
			case out.Kind == outcome.Completed:
				got = "completed"
			case out.Failure != nil:
				got = out.Failure.Reason
				if !strings.Contains(out.Failure.Message, tc.says) {
					t.Errorf("message %q", out.Failure.Message)
				}
			}
			if got != tc.reason || over != (tc.reason != "") {
				t.Errorf("got %q (over: %v), want %q", got, over, tc.reason)
			}
		})
	}
}

// settled is a turn with one result for each "tool/code"; the code of a success is "ok".
func settled(content string, results ...string) *turn.Turn {
	t := &turn.Turn{Model: "m", Content: content, Usage: turn.Usage{PromptTokens: 90, CompletionTokens: 10}}
	for _, r := range results {
		tool, code, _ := strings.Cut(r, "/")
		res := &toolapi.Result{OK: code == "ok", ErrorCode: code, Output: "port 80:\n  permission denied\n"}
		t.Calls = append(t.Calls, turn.Call{Tool: tool})
		t.Results = append(t.Results, res)
	}
	return t
}

// closed is a turn that closes the attempt.
func closed(content string) *turn.Turn {
	t := settled(content)
	t.Closes = true
	return t
}

// summed is a summary of the turns up to the one with index through. It looks like a broken off answer.
func summed(through int32) *turn.Turn {
	t := settled(turn.TruncatedMark)
	t.Through = through
	return t
}
