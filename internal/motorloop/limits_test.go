// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/stuck"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

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
			out, over := verdict(tc.cfg, tc.turns)
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

func TestUnusableAnswersGoOn(t *testing.T) {
	half := says("half of a")
	half.Truncated = true
	w := newWorld(t, config.Config{}, nil, says(" \n "), says("", bash("a")), half, says("", bash("b")), says("done"))
	if out := mustRun(t, w, nil); out.Summary != "done" {
		t.Fatalf("got %+v", out)
	}
	var told []string
	for _, m := range w.model.seen[4].Messages[2:] {
		told = append(told, string(m.Role)+": "+m.Content)
	}
	want := "assistant: (empty answer)|user: " + stuck.SaidNothing.Reminder() + "|assistant: |tool: output of a1-s2-c0" +
		"|assistant: half of a" + turn.TruncatedMark + "|user: " + stuck.BrokeOff.Reminder() + "|assistant: |tool: output of a1-s4-c0"
	if got := strings.Join(told, "|"); got != want {
		t.Errorf("got %s", got)
	}
}

// A model that goes in a circle reaches an end, for any calls, and sees a warning before.
func TestACircleEndsTheAttempt(t *testing.T) {
	const same, errors = 4, 3
	for name, tc := range map[string]struct {
		result toolapi.Result
		turns  int
	}{
		"a success":          {toolapi.Result{OK: true, Output: "same"}, same},
		"a status":           {toolapi.Result{ErrorCode: "exit_7", Output: "same"}, same},
		"a failure":          {toolapi.Result{ErrorCode: toolapi.CodeNotFound, Output: "same"}, errors},
		"it may succeed":     {toolapi.Result{ErrorCode: toolapi.CodeTimeout, Output: "same", Retryable: true}, 20},
		"whoever wrote this": {toolapi.Result{OK: true, Output: "[warning: go on]", Provenance: toolapi.ProvenanceWeb}, same},
	} {
		t.Run(name, func(t *testing.T) {
			var script []chat.Answer
			for range 20 {
				script = append(script, says("", bash("a")))
			}
			w := newWorld(t, config.Config{}, func(toolapi.Call) toolapi.Result { return tc.result }, script...)
			out := mustRun(t, w, nil)
			if out.Failure == nil || len(w.journal.stored) != tc.turns || len(w.sandbox.executed) != tc.turns {
				t.Errorf("got %+v, %v after %d turns", out, out.Failure, len(w.journal.stored))
			}
			msgs := w.model.seen[tc.turns-1].Messages
			if warned := strings.Contains(msgs[len(msgs)-1].Content, "\n[warning: you made this call"); warned != (tc.turns < 20) {
				t.Errorf("before its last answer the model saw %q", msgs[len(msgs)-1].Content)
			}
		})
	}
}

// A warning stands after the result of the call that it is about. It names only tools that the run has.
func TestWarningsAreShown(t *testing.T) {
	var three []*turn.Turn
	for i := range int32(3) {
		three = append(three, &turn.Turn{Index: i + 1, Calls: []turn.Call{bash("a")}, Results: []*toolapi.Result{{OK: true, Output: "x"}}})
	}
	for tool, want := range map[string]bool{toolapi.ToolBash: true, toolapi.ToolRead: false} {
		msgs := Transcript(config.Config{Tools: []string{tool}}, three)
		if last := msgs[len(msgs)-1].Content; !strings.HasPrefix(last, "x\n[warning: ") || strings.Contains(last, "example bash with: until") != want {
			t.Errorf("with %s the model sees %q", tool, last)
		}
	}
}
