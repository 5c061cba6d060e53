// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

func TestIdle(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Idle{
		"":                               SaidNothing,
		"half of a" + turn.TruncatedMark: BrokeOff,
		"The sum is 42.":                 SaidText,
		"I fixed the bug. I will be glad to help again: the tests pass.":                       SaidText,
		"Let me know if you need more, the sum is 42.\nThe sum is 42.":                         SaidText,
		"I will now write the numbers to artifacts/numbers.txt and then check the file.":       Announced,
		"The tests fail.\n\nNow, let me fix the parser":                                        Announced,
		"Found it! I'm going to change line 3.":                                                Announced,
		"Ok, next I’ll run the tests.":                                                         Announced,
		`All is well. <tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>`: WroteCall,
		"<function=bash><parameter=command>ls</parameter></function>":                          WroteCall,
		"```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```":                 WroteCall,
		`{"tool": "mcp__git__log", "input": {}}`:                                               WroteCall,
		`The package.json has {"name": "read", "version": "1.0"}.`:                             SaidText,
		`{"name": "left-pad", "arguments": {"n": 1}} is the record`:                            SaidText,
	} {
		if got := IdleOf(&turn.Turn{Content: text}); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
	for name, step := range map[string]*turn.Turn{
		"calls": {Content: "I will", Calls: []turn.Call{{}}}, "summary": {Content: "x", Through: 1}, "end": {Content: "x", Closes: true},
	} {
		if got := IdleOf(step); got != NotIdle {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// An answer of a model may be as long as the record of a turn. The search in it must not take long.
func TestIdleOfLongTexts(t *testing.T) {
	t.Parallel()
	const maxContent = 64 << 10
	for name, text := range map[string]string{
		"braces":    strings.Repeat("{", maxContent),
		"objects":   strings.Repeat(`{"name":"bash"}`, maxContent/15),
		"nested":    strings.Repeat(`{"arguments":`, maxContent/13),
		"sentences": strings.Repeat("so now ", maxContent/7),
		"stops":     strings.Repeat(". ", maxContent/2),
	} {
		start := time.Now()
		if got := IdleOf(&turn.Turn{Content: text}); got != SaidText {
			t.Errorf("%s: %d", name, got)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
}
