// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/stuck"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func mustRun(t *testing.T, w *world, answers map[string]string) outcome.Outcome {
	t.Helper()
	out, err := w.run(t.Context(), answers)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestCompletes(t *testing.T) {
	w := newWorld(t, config.Config{Attempt: 2}, nil, says("", bash("a"), bash("b")), says("looking", bash("c")), says("done"))
	if d := cmp.Diff(outcome.Outcome{Kind: outcome.Completed, Summary: "done"}, mustRun(t, w, nil)); d != "" {
		t.Error(d)
	}
	var ran []string
	for _, c := range w.sandbox.executed {
		ran = append(ran, c.ID+" "+string(c.Arguments))
	}
	want := []string{`a2-s1-c0 {"command":"a"}`, `a2-s1-c1 {"command":"b"}`, `a2-s2-c0 {"command":"c"}`}
	if d := cmp.Diff(want, ran); d != "" {
		t.Error(d)
	}
	if w.journal.settles != 2 {
		t.Errorf("settled %d times, want once per turn with calls", w.journal.settles)
	}
	for i, step := range w.journal.load() {
		if want := chat.RequestDigest(w.model.seen[i]); step.RequestDigest != want || len(step.PromptDigest) != 71 {
			t.Errorf("turn %d: digests %s %s", i+1, step.RequestDigest, step.PromptDigest)
		}
	}
	// The run that was over before its end was reported ends the same way, without any request.
	if out := mustRun(t, w, nil); out.Summary != "done" || w.model.calls != 3 {
		t.Errorf("ran again: %+v after %d model calls", out, w.model.calls)
	}
}

// A loop that gives its slot back after each turn makes each call and each request once, and ends as one that keeps it.
func TestALoopThatGivesItsSlotBackLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config.Config{}, nil, says("", bash("a"), bash("b")), says("looking", bash("c")), says("done"))
	var sizes []int
	w.loop.GivesBack = func(held int, began bool) bool { sizes = append(sizes, held); return !began }
	for range 2 {
		if _, err := w.run(t.Context(), nil); !errors.Is(err, ErrGivenBack) {
			t.Fatalf("the loop ended with %v", err)
		}
	}
	if out := mustRun(t, w, nil); out.Summary != "done" || w.model.calls != 3 || len(w.sandbox.executed) != 3 {
		t.Errorf("%+v after %d requests and %d calls", out, w.model.calls, len(w.sandbox.executed))
	}
	// Each start is asked before its first request and after it, and is told the size of what it has.
	first := w.journal.load()[0].Size()
	second := first + w.journal.load()[1].Size()
	if d := cmp.Diff([]int{0, first, first, second, second}, sizes); d != "" || first == 0 || second == first {
		t.Error(d)
	}
}

