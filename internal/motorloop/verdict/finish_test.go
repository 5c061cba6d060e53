// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"slices"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestFinishedFiles(t *testing.T) {
	t.Parallel()
	call := func(args string, ok bool) *turn.Turn {
		return &turn.Turn{Calls: []turn.Call{{Tool: "bash"}, {Tool: "finish", Arguments: args}}, Results: []*toolapi.Result{{OK: true}, {OK: ok}}}
	}
	const one, other = `{"status":"Succeeded","summary":"x","files":["a","b"]}`, `{"status":"Partial","summary":"x","files":["c"]}`
	for name, tt := range map[string]struct {
		turns []*turn.Turn
		want  []string
	}{
		"none":         {nil, nil},
		"not accepted": {[]*turn.Turn{call(one, false)}, nil},
		"accepted":     {[]*turn.Turn{call(other, false), call(one, true), {Closes: true}}, []string{"a", "b"}},
		"without any":  {[]*turn.Turn{call(`{"status":"Failed","summary":"x"}`, true)}, nil},
	} {
		if got := FinishedFiles(tt.turns); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
