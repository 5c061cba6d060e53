// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/motorloop/verdict"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// checkedWorkspace is a sandbox in which "make test" succeeds from its given run on, "flaky" never, and which has the files that
// were written.
func checkedWorkspace(passesFrom int) func(toolapi.Call) toolapi.Result {
	tests := 0
	files := map[string]bool{"given.txt": true}
	return func(c toolapi.Call) toolapi.Result {
		var args struct{ Command, Path, Pattern string }
		if json.Unmarshal(c.Arguments, &args) != nil {
			return toolapi.Result{ErrorCode: toolapi.CodeInvalidArguments}
		}
		switch {
		case c.Tool == toolapi.ToolWrite:
			files[args.Path] = true
			return toolapi.Result{OK: true, Output: "written"}
		case c.Tool == toolapi.ToolList:
			return listOf(args.Path, slices.Sorted(maps.Keys(files)))
		case c.Tool == toolapi.ToolGlob && args.Pattern == "artifacts/*.csv" && files["artifacts/a.csv"]:
			return toolapi.Result{OK: true, Output: "artifacts/a.csv\n"}
		case c.Tool == toolapi.ToolGlob:
			return toolapi.Result{OK: true, Output: toolapi.GlobNothing}
		case args.Command == "make test":
			if tests++; tests < passesFrom {
				return toolapi.Result{ErrorCode: "exit_2", Output: fmt.Sprintf("run %d: 1 failed", tests)}
			}
			return toolapi.Result{OK: true, Output: "all passed"}
		case args.Command == "flaky":
			return toolapi.Result{ErrorCode: toolapi.CodeTimeout, Output: "stopped after 5 s"}
		}
		return toolapi.Result{OK: true, Output: "ok"}
	}
}

func finishWith(summary, value string) turn.Call {
	arguments, err := json.Marshal(toolapi.FinishArgs{Status: toolapi.FinishSucceeded, Summary: summary, Value: json.RawMessage(value)})
	if err != nil {
		panic(err)
	}
	return call(toolapi.ToolFinish, string(arguments))
}

var tested = []config.AcceptCommand{{Command: "make test", TimeoutSeconds: 30}}

const countSchema = `{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"],"additionalProperties":false}`

