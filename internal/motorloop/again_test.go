// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A read-only call whose failure may pass is repeated before the model sees the failure, and no other call is.
func TestReadsAreMadeOnceMore(t *testing.T) {
	t.Parallel()
	busy := toolapi.Result{ErrorCode: toolapi.CodeTimeout, Retryable: true, Output: "busy"}
	for name, tt := range map[string]struct {
		tool, arguments string
		first, second   toolapi.Result
		calls           string
		ok              bool
	}{
		"it passes":            {"read", `{"path":"a"}`, busy, toolapi.Result{OK: true, Output: "x"}, "a1-s1-c0 a1-s1-c0-t", true},
		"it does not":          {"read", `{"path":"a"}`, busy, busy, "a1-s1-c0 a1-s1-c0-t", false},
		"nobody saw the other": {"read", `{"path":"a"}`, busy, toolapi.Result{ErrorCode: toolapi.CodeOutcomeUnknown}, "a1-s1-c0 a1-s1-c0-t", false},
		"it cannot pass":       {"read", `{"path":"a"}`, toolapi.Result{ErrorCode: toolapi.CodeNotFound}, busy, "a1-s1-c0", false},
		"it does something":    {"bash", `{"command":"x"}`, busy, busy, "a1-s1-c0", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, config.Config{Tools: []string{"bash", "read"}}, func(c toolapi.Call) toolapi.Result {
				if strings.HasSuffix(c.ID, againSuffix) {
					return tt.second
				}
				return tt.first
			}, says("", call(tt.tool, tt.arguments)), says("done"))
			mustRun(t, w, nil)
			res := w.journal.load()[0].Results[0]
			if got := strings.Join(w.sandbox.executedIDs(), " "); got != tt.calls || res.OK != tt.ok || res.ErrorCode == toolapi.CodeOutcomeUnknown {
				t.Errorf("made %s, result %+v", got, res)
			}
		})
	}
}