// Requests of a hostile or clumsy model, and the envelope of each refusal.
func TestRefusals(t *testing.T) {
	cases := map[string]struct {
		call       turn.Call
		code, says string
	}{
		"unknown tool":     {call("rm", "{}"), toolapi.CodeUnknownTool, `there is no tool "rm": the tools are bash, read, write, ask_user`},
		"odd name":         {call("bash\n!", "{}"), toolapi.CodeUnknownTool, `"bash__"`},
		"no name":          {call("", "{}"), toolapi.CodeUnknownTool, `"unnamed"`},
		"not granted":      {call("code", "{}"), toolapi.CodeToolNotGranted, "the tools are bash, read, write, ask_user"},
		"no JSON":          {call("bash", `{"command":`), toolapi.CodeInvalidArguments, "not JSON: unexpected end of JSON input after 11 bytes"},
		"more than JSON":   {call("bash", `{"command":"a"}}`), toolapi.CodeInvalidArguments, "not JSON"},
		"no object":        {call("bash", `["ls"]`), toolapi.CodeInvalidArguments, "must be a JSON object, not a list of 1 items"},
		"missing":          {call("bash", ``), toolapi.CodeInvalidArguments, `"command" is missing`},
		"wrong type":       {call("bash", `{"command":7}`), toolapi.CodeInvalidArguments, `"command" must be a string that is not empty, not the number 7`},
		"null":             {call("bash", `{"command":null}`), toolapi.CodeInvalidArguments, `not null`},
		"too much":         {call("bash", `{"command":"a","timeoutSeconds":301}`), toolapi.CodeInvalidArguments, `"timeoutSeconds" must be an integer from 1 to 300, not the number 301`},
		"fraction":         {call("bash", `{"command":"a","timeoutSeconds":1.5}`), toolapi.CodeInvalidArguments, `integer`},
		"unknown argument": {call("bash", `{"command":"a","cwd":"/"}`), toolapi.CodeInvalidArguments, `there is no argument "cwd": the arguments are command, timeoutSeconds`},
		"not in the enum":  {call("read", `{"path":""}`), toolapi.CodeInvalidArguments, `"path" must be a string that is not empty`},
		"too large":        {call("write", `{"path":"a","content":"`+strings.Repeat("x", toolapi.MaxArgumentsBytes)+`"}`), toolapi.CodeTooLarge, "98304 bytes"},
		"empty question":   {question(" \n"), toolapi.CodeInvalidArguments, "question"},
		"long question":    {question(strings.Repeat("ä", toolapi.MaxQuestion+1)), toolapi.CodeInvalidArguments, "a string of 1 to 4096 characters, not a string of 4097 characters"},
		"folder":           {call("bash", `{"command":"a","cwd":"src"}`), toolapi.CodeInvalidArguments, `begin it with "cd FOLDER &&".`},
		"near name":        {call("bash", `{"comand":"a"}`), toolapi.CodeInvalidArguments, `Did you mean "command"?`},
		"said twice":       {call("read", `{"path":"a","file_path":"b"}`), toolapi.CodeInvalidArguments, `It means the same as "path"`},
		"part of a person": {call("ask_user", `{"question":"q","description":"d"}`), toolapi.CodeInvalidArguments, `there is no argument "description"`},
		"another name":     {call("execute_bash", `{"command":"ls"}`), toolapi.CodeUnknownTool, `there is no tool "execute_bash": use bash with command; the tools are bash,`},
		"one of ours":      {call("list", `{}`), toolapi.CodeToolNotGranted, `use bash with command: ls FOLDER; the tools are bash,`},
		"padded question":  {call("ask_user", `{"question":"q"`+strings.Repeat(" ", toolapi.MaxAskUserBytes)+`}`), toolapi.CodeInvalidArguments, "at most 65536 bytes"},
		"eleven options":   {call("ask_user", `{"question":"q","options":["1","2","3","4","5","6","7","8","9","10","11"]}`), toolapi.CodeInvalidArguments, "at most 10 items"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, config.Config{}, nil, says("", tc.call), says("done"))
			if out := mustRun(t, w, nil); out.Kind != outcome.Completed {
				t.Fatalf("got %+v", out)
			}
			res := w.journal.load()[0].Results[0]
			if res.OK || res.ErrorCode != tc.code || !strings.Contains(res.Output, tc.says) {
				t.Errorf("got %+v, want %s: …%s…", res, tc.code, tc.says)
			}
			if len(w.sandbox.executed) > 0 {
				t.Errorf("was carried out: %v", w.sandbox.executed)
			}
		})
	}
}

// A call is recorded as it is made, so that every reader of the record sees the actual call.
func TestAliasesAreRecordedAsWhatIsCalled(t *testing.T) {
	w := newWorld(t, config.Config{Tools: []string{"read", "bash"}}, nil,
		says("", call("read", `{"file_path":"a","limit":"5"}`), call("bash", `{"cmd":["bash","-lc","ls"],"timeout":60000,"description":"lists"}`)),
		says("done"))
	mustRun(t, w, nil)
	for i, want := range []string{`{"limit":5,"path":"a"}`, `{"command":"ls","timeoutSeconds":60}`} {
		if got := w.journal.load()[0].Calls[i].Arguments; got != want || string(w.sandbox.executed[i].Arguments) != want {
			t.Errorf("recorded %s, made %s, want %s", got, w.sandbox.executed[i].Arguments, want)
		}
	}
}

func TestTolerance(t *testing.T) {
	w := newWorld(t, config.Config{Tools: []string{"list", "bash"}}, nil,
		says("", call("list", ""), call("list", " {} "), call("bash", `{"command":"a","timeoutSeconds":null}`)), says("done"))
	mustRun(t, w, nil)
	if len(w.sandbox.executed) != 3 || string(w.sandbox.requests["a1-s1-c0"].Arguments) != "{}" {
		t.Errorf("ran %v", w.sandbox.executed)
	}
}

func TestTooManyCalls(t *testing.T) {
	var calls []turn.Call
	for range 40 {
		calls = append(calls, bash("x"))
	}
	w := newWorld(t, config.Config{}, nil, says("", calls...), says("done"))
	mustRun(t, w, nil)
	step := w.journal.load()[0]
	if len(w.sandbox.executed) != toolapi.MaxCalls || len(step.Calls) != record.MaxCalls {
		t.Errorf("ran %d, recorded %d", len(w.sandbox.executed), len(step.Calls))
	}
	if got := step.Results[toolapi.MaxCalls].ErrorCode; got != toolapi.CodeTooManyCalls {
		t.Errorf("call %d: %s", toolapi.MaxCalls+1, got)
	}
	if got := w.sandbox.executed[0].MaxOutputBytes; got != toolapi.MaxBashOutputBytes {
		t.Errorf("output limit %d", got)
	}
}