func TestAcceptance(t *testing.T) {
	t.Parallel()
	const ok, part = toolapi.FinishSucceeded, toolapi.FinishPartial
	done := says("", finish(ok, "Done."))
	for name, tt := range map[string]struct {
		accept     config.Acceptance
		passesFrom int
		answers    []chat.Answer
		textEnds   bool
		// want is the kind of the outcome or the reason of its failure, says a part of its text, value its value.
		want, says, value string
		// codes are those of all results, told the last message to the model.
		codes, told string
	}{
		"passes": {accept: config.Acceptance{Commands: tested}, answers: []chat.Answer{done}, want: "Completed", says: "Done.", codes: "ok ok"},
		"passes the second time": {
			accept: config.Acceptance{Commands: tested}, passesFrom: 2, answers: []chat.Answer{done, says("", bash("mend")), done}, want: "Completed", says: "Done.",
			codes: "ok exit_2 ok ok ok", told: "error not_accepted: 1 of 1 checks failed. Mend the cause, and call finish again.\n[check 1 of 1] make test\nexit status 2\nrun 1: 1 failed",
		},
		"never passes": {
			accept: config.Acceptance{Commands: tested}, passesFrom: 9, answers: []chat.Answer{done, done, done}, want: outcome.ReasonAcceptanceFailed,
			says: "The model called finish 3 times, and what must hold did not. Last: 1 of 1 checks failed.", codes: "ok exit_2 ok exit_2 ok exit_2",
		},
		"hangs": {
			accept: config.Acceptance{Commands: append(slices.Clone(tested), config.AcceptCommand{Command: "flaky", TimeoutSeconds: 5})}, answers: []chat.Answer{done, says("", finish(part, "It hangs."))},
			want: outcome.ReasonPartial, says: "It hangs.", codes: "ok ok timeout ok", told: "1 of 2 checks failed. Mend the cause, and call finish again.\n[check 2 of 2] flaky",
		},
		"partly is not held to it":  {accept: config.Acceptance{Commands: tested, Files: []string{"a"}, Schemas: []string{countSchema}}, passesFrom: 9, answers: []chat.Answer{says("", finish(part, "Half."))}, want: outcome.ReasonPartial, says: "Half.", codes: "ok"},
		"a file":                    {accept: config.Acceptance{Files: []string{"given.txt"}}, answers: []chat.Answer{done}, want: "Completed", says: "Done.", codes: "ok"},
		"a file that is not there":  {accept: config.Acceptance{Files: []string{"given.txt", "a"}}, answers: []chat.Answer{done, says("", write("a")), done}, want: "Completed", says: "Done.", codes: "not_accepted ok ok", told: `the task demands these files, and they are not in the workspace: "a".`},
		"a pattern":                 {accept: config.Acceptance{Files: []string{"artifacts/*.csv"}}, answers: []chat.Answer{done, says("", write("artifacts/a.csv"), finish(ok, "Done."))}, want: "Completed", says: "Done.", codes: "not_accepted ok ok"},
		"a claim of the summary":    {answers: []chat.Answer{says("", finish(ok, "It is in `artifacts/report.md`.")), says("", finish(ok, "It is here: 4."))}, want: "Completed", says: "It is here: 4.", codes: "not_accepted ok", told: `these are not in the workspace: "artifacts/report.md"`},
		"a claim of what is not":    {answers: []chat.Answer{says("", finish(part, "There is no artifacts/report.md."))}, want: outcome.ReasonPartial, says: "There is no", codes: "ok"},
		"a value":                   {accept: config.Acceptance{Schemas: []string{countSchema}}, answers: []chat.Answer{says("", finishWith("Three.", `{"count": 3}`))}, want: "Completed", says: "Three.", value: `{"count":3}`, codes: "ok"},
		"no value":                  {accept: config.Acceptance{Schemas: []string{countSchema}}, answers: []chat.Answer{done, says("", finishWith("Three.", `{"count":3}`))}, want: "Completed", says: "Three.", value: `{"count":3}`, codes: "not_accepted ok", told: `the argument "value" is missing`},
		"another value":             {accept: config.Acceptance{Schemas: []string{countSchema}}, answers: []chat.Answer{says("", finishWith("Three.", `{"count":"three"}`)), says("", finishWith("Three.", `{"count":3}`))}, want: "Completed", says: "Three.", value: `{"count":3}`, codes: "not_accepted ok", told: `the value does not fit its schema: the property "count" does not fit its schema (integer): it is the string "three"`},
		"a value of another kind":   {accept: config.Acceptance{Schemas: []string{countSchema}}, answers: []chat.Answer{says("", finishWith("Three.", `3`)), says("", finishWith("Three.", `{"count":3}`))}, want: "Completed", says: "Three.", value: `{"count":3}`, codes: "not_accepted ok", told: `the value does not fit its schema (object): it is the number 3`},
		"a value without a schema":  {answers: []chat.Answer{says("", finishWith("Three.", `{"count":3}`))}, want: "Completed", says: "Three.", codes: "ok"},
		"a key twice":               {accept: config.Acceptance{Schemas: []string{countSchema}}, answers: []chat.Answer{says("", finishWith("Three.", `{"count":3,"count":4}`)), says("", finishWith("Three.", `{"count":3}`))}, want: "Completed", says: "Three.", value: `{"count":3}`, codes: "not_accepted ok", told: `has the key "count" twice`},
		"a large value as text":     {accept: config.Acceptance{Schemas: []string{`{"type":"string"}`}}, textEnds: true, answers: slices.Repeat([]chat.Answer{says(`"` + strings.Repeat("a", 9000) + `"`)}, 3), want: outcome.ReasonAcceptanceFailed, says: `"value" is missing`, codes: "not_accepted not_accepted not_accepted"},
		"two schemas":               {accept: config.Acceptance{Schemas: []string{countSchema, `{"properties":{"count":{"minimum":5}}}`}}, answers: []chat.Answer{says("", finishWith("3", `{"count":3}`)), says("", finishWith("5", `{"count":5}`))}, want: "Completed", says: "5", value: `{"count":5}`, codes: "not_accepted ok"},
		"a schema that is hostile":  {accept: config.Acceptance{Schemas: []string{`{"$ref":"#"}`}}, answers: []chat.Answer{says("", finishWith("3", `3`)), says("", finish(part, "Cannot."))}, want: outcome.ReasonPartial, says: "Cannot.", codes: "not_accepted ok", told: "the value cannot be held to its schema"},
		"of the last answer":        {accept: config.Acceptance{Commands: tested}, answers: slices.Repeat([]chat.Answer{says("", bash("work"))}, 0), want: outcome.ReasonMaxIterations},
		"text that ends":            {accept: config.Acceptance{Commands: tested}, passesFrom: 2, textEnds: true, answers: []chat.Answer{says("It is 4."), says("", bash("mend")), says("It is 5.")}, want: "Completed", says: "It is 5.", codes: "ok exit_2 ok ok ok"},
		"text that is JSON":         {accept: config.Acceptance{Schemas: []string{countSchema}}, textEnds: true, answers: []chat.Answer{says("It is 4."), says(` {"count": 4} `)}, want: "Completed", says: `{"count": 4}`, value: `{"count":4}`, codes: "not_accepted ok"},
		"different ends that lie":   {accept: config.Acceptance{Commands: tested, Files: []string{"a"}}, passesFrom: 9, answers: []chat.Answer{done, says("", write("a"), finish(ok, "Done.")), done}, want: outcome.ReasonAcceptanceFailed, says: "3 times", codes: "not_accepted ok ok exit_2 ok exit_2"},
		"mended in the same answer": {accept: config.Acceptance{Commands: tested}, answers: []chat.Answer{says("", bash("make test"), finish(ok, "Done."))}, passesFrom: 1, want: "Completed", says: "Done.", codes: "ok ok ok"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Config{Accept: tt.accept, TextEnds: tt.textEnds}
			if name == "of the last answer" {
				// A finish call in the last allowed answer is checked all the same.
				cfg.MaxIterations, tt.answers, tt.want, tt.says, tt.codes = 1, []chat.Answer{done}, "Completed", "Done.", "ok ok"
			}
			if !tt.accept.Any() {
				cfg.Tools = granted(tt.answers)
			}
			w := newCallingWorld(t, cfg, checkedWorkspace(tt.passesFrom), tt.answers...)
			out := mustRun(t, w, nil)
			got, said := string(out.Kind), out.Summary
			if out.Failure != nil {
				got, said = out.Failure.Reason, out.Failure.Message
			}
			if got != tt.want || !strings.Contains(said, tt.says) || out.Value != tt.value {
				t.Errorf("got %s: %s, value %q", got, said, out.Value)
			}
			turns := w.journal.load()
			if d := cmp.Diff(tt.codes, codesOf(turns)); d != "" {
				t.Error(d)
			}
			last := w.model.seen[len(w.model.seen)-1].Messages
			if all := fmt.Sprint(last); !strings.Contains(all, tt.told) {
				t.Errorf("the model was told %s", all)
			}
			if n := len(verdict.Iterations(turns)); n != w.model.asked[forStep] {
				t.Errorf("%d iterations, %d answers", n, w.model.asked[forStep])
			}
			asked, ran := w.model.calls, len(w.sandbox.executed)
			if again := mustRun(t, w, nil); again.Kind != out.Kind || again.Summary != out.Summary || again.Value != out.Value || w.model.calls != asked || len(w.sandbox.executed) != ran {
				t.Errorf("again: %+v", again)
			}
		})
	}
}

