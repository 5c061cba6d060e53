// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"strings"
	"testing"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, want string }{
		"short":       {"all of it", "all of it"},
		"long":        {"begin" + strings.Repeat("-", 100) + "the end", "begin---- … --the end"},
		"wide":        {strings.Repeat("漢", 40), "漢漢漢 … 漢漢漢"},
		"six a byte":  {strings.Repeat("<", 40), "< … <"},
		"just enough": {strings.Repeat("x", 24), strings.Repeat("x", 24)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := ends(tt.in, 24)
			if got != tt.want || !utf8.ValidString(got) || encodedLen(got) > 24 {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A request for a hint has the commands and the end of their output, where test programs report failures.
func TestHintsSeeWhatCounts(t *testing.T) {
	t.Parallel()
	turn := &Turn{Calls: []Call{bash("python3 -m pytest -q tests/test_billing.py")}, Results: []*toolapi.Result{{
		ErrorCode: "exit_1", Output: strings.Repeat("a line of the traceback\n", 500) + "FAILED test_totals - assert 3 == 4",
	}}}
	req := hintRequest(Config{Task: "Mend it."}, []*Turn{turn, turn, turn, turn, turn}, &Failure{Category: Incomplete, Reason: ReasonFailed})
	said := req.Messages[1].Content
	if strings.Count(said, "pytest -q tests/test_billing.py") != 5 || strings.Count(said, "assert 3 == 4") != 5 {
		t.Error(said)
	}
	if len(said) > hintRecord+hintTask {
		t.Errorf("%d bytes", len(said))
	}
}
