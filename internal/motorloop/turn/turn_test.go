// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

func TestCloneTurnSharesNothing(t *testing.T) {
	turn := &Turn{Asks: []Ask{{Execution: "a"}}, Unknown: []Unknown{{Execution: "u"}}}
	clone := Clone(turn)
	clone.PutAsk(Ask{Execution: "a", Outcome: AskDenied})
	clone.PutAsk(Ask{Execution: "b"})
	if d := cmp.Diff([]Ask{{Execution: "a"}}, turn.Asks); d != "" {
		t.Error(d)
	}
	want := []Ask{{Execution: "a", Outcome: AskDenied}, {Execution: "b"}}
	if d := cmp.Diff(want, clone.Asks, cmpopts.EquateEmpty()); d != "" || !slices.Equal(turn.Unknown, clone.Unknown) {
		t.Error(d)
	}
}

// Each text that a model, a tool or a person's answer put there counts.
func TestSizeCountsEachText(t *testing.T) {
	t.Parallel()
	said := &Turn{
		Content: "12", Value: "3", Notes: []string{"4", "56"}, Calls: []Call{{Arguments: "789"}, {Arguments: "0"}},
		Results: []*toolapi.Result{{Output: "12345"}, nil},
	}
	if n := said.Size(); n != 15 {
		t.Errorf("%d bytes", n)
	}
}