// If a manager ends at any point of the checks, the next one continues them and reaches the same end.
func TestChecksSurvive(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, point := range []string{"settle: before", "settle: after", "append: before", "append: after", "tool: before", "tool: after"} {
		for nth := 1; nth <= 4; nth++ {
			t.Run(fmt.Sprint(point, nth), func(t *testing.T) {
				t.Parallel()
				accept := config.Acceptance{Commands: append(slices.Clone(tested), config.AcceptCommand{Command: "lint"}), Files: []string{"given.txt"}}
				w := newCallingWorld(t, config.Config{Accept: accept}, checkedWorkspace(1), says("", finish(toolapi.FinishSucceeded, "Done.")))
				seen := 0
				w.setFault(func(ctx context.Context, p string) error {
					if p == point {
						if seen++; seen == nth {
							return broken
						}
					}
					return ctx.Err()
				})
				_, err := w.run(t.Context(), nil)
				if seen >= nth && !errors.Is(err, broken) {
					t.Fatalf("got %v", err)
				}
				w.setFault(noFault)
				out := mustRun(t, w, nil)
				if out.Kind != outcome.Completed || out.Summary != "Done." || len(w.journal.stored) != 3 || len(w.sandbox.executed) != 3 {
					t.Errorf("got %+v, %d turns, %v", out, len(w.journal.stored), w.sandbox.executedIDs())
				}
				if step := decode(w.journal.stored[1]); !step.Checks || step.Calls[0].ID != "a1-s2-c0" || w.sandbox.requests["a1-s2-c0"].MaxOutputBytes != verdict.CheckOutput {
					t.Errorf("the checks are %+v, asked with %+v", step, w.sandbox.requests["a1-s2-c0"])
				}
			})
		}
	}
}

