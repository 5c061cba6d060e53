// SPDX-License-Identifier: Apache-2.0

package turn

import (
	"reflect"
	"testing"
)

// An execution can be asked about twice: whether it may be made, and then what came of it. Neither ask replaces the other.
func TestAsksOfATurn(t *testing.T) {
	t.Parallel()
	turn := &Turn{}
	for _, a := range []Ask{
		{Kind: AskApproval, Execution: "c0", Outcome: AskApproved}, {Kind: AskUnknown, Execution: "c0"}, {Kind: AskApproval, Execution: "c0-r1"},
		{Kind: AskUnknown, Execution: "c0", Outcome: AskAnswered},
	} {
		turn.PutAsk(a)
		if got, found := turn.Ask(a.Kind, a.Execution); !found || !reflect.DeepEqual(got, a) {
			t.Errorf("of %+v there is %+v", a, got)
		}
	}
	if a, _ := turn.Ask(AskApproval, "c0"); len(turn.Asks) != 3 || a.Outcome != AskApproved {
		t.Errorf("%+v", turn.Asks)
	}
	if a, found := turn.Ask(AskUnknown, "c0-r1"); found {
		t.Errorf("found %+v", a)
	}
}
