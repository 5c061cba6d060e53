// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/catalog"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/result"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// inWorkspace is a sandbox whose workspace has these files, and whose bash exits with 1.
func inWorkspace(files ...string) func(toolapi.Call) toolapi.Result {
	return func(c toolapi.Call) toolapi.Result {
		var args toolapi.ListArgs
		switch {
		case c.Tool == toolapi.ToolBash:
			return toolapi.Result{ErrorCode: "exit_1", Output: "1 failed"}
		case c.Tool != toolapi.ToolList:
			return toolapi.Result{OK: true, Output: "written"}
		case json.Unmarshal(c.Arguments, &args) != nil:
			return toolapi.Result{ErrorCode: toolapi.CodeInvalidArguments}
		}
		return listOf(args.Path, files)
	}
}

// listOf returns the output of list for a name in a workspace with these files.
func listOf(name string, files []string) toolapi.Result {
	for _, f := range files {
		switch {
		case name == "." || strings.HasPrefix(f, name+"/"):
			return toolapi.Result{OK: true}
		case name == f || strings.HasPrefix(name, f+"/"):
			return toolapi.Result{ErrorCode: toolapi.CodeNotDirectory}
		}
	}
	return toolapi.Result{ErrorCode: toolapi.CodeNotFound}
}

// codesOf returns the error codes of all results, "ok" if there is none.
func codesOf(turns []*turn.Turn) string {
	var codes []string
	for _, t := range turns {
		for _, res := range t.Results {
			code := res.ErrorCode
			if res.OK {
				code = "ok"
			}
			codes = append(codes, code)
		}
	}
	return strings.Join(codes, " ")
}

func write(path string) turn.Call {
	return call(toolapi.ToolWrite, `{"path":"`+path+`","content":"x"}`)
}