// No person is asked about a check whose end was not seen: it is made again. If no try comes to its end, the result is unknown, and the
// model must not read that something is wrong with its work.
func TestCheckThatIsEndedFromOutside(t *testing.T) {
	t.Parallel()
	for code, lost := range map[string]int{toolapi.CodeOutcomeUnknown: 2, toolapi.CodeCancelled: 2, "never " + toolapi.CodeCancelled: 4 * maxExecutions} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			behave, n := checkedWorkspace(1), 0
			done := says("", finish(toolapi.FinishSucceeded, "Done."))
			w := newCallingWorld(t, config.Config{Accept: config.Acceptance{Commands: tested}}, func(c toolapi.Call) toolapi.Result {
				if n++; n <= lost {
					return toolapi.Result{ErrorCode: strings.TrimPrefix(code, "never ")}
				}
				return behave(c)
			}, done, done, done, done, done)
			if out := mustRun(t, w, nil); out.Kind != outcome.Completed {
				t.Errorf("got %+v", out)
			}
			if lost == 2 {
				if d := cmp.Diff([]string{"a1-s2-c0", "a1-s2-c0-r1", "a1-s2-c0-r2"}, w.sandbox.executedIDs()); d != "" {
					t.Error(d)
				}
				return
			}
			told := w.model.seen[len(w.model.seen)-1].Messages
			if last := told[len(told)-1].Content; !strings.Contains(last, "error not_finished") || !strings.Contains(last, "1 of 1 checks did not come to their end, which was not their doing. A call of finish makes them again.") {
				t.Errorf("the model was told %s", last)
			}
		})
	}
}

// A person approves a check once: when its end was not seen, they are asked before it is made again.
func TestApprovalOfACheckIsForOnce(t *testing.T) {
	t.Parallel()
	behave, lost := checkedWorkspace(1), 0
	w, p := gatedWorld(t, config.Config{Accept: config.Acceptance{Commands: []config.AcceptCommand{{Command: "gated"}}}}, func(c toolapi.Call) toolapi.Result {
		if lost++; lost == 1 {
			return toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown}
		}
		return behave(c)
	}, says("Done."))
	w.mustAsk(t, nil, "a1-s2-c0", "a1-s2-c0")
	p.said["a1-s2-c0"] = "Approve"
	w.mustAsk(t, nil, "a1-s2-c0", "a1-s2-c0-r1")
	p.said["a1-s2-c0-r1"] = "Deny"
	out := mustRun(t, w, nil)
	if out.Failure == nil || out.Failure.Reason != outcome.ReasonAcceptanceFailed || len(w.sandbox.executed) != 1 {
		t.Errorf("got %+v, executed %v", out, w.sandbox.executedIDs())
	}
}

