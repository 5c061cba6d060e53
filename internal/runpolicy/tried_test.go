// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
)

func TestTried(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a line of output\n", 4000) + "FAILED test_totals - assert 3 == 4"
	for name, tt := range map[string]struct {
		calls []calls.Recorded
		want  []string
	}{
		"none": {},
		"different ends": {
			[]calls.Recorded{made("bash", `{"command":"make"}`, "exit_2", "no rule"), made("bash", `{"command":"make"}`, "", "built")},
			[]string{`- "bash" "{\"command\":\"make\"}" ended with "exit_2": "no rule"`, `- "bash" "{\"command\":\"make\"}" succeeded: "built"`},
		},
		"one call again and again does not push out the others": {
			append([]calls.Recorded{made("edit", `{"path":"a"}`, "no_match", "not there")}, slices.Repeat([]calls.Recorded{made("read", `{"path":"b"}`, "not_found", "no b")}, 40)...),
			[]string{`- "edit" "{\"path\":\"a\"}" ended with "no_match": "not there"`, `- "read" "{\"path\":\"b\"}" ended with "not_found", 40 times in a row: "no b"`},
		},
		"no output": {[]calls.Recorded{made("bash", "{}", "", "")}, []string{`- "bash" "{}" succeeded`}},
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
	got := triedIn([]calls.Recorded{made("bash", "{}", "exit_1", long)})[0].String()
	if !strings.Contains(got, "a line of output") || !strings.HasSuffix(got, `assert 3 == 4"`) || len(got) > 600 {
		t.Errorf("of a long output: %s", got)
	}
	var many []calls.Recorded
	for i := range 100 {
		many = append(many, made("bash", fmt.Sprint(i), "", ""))
	}
	if got := triedIn(many); len(got) != maxTried || got[maxTried-1].arguments != "99" {
		t.Errorf("of many: %+v", got)
	}
}

// The newest calls are named if not all of them fit.
func TestTriedTakesTheRoomThereIs(t *testing.T) {
	t.Parallel()
	text := &boundedText{left: 200}
	text.tried(triedIn([]calls.Recorded{made("bash", "first", "exit_1", strings.Repeat("x", 100)), made("bash", "second", "exit_1", "y")}))
	if got := text.String(); !strings.Contains(got, "second") || strings.Contains(got, "first") || text.left < 0 {
		t.Errorf("%d left: %s", text.left, got)
	}
}

func TestChanged(t *testing.T) {
	t.Parallel()
	many := []calls.Recorded{}
	for i := range 2 * maxChanged {
		many = append(many, made("write", fmt.Sprintf(`{"path":"f%d"}`, i), "", ""))
	}
	for name, tt := range map[string]struct {
		calls []calls.Recorded
		want  []string
	}{
		"none":       {},
		"each once":  {[]calls.Recorded{made("write", `{"path":"./a"}`, "", ""), made("edit", `{"path":"a"}`, "", ""), made("edit", `{"path":"b"}`, "", "")}, []string{"a", "b"}},
		"not failed": {[]calls.Recorded{made("edit", `{"path":"a"}`, "no_match", "")}, nil},
		"not read":   {[]calls.Recorded{made("read", `{"path":"a"}`, "", ""), made("bash", `{"path":"b"}`, "", "")}, nil},
		"a patch": {
			[]calls.Recorded{made("patch", `{"patch":"--- a/x\n+++ b/x\t2026\n@@\n-1\n+2\n--- a/gone\n+++ /dev/null\n"}`, "", "")}, []string{"x"},
		},
		"another patch": {
			[]calls.Recorded{made("patch", `{"patch":"*** Begin Patch\n*** Update File: c.py\n*** Move to: d.py\n*** Add File: e.py\n"}`, "", "")}, []string{"c.py", "d.py", "e.py"},
		},
		"no JSON": {[]calls.Recorded{made("write", `{"path":`, "", "")}, nil},
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