func TestAskUser(t *testing.T) {
	w := newWorld(t, config.Config{}, nil, says("", bash("a"), question("one?"), question("two?"), bash("b")), says("done"))
	out := mustRun(t, w, nil)
	if out.Kind != outcome.Awaiting || out.Waiting.ID != "a1-s1-c1" {
		t.Fatalf("got %+v", out)
	}
	step := w.journal.load()[0]
	if args, err := ParseQuestion(step.Calls[1]); err != nil || args.Question != "one?" || len(step.Asks) != 1 {
		t.Errorf("question %+v, %v, recorded %+v", args, err, step.Asks)
	}
	if step.Settled() || step.Results[0] == nil || step.Results[3] == nil {
		t.Errorf("while waiting: %+v", step.Results)
	}
	settles := w.journal.settles
	if again := mustRun(t, w, nil); again.Waiting.ID != "a1-s1-c1" || w.journal.settles != settles {
		t.Errorf("asked again: %+v, %d writes", again, w.journal.settles-settles)
	}
	if out = mustRun(t, w, map[string]string{"a1-s1-c1": "yes", "a1-s9-c9": "?"}); out.Waiting == nil || out.Waiting.ID != "a1-s1-c2" {
		t.Fatalf("got %+v", out)
	}
	if out = mustRun(t, w, map[string]string{"a1-s1-c1": "changed", "a1-s1-c2": "no"}); out.Kind != outcome.Completed {
		t.Fatalf("got %+v", out)
	}
	step = w.journal.load()[0]
	want := &toolapi.Result{OK: true, Output: "The person replied: yes", Provenance: toolapi.ProvenanceUser}
	if d := cmp.Diff(want, step.Results[1]); d != "" {
		t.Error(d)
	}
	if len(w.sandbox.executed) != 2 || w.model.calls != 2 {
		t.Errorf("%d calls, %d model calls", len(w.sandbox.executed), w.model.calls)
	}
}

