// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A request for a hint has the commands and the end of their output, where test programs report failures.
func TestHintsSeeWhatCounts(t *testing.T) {
	t.Parallel()
	step := &turn.Turn{Calls: []turn.Call{bash("python3 -m pytest -q tests/test_billing.py")}, Results: []*toolapi.Result{{
		ErrorCode: "exit_1", Output: strings.Repeat("a line of the traceback\n", 500) + "FAILED test_totals - assert 3 == 4",
	}}}
	req := hintRequest(config.Config{Task: "Mend it."}, []*turn.Turn{step, step, step, step, step}, &outcome.Failure{Category: outcome.Incomplete, Reason: outcome.ReasonFailed})
	said := req.Messages[1].Content
	if strings.Count(said, "pytest -q tests/test_billing.py") != 5 || strings.Count(said, "assert 3 == 4") != 5 {
		t.Error(said)
	}
	if len(said) > hintRecord+hintTask {
		t.Errorf("%d bytes", len(said))
	}
}
