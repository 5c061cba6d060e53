// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/record"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// For any model and tools, a turn fits in an object that etcd accepts.
func TestTurnsAreBounded(t *testing.T) {
	const limit = 220 << 10
	for _, char := range []string{"x", "<", "\x00", "\"", "ä", "\xff", "\U0001F642"} {
		for _, calls := range []int{0, 1, 8, 40} {
			t.Run(fmt.Sprintf("%q %d calls", char, calls), func(t *testing.T) {
				a := says(strings.Repeat(char, 128<<10))
				a.Model = strings.Repeat(char, 1<<10)
				for i := range calls {
					args := fmt.Sprintf(`{"command":%q}`, strings.Repeat("<", 2000*i%20000))
					if i%3 == 1 {
						args = strings.Repeat(char, 100<<10)
					}
					a.Calls = append(a.Calls, turn.Call{ModelID: strings.Repeat("i", 10*i), Tool: strings.Repeat("bash", i%40), Arguments: args})
				}
				if calls > 0 {
					a.Calls[0] = bash(strings.Repeat("y", 90<<10))
				}
				behave := func(toolapi.Call) toolapi.Result {
					return toolapi.Result{Output: strings.Repeat(char, 256<<10), ErrorCode: "a b", Provenance: "User", OutputFile: strings.Repeat("f", 5000)}
				}
				w := newWorld(t, config.Config{}, behave, a, says("done"))
				mustRun(t, w, nil)
				step := w.journal.load()[0]
				if n := len(w.journal.stored[0]); n > limit {
					t.Errorf("the turn takes %d bytes", n)
				}
				if !utf8.ValidString(step.Content) || len(step.Content) > 64<<10 {
					t.Errorf("content of %d bytes", len(step.Content))
				}
				for i, res := range step.Results {
					if len(res.Output) > toolapi.MaxOutputBytes || res.Provenance != toolapi.ProvenanceInternal || len(step.Calls[i].ModelID) > 256 {
						t.Errorf("call %d: %d bytes, %s", i, len(res.Output), res.Provenance)
					}
				}
				if calls > 0 && len(w.sandbox.executed) == 0 {
					t.Error("a call of 90 KiB was not carried out")
				}
				for _, c := range w.sandbox.executed {
					if c.MaxOutputBytes < record.MinOutputShare {
						t.Errorf("call %s may say no more than %d bytes", c.ID, c.MaxOutputBytes)
					}
				}
			})
		}
	}
}

// The parts beside arguments and outputs take no more bytes in JSON than are reserved for them.
func TestNamesAreBounded(t *testing.T) {
	a := says(strings.Repeat("x", 128<<10))
	for i := range record.MaxCalls {
		a.Calls = append(a.Calls, turn.Call{ModelID: strings.Repeat("<", 240) + fmt.Sprint(i), Tool: toolapi.ToolBash, Arguments: fmt.Sprintf(`{"command":"%d"}`, i)})
	}
	w := newWorld(t, config.Config{}, func(toolapi.Call) toolapi.Result {
		return toolapi.Result{Output: strings.Repeat("x", 256<<10), ErrorCode: "exit_1", OutputFile: strings.Repeat("<", 1000)}
	}, a, says("done"))
	mustRun(t, w, nil)
	if n := len(w.journal.stored[0]); n > 210<<10 || len(w.sandbox.executed) != toolapi.MaxCalls {
		t.Errorf("the turn takes %d bytes, %d calls ran", n, len(w.sandbox.executed))
	}
}

func TestModelIDs(t *testing.T) {
	w := newWorld(t, config.Config{}, nil,
		says("", turn.Call{ModelID: "call_0", Tool: "list"}, turn.Call{ModelID: "call_0", Tool: "list"}, turn.Call{Tool: "list"}, turn.Call{ModelID: "a b", Tool: "list"}),
		says("", turn.Call{ModelID: "call_0", Tool: "list"}, turn.Call{ModelID: "a1-s2-c2", Tool: "list"}, turn.Call{ModelID: "", Tool: "list"}, turn.Call{ModelID: strings.Repeat("i", 257), Tool: "list"}),
		says("done"))
	w.loop.Config.Tools = []string{"list"}
	mustRun(t, w, nil)
	var got []string
	for _, step := range w.journal.load() {
		for _, c := range step.Calls {
			got = append(got, c.ModelID)
		}
	}
	want := "call_0 a1-s1-c1 a1-s1-c2 a1-s1-c3 a1-s2-c0 a1-s2-c2 a1-s2-c2x a1-s2-c3"
	if strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
