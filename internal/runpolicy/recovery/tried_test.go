// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

// triedCall returns a call with its result, a success if there is no code.
func triedCall(tool, arguments, code, output string) calls.Recorded {
	return calls.Recorded{Call: &v1alpha1.ToolCall{Tool: tool, Arguments: arguments}, Result: &v1alpha1.ToolResult{OK: code == "", ErrorCode: code, Output: output}}
}

func TestTried(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a line of output\n", 4000) + "FAILED test_totals - assert 3 == 4"
	for name, tt := range map[string]struct {
		calls []calls.Recorded
		want  []string
	}{
		"none": {},
		"different ends": {
			[]calls.Recorded{triedCall("bash", `{"command":"make"}`, "exit_2", "no rule"), triedCall("bash", `{"command":"make"}`, "", "built")},
			[]string{`- "bash" "{\"command\":\"make\"}" ended with "exit_2": "no rule"`, `- "bash" "{\"command\":\"make\"}" succeeded: "built"`},
		},
		"one call again and again does not push out the others": {
			append([]calls.Recorded{triedCall("edit", `{"path":"a"}`, "no_match", "not there")}, slices.Repeat([]calls.Recorded{triedCall("read", `{"path":"b"}`, "not_found", "no b")}, 40)...),
			[]string{`- "edit" "{\"path\":\"a\"}" ended with "no_match": "not there"`, `- "read" "{\"path\":\"b\"}" ended with "not_found", 40 times in a row: "no b"`},
		},
		"no output": {[]calls.Recorded{triedCall("bash", "{}", "", "")}, []string{`- "bash" "{}" succeeded`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range triedIn(tt.calls) {
				got = append(got, c.String())
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	got := triedIn([]calls.Recorded{triedCall("bash", "{}", "exit_1", long)})[0].String()
	if !strings.Contains(got, "a line of output") || !strings.HasSuffix(got, `assert 3 == 4"`) || len(got) > 600 {
		t.Errorf("of a long output: %s", got)
	}
	var many []calls.Recorded
	for i := range 100 {
		many = append(many, triedCall("bash", fmt.Sprint(i), "", ""))
	}
	if got := triedIn(many); len(got) != maxTried || got[maxTried-1].arguments != "99" {
		t.Errorf("of many: %+v", got)
	}
}

// The newest calls are named if not all of them fit.
func TestTriedTakesTheRoomThereIs(t *testing.T) {
	t.Parallel()
	text := &boundedText{left: 200}
	text.tried(triedIn([]calls.Recorded{triedCall("bash", "first", "exit_1", strings.Repeat("x", 100)), triedCall("bash", "second", "exit_1", "y")}))
	if got := text.String(); !strings.Contains(got, "second") || strings.Contains(got, "first") || text.left < 0 {
		t.Errorf("%d left: %s", text.left, got)
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	many := []calls.Recorded{}
	for i := range 2 * maxChanged {
		many = append(many, triedCall("write", fmt.Sprintf(`{"path":"f%d"}`, i), "", ""))
	}
	for name, tt := range map[string]struct {
		calls []calls.Recorded
		want  []string
	}{
		"none":       {},
		"each once":  {[]calls.Recorded{triedCall("write", `{"path":"./a"}`, "", ""), triedCall("edit", `{"path":"a"}`, "", ""), triedCall("edit", `{"path":"b"}`, "", "")}, []string{"a", "b"}},
		"not failed": {[]calls.Recorded{triedCall("edit", `{"path":"a"}`, "no_match", "")}, nil},
		"not read":   {[]calls.Recorded{triedCall("read", `{"path":"a"}`, "", ""), triedCall("bash", `{"path":"b"}`, "", "")}, nil},
		"a patch": {
			[]calls.Recorded{triedCall("patch", `{"patch":"--- a/x\n+++ b/x\t2026\n@@\n-1\n+2\n--- a/gone\n+++ /dev/null\n"}`, "", "")}, []string{"x"},
		},
		"another patch": {
			[]calls.Recorded{triedCall("patch", `{"patch":"*** Begin Patch\n*** Update File: c.py\n*** Move to: d.py\n*** Add File: e.py\n"}`, "", "")}, []string{"c.py", "d.py", "e.py"},
		},
		"no JSON": {[]calls.Recorded{triedCall("write", `{"path":`, "", "")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, changedIn(tt.calls)); d != "" {
				t.Error(d)
			}
		})
	}
	if got := changedIn(many); len(got) != maxChanged {
		t.Errorf("%d of many", len(got))
	}
}