func TestReady(t *testing.T) {
	t.Run("a panic is an error that decides nothing", func(t *testing.T) {
		w := newWorld(t, config.Config{}, nil, says("", bash("a")), says("done"))
		w.loop.Ready = func(context.Context) error { panic("broken") }
		_, err := w.run(t.Context(), nil)
		if p, ok := errors.AsType[*Panic](err); !ok || p.Value != "broken" || !strings.Contains(p.Error(), "loop_test.go") {
			t.Errorf("got %v", err)
		}
		if len(w.journal.stored) > 0 {
			t.Errorf("recorded %s", w.journal.stored)
		}
	})
	lost := &outcome.Failure{Category: outcome.InfraFailure, Reason: outcome.ReasonIsolationUnverified, Message: "x"}
	t.Run("calls wait for it", func(t *testing.T) {
		w := newWorld(t, config.Config{}, nil, says("", bash("a")), says("done"))
		w.sandbox.ready = false
		modelAsked := make(chan struct{})
		w.model.fault = func(context.Context, string) error {
			select {
			case <-modelAsked:
			default:
				close(modelAsked)
			}
			return nil
		}
		times := 0
		w.loop.Ready = func(context.Context) error {
			times++
			<-modelAsked // proves that the two overlap
			w.sandbox.ready = true
			return nil
		}
		if out := mustRun(t, w, nil); out.Kind != outcome.Completed || times != 1 {
			t.Errorf("got %+v, ready was called %d times", out, times)
		}
	})
	t.Run("failure ends the model call and the attempt", func(t *testing.T) {
		w := newWorld(t, config.Config{}, nil)
		w.model.fault = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
		w.loop.Ready = func(context.Context) error { return lost }
		if out := mustRun(t, w, nil); out.Failure != lost {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("other error is returned", func(t *testing.T) {
		w := newWorld(t, config.Config{}, nil, says("", bash("a")))
		odd := errors.New("odd")
		w.loop.Ready = func(context.Context) error { return odd }
		if _, err := w.run(t.Context(), nil); !errors.Is(err, odd) {
			t.Errorf("got %v", err)
		}
		if len(w.sandbox.executed) > 0 {
			t.Error("a tool ran")
		}
	})
	t.Run("is ended with the run", func(t *testing.T) {
		w := newWorld(t, config.Config{}, nil)
		w.model.fault = func(context.Context, string) error { return lost }
		ended := false
		w.loop.Ready = func(ctx context.Context) error { <-ctx.Done(); ended = true; return ctx.Err() }
		if out := mustRun(t, w, nil); out.Failure != lost || !ended {
			t.Errorf("got %+v, ended: %v", out, ended)
		}
	})
	t.Run("no turn is recorded before it", func(t *testing.T) {
		w := newWorld(t, config.Config{}, nil, says("no tools needed"))
		w.loop.Ready = func(context.Context) error { return lost }
		if out := mustRun(t, w, nil); out.Failure != lost || len(w.journal.stored) > 0 {
			t.Errorf("got %+v, recorded %d turns", out, len(w.journal.stored))
		}
	})
	t.Run("before resumed calls", func(t *testing.T) {
		w := newWorld(t, config.Config{}, nil, says("", bash("a")), says("done"))
		w.sandbox.fault = func(context.Context, string) error { return errors.New("away") }
		if _, err := w.run(t.Context(), nil); err == nil {
			t.Fatal("no error")
		}
		w.sandbox.fault, w.sandbox.ready = noFault, false
		w.loop.Ready = func(context.Context) error { w.sandbox.ready = true; return nil }
		if out := mustRun(t, w, nil); out.Kind != outcome.Completed {
			t.Errorf("got %+v", out)
		}
	})
}

func TestErrors(t *testing.T) {
	gone := &outcome.Failure{Category: outcome.InfraFailure, Reason: outcome.ReasonSandboxLost, Message: "gone"}
	t.Run("lost sandbox keeps what was done", func(t *testing.T) {
		w := newWorld(t, config.Config{}, nil, says("", bash("a"), bash("b")))
		w.sandbox.fault = func(_ context.Context, _ string) error {
			if len(w.sandbox.executed) == 1 && len(w.sandbox.ledger) == 1 && w.sandbox.ready {
				w.sandbox.ready = false
				return nil
			}
			if !w.sandbox.ready {
				return gone
			}
			return nil
		}
		if out := mustRun(t, w, nil); out.Failure != gone {
			t.Fatalf("got %+v", out)
		}
		step := w.journal.load()[0]
		if step.Results[0] == nil || step.Results[1] != nil {
			t.Errorf("recorded %+v", step.Results)
		}
	})
	for name, end := range map[string]func(cancel context.CancelFunc) error{
		"a silent sandbox keeps what was done":     func(context.CancelFunc) error { return errors.New("no answer") },
		"a loop that is told to end keeps it also": func(cancel context.CancelFunc) error { cancel(); return context.Canceled },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, config.Config{}, nil, says("", bash("a"), bash("b")))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.sandbox.fault = func(_ context.Context, point string) error {
				if point == "tool: before" && len(w.sandbox.executed) == 1 {
					return end(cancel)
				}
				return nil
			}
			if _, err := w.run(ctx, nil); err == nil {
				t.Fatal("no error")
			}
			if step := w.journal.load()[0]; step.Results[0] == nil || step.Results[1] != nil {
				t.Errorf("recorded %+v", step.Results)
			}
		})
	}
	t.Run("stale", func(t *testing.T) {
		w := newWorld(t, config.Config{}, nil, says("", bash("a")))
		w.journal.fault = func(context.Context, string) error { return ErrStale }
		if _, err := w.run(t.Context(), nil); !errors.Is(err, ErrStale) || len(w.sandbox.executed) > 0 {
			t.Errorf("got %v, ran %v", err, w.sandbox.executed)
		}
	})
	t.Run("a cancelled call is no failure", func(t *testing.T) {
		w := newWorld(t, config.Config{}, nil, says("", bash("a")))
		ctx, cancel := context.WithCancel(t.Context())
		w.sandbox.fault = func(context.Context, string) error { cancel(); return gone }
		if _, err := w.run(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the caller's turns stay as they are", func(t *testing.T) {
		w := newWorld(t, config.Config{}, nil, says("", bash("a")), says("done"))
		w.sandbox.fault = func(context.Context, string) error { return errors.New("away") }
		_, _ = w.run(t.Context(), nil)
		w.sandbox.fault = noFault
		turns := w.journal.load()
		before := encode(turns[0])
		if _, err := w.loop.Run(t.Context(), turns); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(before), string(encode(turns[0]))); d != "" {
			t.Error(d)
		}
	})
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
		msgs := conversation.Transcript(config.Config{Tools: []string{tool}}, three)
		if last := msgs[len(msgs)-1].Content; !strings.HasPrefix(last, "x\n[warning: ") || strings.Contains(last, "example bash with: until") != want {
			t.Errorf("with %s the model sees %q", tool, last)
		}
	}
}

// A text ends the run of a model that ends its runs with text, unless it only announces the model's next step.
func TestTextEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, config.Config{}, nil, says("I will now write the file."), says("It is written."))
	if out := mustRun(t, w, nil); out.Kind != outcome.Completed || out.Summary != "It is written." || w.model.calls != 2 {
		t.Errorf("got %+v", out)
	}
	w = newWorld(t, config.Config{}, nil, says("I will now write the file."), says(`<tool_call>{"name":"write"}</tool_call>`))
	if out := mustRun(t, w, nil); out.Kind != outcome.Failed || out.Failure.Reason != outcome.ReasonNotFinished || !strings.Contains(out.Partial, "<tool_call>") {
		t.Errorf("got %+v", out)
	}
}
