// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// The result of one more call a, after turns as for played.
func TestRepeatedCalls(t *testing.T) {
	const denied, expired = "a>!approval_denied", "a>!approval_expired"
	cases := map[string]struct {
		turns   []string
		refused bool
	}{
		"first":                        {},
		"second":                       {[]string{denied}, false},
		"third":                        {[]string{denied, denied}, true},
		"third in one turn":            {[]string{denied + " " + denied}, true},
		"nobody answered":              {[]string{expired, denied}, true},
		"an answer without a call":     {[]string{denied, "", denied}, true},
		"fourth":                       {[]string{denied, denied, "a>!repeated_call"}, true},
		"fifth":                        {[]string{denied, denied, "a>!repeated_call a>!repeated_call"}, true},
		"allowed in between":           {[]string{denied, "a>x"}, false},
		"other arguments":              {[]string{denied, "b>!approval_denied"}, false},
		"another call in between":      {[]string{denied, "b>x", denied}, false},
		"refused, then another":        {[]string{denied, denied, "a>!repeated_call", "b>x"}, false},
		"equal arguments":              {[]string{denied, "A>!approval_denied"}, true},
		"the same result":              {[]string{"a>x", "a>x", "a>x"}, false},
		"a failure":                    {[]string{"a>!no_match", "a>!no_match"}, false},
		"denied, failed before":        {[]string{"a>!no_match", denied}, false},
		"a domain":                     {[]string{"a>!domain_denied", "a>!domain_denied"}, true},
		"nobody was asked":             {[]string{"a>!domain_not_allowed", "a>!domain_not_allowed"}, false},
		"denied before, made and done": {[]string{denied, denied, "a>x"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			turns := played(tc.turns...)
			next := &turn.Turn{Calls: []turn.Call{{Tool: "bash", Arguments: `{"command":"a"}`}}, Results: []*toolapi.Result{nil}}
			if got := Repeats(append(turns, next), len(turns), 0); got != tc.refused {
				t.Errorf("refused: %v", got)
			}
			next.Calls[0].Tool = "code"
			if Repeats(append(turns, next), len(turns), 0) {
				t.Error("another tool is refused")
			}
		})
	}
}

func TestCanonicalArguments(t *testing.T) {
	same := [][2]string{
		{`{"a":1,"b":"<"}`, " {\"b\": \"\\u003c\", \"a\":1}\n"},
		{"", "{}"},
		{"not JSON", "not JSON"},
	}
	for _, pair := range same {
		if canonical(pair[0]) != canonical(pair[1]) {
			t.Errorf("%q and %q are not the same", pair[0], pair[1])
		}
	}
	if canonical(`{"a":9007199254740993}`) == canonical(`{"a":9007199254740992}`) {
		t.Error("large numbers are the same")
	}
}
