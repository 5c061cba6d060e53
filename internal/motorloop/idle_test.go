// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

func TestIdle(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]idleKind{
		"":                               saidNothing,
		"half of a" + turn.TruncatedMark: brokeOff,
		"The sum is 42.":                 saidText,
		"I fixed the bug. I will be glad to help again: the tests pass.":                       saidText,
		"Let me know if you need more, the sum is 42.\nThe sum is 42.":                         saidText,
		"I will now write the numbers to artifacts/numbers.txt and then check the file.":       announced,
		"The tests fail.\n\nNow, let me fix the parser":                                        announced,
		"Found it! I'm going to change line 3.":                                                announced,
		"Ok, next I’ll run the tests.":                                                         announced,
		`All is well. <tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>`: wroteCall,
		"<function=bash><parameter=command>ls</parameter></function>":                          wroteCall,
		"```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```":                 wroteCall,
		`{"tool": "mcp__git__log", "input": {}}`:                                               wroteCall,
		`The package.json has {"name": "read", "version": "1.0"}.`:                             saidText,
		`{"name": "left-pad", "arguments": {"n": 1}} is the record`:                            saidText,
	} {
		if got := idle(&turn.Turn{Content: text}); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
	for name, step := range map[string]*turn.Turn{
		"calls": {Content: "I will", Calls: []turn.Call{{}}}, "summary": {Content: "x", Through: 1}, "end": {Content: "x", Closes: true},
	} {
		if got := idle(step); got != notIdle {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// An answer of a model may be as long as the record of a turn. The search in it must not take long.
func TestIdleOfLongTexts(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"braces":    strings.Repeat("{", maxContent),
		"objects":   strings.Repeat(`{"name":"bash"}`, maxContent/15),
		"nested":    strings.Repeat(`{"arguments":`, maxContent/13),
		"sentences": strings.Repeat("so now ", maxContent/7),
		"stops":     strings.Repeat(". ", maxContent/2),
	} {
		start := time.Now()
		if got := idle(&turn.Turn{Content: text}); got != saidText {
			t.Errorf("%s: %d", name, got)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s took %s", name, took)
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