func TestFinish(t *testing.T) {
	t.Parallel()
	const ok, part, failed = toolapi.FinishSucceeded, toolapi.FinishPartial, toolapi.FinishFailed
	for name, tt := range map[string]struct {
		answers []chat.Answer
		// want is the kind of the outcome or the reason of its failure, says a part of its text, and codes those of all results.
		want, says string
		codes      string
	}{
		"at once":          {answers: []chat.Answer{says("", finish(ok, "It is 4."))}, want: "Completed", says: "It is 4.", codes: "ok"},
		"after work":       {answers: []chat.Answer{says("", write("a")), says("", finish(ok, "Done."))}, want: "Completed", says: "Done.", codes: "ok ok"},
		"with other calls": {answers: []chat.Answer{says("", write("a"), finish(ok, "Done."))}, want: "Completed", says: "Done.", codes: "ok ok"},
		"before other calls": {
			answers: []chat.Answer{says("", finish(ok, "Done."), write("a"))}, want: "Completed", says: "Done.", codes: "ok ok",
		},
		"with a call that fails": {
			answers: []chat.Answer{says("", bash("test"), finish(ok, "All tests pass.")), says("", finish(part, "A test fails."))},
			want:    outcome.ReasonPartial, says: "A test fails.", codes: "exit_1 not_finished ok",
		},
		"twice":           {answers: []chat.Answer{says("", finish(ok, "Done."), finish(failed, "No."))}, want: "Completed", says: "Done.", codes: "ok not_finished"},
		"partly":          {answers: []chat.Answer{says("", finish(part, "Two of three."))}, want: outcome.ReasonPartial, says: "Two of three.", codes: "ok"},
		"not":             {answers: []chat.Answer{says("", finish(failed, "It cannot be done."))}, want: outcome.ReasonFailed, says: "It cannot be done.", codes: "ok"},
		"a file":          {answers: []chat.Answer{says("", finish(ok, "See there.", "there", "there"))}, want: "Completed", says: "See there.", codes: "ok"},
		"a missing file":  {answers: []chat.Answer{says("", finish(ok, "See a.", "there", "a")), says("", finish(ok, "See there.", "there"))}, want: "Completed", says: "See there.", codes: "not_accepted ok"},
		"partly, missing": {answers: []chat.Answer{says("", finish(part, "See a.", "a")), says("", finish(failed, "No.", "a"))}, want: outcome.ReasonFailed, says: "No.", codes: "not_accepted ok"},
		"a lie that is repeated": {
			answers: []chat.Answer{says("", finish(ok, "See a.", "a")), says("", finish(ok, "See a!", "a")), says("", finish(ok, "See b.", "b"))},
			want:    outcome.ReasonAcceptanceFailed, says: `3 times, and what must hold did not. Last: these are not in the workspace: "b"`, codes: "not_accepted not_accepted not_accepted",
		},
		"no status":      {answers: []chat.Answer{says("", call("finish", `{"summary":"x"}`)), says("", finish(ok, "Done."))}, want: "Completed", says: "Done.", codes: "invalid_arguments ok"},
		"another status": {answers: []chat.Answer{says("", finish("done", "x")), says("", finish(ok, "Done."))}, want: "Completed", says: "Done.", codes: "invalid_arguments ok"},
		"no summary":     {answers: []chat.Answer{says("", finish(ok, " ")), says("", finish(ok, "Done."))}, want: "Completed", says: "Done.", codes: "invalid_arguments ok"},
		"never":          {answers: []chat.Answer{says("The answer is 4."), says("As I said, it is 4.")}, want: outcome.ReasonNotFinished, says: "As I said, it is 4."},
		"reminded":       {answers: []chat.Answer{says("It is 4."), says("", finish(ok, "It is 4."))}, want: "Completed", says: "It is 4.", codes: "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCallingWorld(t, config.Config{Tools: granted(tt.answers)}, inWorkspace("there"), tt.answers...)
			out := mustRun(t, w, nil)
			got, said := string(out.Kind), out.Summary
			if out.Failure != nil {
				got, said = out.Failure.Reason, out.Failure.Message
			}
			if got != tt.want || !strings.Contains(said, tt.says) {
				t.Errorf("got %s: %s", got, said)
			}
			turns := w.journal.load()
			if d := cmp.Diff(tt.codes, codesOf(turns)); d != "" {
				t.Error(d)
			}
			last := turns[len(turns)-1]
			if closes := out.Kind == outcome.Completed; last.Closes != closes || closes && (last.Content != tt.says || len(verdict.Iterations(turns)) != len(turns)-1) {
				t.Errorf("the last turn is %+v", last)
			}
			// Another loop reaches the same end, without any request.
			asked, ran := w.model.calls, len(w.sandbox.executed)
			if again := mustRun(t, w, nil); again.Kind != out.Kind || again.Summary != out.Summary || w.model.calls != asked || len(w.sandbox.executed) != ran {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

// A success that is claimed before any tool was called is refused once.
func TestSuccessWithTheFirstWord(t *testing.T) {
	t.Parallel()
	const ok = toolapi.FinishSucceeded
	lie := says("", finish(ok, "I wrote it, and all tests pass."))
	for name, tt := range map[string]struct {
		cfg     config.Config
		answers []chat.Answer
		codes   string
	}{
		"a lie":                {answers: []chat.Answer{lie, says("", write("a")), lie}, codes: "not_finished ok ok"},
		"it needs no tool":     {answers: []chat.Answer{lie, lie}, codes: "not_finished ok"},
		"a missing file":       {answers: []chat.Answer{says("", finish(ok, "See a.", "a")), lie}, codes: "not_accepted ok"},
		"after text":           {answers: []chat.Answer{says("It is 4."), lie, lie}, codes: "not_finished ok"},
		"two at once":          {answers: []chat.Answer{says("", lie.Calls[0], lie.Calls[0]), lie}, codes: "not_finished not_finished ok"},
		"with other calls":     {answers: []chat.Answer{says("", write("a"), lie.Calls[0])}, codes: "ok ok"},
		"a failure":            {answers: []chat.Answer{says("", finish(toolapi.FinishFailed, "No."))}, codes: "ok"},
		"no tools are granted": {cfg: config.Config{Tools: []string{}}, answers: []chat.Answer{lie}, codes: "ok"},
		"nor but of people":    {cfg: config.Config{Tools: []string{toolapi.ToolAskUser}}, answers: []chat.Answer{lie}, codes: "ok"},
		"a server has tools":   {cfg: config.Config{Tools: []string{}, MCPServers: []catalog.MCPServer{{Name: "files"}}}, answers: []chat.Answer{lie, lie}, codes: "not_finished ok"},
		"a proof is demanded":  {cfg: config.Config{Accept: config.Acceptance{Files: []string{"there"}}}, answers: []chat.Answer{lie}, codes: "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newCallingWorld(t, tt.cfg, inWorkspace("there"), tt.answers...)
			mustRun(t, w, nil)
			if d := cmp.Diff(tt.codes, codesOf(w.journal.load())); d != "" {
				t.Error(d)
			}
		})
	}
}

// If a manager ends between the judgement of a finish call and the record of the end, the next one does both.
func TestFinishIsRecordedOnce(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, point := range []string{"settle: before", "settle: after", "append: before", "append: after", "tool: before", "tool: after"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := newCallingWorld(t, config.Config{Tools: []string{}}, inWorkspace("there"), says("", finish(toolapi.FinishSucceeded, "Done.", "there")))
			seen := 0
			w.setFault(func(ctx context.Context, p string) error {
				if p == point {
					if seen++; seen == 1 && !strings.HasPrefix(point, "append") || seen == 2 {
						return broken
					}
				}
				return ctx.Err()
			})
			if _, err := w.run(t.Context(), nil); !errors.Is(err, broken) {
				t.Fatalf("got %v", err)
			}
			w.setFault(noFault)
			if out := mustRun(t, w, nil); out.Kind != outcome.Completed || out.Summary != "Done." || len(w.journal.stored) != 2 || w.model.calls != 1 {
				t.Errorf("got %+v, %d turns, %d calls of the model", out, len(w.journal.stored), w.model.calls)
			}
		})
	}
}

// A question in the same answer is asked first, and its answer read before the end.
func TestFinishWaitsForAnswers(t *testing.T) {
	t.Parallel()
	w := newCallingWorld(t, config.Config{}, nil, says("", question("Red or blue?"), finish(toolapi.FinishSucceeded, "Red.")), says("", finish(toolapi.FinishSucceeded, "Blue.")))
	out := mustRun(t, w, nil)
	if out.Kind != outcome.Awaiting || out.Waiting.Kind != turn.AskQuestion {
		t.Fatalf("got %+v", out)
	}
	if out = mustRun(t, w, map[string]string{out.Waiting.ID: "blue"}); out.Kind != outcome.Completed || out.Summary != "Blue." {
		t.Errorf("got %+v", out)
	}
	if res := w.journal.load()[0].Results[1]; res.ErrorCode != result.CodeNotFinished {
		t.Errorf("the first finish: %+v", res)
	}
}
