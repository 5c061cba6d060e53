// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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