// A check that may have an irreversible effect is not made again without a decision by onUnknown.
func TestARiskyCheckIsNotMadeTwice(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		onUnknown turn.UnknownPolicy
		answer    string
		kind      outcome.Kind
		executed  []string
	}{
		"retry": {turn.UnknownPerson, "Retry", outcome.Completed, []string{"a1-s2-c0", "a1-s2-c0-r1"}},
		"done":  {turn.UnknownPerson, "Done", outcome.Completed, []string{"a1-s2-c0"}},
		"skip":  {turn.UnknownPerson, "Skip", outcome.Failed, []string{"a1-s2-c0"}},
		"model": {turn.UnknownModel, "", outcome.Completed, []string{"a1-s2-c0", "a1-s4-c0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			behave, n := checkedWorkspace(1), 0
			done := says("", finish(toolapi.FinishSucceeded, "Done."))
			cfg := config.Config{OnUnknown: tt.onUnknown, Accept: config.Acceptance{Commands: []config.AcceptCommand{{Command: "risky"}}}}
			w, _ := gatedWorld(t, cfg, func(c toolapi.Call) toolapi.Result {
				if n++; n == 1 {
					return toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown}
				}
				return behave(c)
			}, done, done)
			out := mustRun(t, w, nil)
			if tt.answer != "" {
				if out.Waiting == nil || out.Waiting.ID != "a1-s2-c0" || len(w.sandbox.executed) != 1 {
					t.Fatalf("got %+v, executed %v", out, w.sandbox.executedIDs())
				}
				out = mustRun(t, w, map[string]string{"a1-s2-c0": tt.answer})
			}
			if d := cmp.Diff(tt.executed, w.sandbox.executedIDs()); d != "" || out.Kind != tt.kind {
				t.Errorf("got %+v, executed -want +got %s", out, d)
			}
		})
	}
}

// After a person did not approve a check, no further ask and no further call is made.
func TestChecksEndWithADenial(t *testing.T) {
	t.Parallel()
	commands := []config.AcceptCommand{{Command: "gated 1"}, {Command: "make test"}, {Command: "gated 2"}}
	w, p := gatedWorld(t, config.Config{Accept: config.Acceptance{Commands: commands}}, checkedWorkspace(1), says("Done."))
	w.mustAsk(t, nil, "a1-s2-c0", "a1-s2-c0")
	p.said["a1-s2-c0"] = "Deny"
	out := mustRun(t, w, nil)
	if out.Failure == nil || out.Failure.Reason != outcome.ReasonAcceptanceFailed || len(w.sandbox.executed) > 0 || len(w.journal.load()[1].Asks) != 1 {
		t.Errorf("got %+v, executed %v", out, w.sandbox.executedIDs())
	}
}

// Notes about background programs during checks are shown with the finish call.
func TestNotesOfChecksAreTold(t *testing.T) {
	t.Parallel()
	finishing := &turn.Turn{Index: 1, Calls: []turn.Call{{ID: "a1-s1-c0", ModelID: "f", Tool: toolapi.ToolFinish, Arguments: `{"status":"Succeeded","summary":"s"}`}}, Results: []*toolapi.Result{{OK: true}}}
	checking := &turn.Turn{Index: 2, Checks: true, Calls: []turn.Call{{ID: "a1-s2-c0", Tool: toolapi.ToolBash, Arguments: `{"command":"x"}`}}, Results: []*toolapi.Result{{ErrorCode: "exit_1"}}, Notes: []string{"[background: lost]"}}
	msgs := conversation.Transcript(config.Config{Task: "t"}, []*turn.Turn{finishing, checking})
	if last := msgs[len(msgs)-1]; !strings.HasSuffix(last.Content, "[background: lost]") || finishing.Notes != nil || !finishing.Results[0].OK {
		t.Errorf("the model is told %q", last.Content)
	}
}

// A check needs approval like any other call, and one that is not approved ends the attempt: its result cannot be known then.
func TestChecksNeedApproval(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[turn.AskOutcome]string{turn.AskApproved: "Completed", turn.AskDenied: outcome.ReasonAcceptanceFailed, turn.AskExpired: outcome.ReasonAcceptanceFailed} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()
			w, p := gatedWorld(t, config.Config{Accept: config.Acceptance{Commands: []config.AcceptCommand{{Command: "gated"}, {Command: "make test"}}}}, checkedWorkspace(1), says("Done."))
			const id = "a1-s2-c0"
			w.mustAsk(t, nil, id, id)
			if len(w.sandbox.executed) > 0 {
				t.Errorf("executed before anybody decided: %v", w.sandbox.executedIDs())
			}
			p.said[id], p.over[id] = map[turn.AskOutcome]string{turn.AskApproved: "Approve", turn.AskDenied: "Deny"}[outcome], outcome == turn.AskExpired
			out := mustRun(t, w, nil)
			got := string(out.Kind)
			if out.Failure != nil {
				got = out.Failure.Reason
			}
			if got != want || out.Failure != nil && (!strings.Contains(out.Failure.Message, `The check "gated" was not approved`) || out.Partial != "Done.") {
				t.Errorf("got %+v", out)
			}
		})
	}
}
