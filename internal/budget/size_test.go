// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The status is written for every share, so its parts together have a bound, with the longest names and the largest numbers.
func TestTheStatusHasABound(t *testing.T) {
	t.Parallel()
	const most = 256 << 10
	b := &v1alpha1.Budget{PerDay: amount(math.MaxInt64, ""), PerRequester: amount(math.MaxInt64, "")}
	for name, long := range map[string]int{"short names": 1, "long names": 60} {
		st := &v1alpha1.BudgetStatus{}
		var err error
		shares := 0
		for ; err == nil && shares < 2*maxOpen; shares++ {
			run := runOf(fmt.Sprintf("%04d%s", shares, strings.Repeat("n", 4*long-3)), raiseOf(day+"1", 1, ""), raiseOf("budget-requester-20261127-1", 1, ""), raiseOf("budget-month-202611-1", 1, ""))
			run.UID = types.UID(fmt.Sprintf("%036d", shares))
			run.Spec.Requester.Username = fmt.Sprintf("%04d%s", shares, strings.Repeat("r", 2*long))
			h := Holder{Run: run, Epoch: math.MaxInt64, Asked: []string{day + "1", "budget-requester-20261127-1", "budget-month-202611-1"}}
			_, _, err = Reserve(st, b, h, Spent{1, 1}, noon)
		}
		if !errors.Is(err, ErrFull) || len(st.Open) < 150 {
			t.Errorf("%s: %d shares, %v", name, len(st.Open), err)
		}
		for i := range st.Open {
			e := &st.Open[i]
			e.SettledTokens, e.ReservedTokens, e.CallTokens = math.MaxInt64, math.MaxInt64, math.MaxInt64
			e.SettledCost, e.ReservedCost, e.CallCost = Amount(maxCost), Amount(maxCost), Amount(maxCost)
		}
		for i := range st.Requesters {
			st.Requesters[i].Tokens, st.Requesters[i].Cost = math.MaxInt64, Amount(maxCost)
		}
		if raw, err := json.Marshal(st); err != nil || len(raw) > most {
			t.Errorf("%s: %d bytes, %v", name, len(raw), err)
		}
	}
}
