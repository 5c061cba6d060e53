// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const day = "budget-day-20261127-"

// A person who may approve one run decides about the bound of all runs only where that run asks it.
func TestAnAnswerToWhatWasNotAskedRaisesNothing(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{PerDay: amount(100, "")}, &v1alpha1.BudgetStatus{}
	h := Holder{Run: runOf("a", raiseOf(day+"1", 1000, "")), Epoch: 1}
	if _, short, _ := Reserve(st, b, h, Spent{Tokens: 101}, noon); short == nil || len(st.Day.Raises) != 0 {
		t.Errorf("%+v, %+v", short, st.Day.Raises)
	}
	h.Asked = []string{day + "1"}
	mustReserve(t, st, b, h, Spent{Tokens: 101}, noon)
}

func TestTheRaisesOfARunAreOneEntry(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{PerDay: amount(100, "")}, &v1alpha1.BudgetStatus{}
	var answers []v1alpha1.Response
	h := Holder{Epoch: 1, Remembers: true}
	for i := range 2 * maxRaises {
		id := fmt.Sprint(day, i+1)
		answers, h.Asked = append(answers, raiseOf(id, 1, "")), append(h.Asked, id)
		h.Run = runOf("a", answers...)
		mustReserve(t, st, b, h, Spent{Tokens: 101 + int64(i)}, noon)
	}
	if r := st.Day.Raises; len(r) != 1 || r[0].Tokens != 2*maxRaises || r[0].ID != fmt.Sprint(day, 2*maxRaises) {
		t.Errorf("%+v", r)
	}
}

// A run whose raise could not be noted would ask again without end.
func TestBeyondTheNumberOfRaisesARunAsksNothing(t *testing.T) {
	t.Parallel()
	b, st := &v1alpha1.Budget{PerDay: amount(100, "")}, &v1alpha1.BudgetStatus{}
	for i := range maxRaises {
		h := Holder{Run: runOf(fmt.Sprint(i), raiseOf(day+"1", 1, "")), Epoch: 1, Asked: []string{day + "1"}}
		if _, _, err := Reserve(st, b, h, Spent{Tokens: 1000}, noon); err != nil {
			t.Fatal(err)
		}
	}
	another := Holder{Run: runOf("another", raiseOf(day+"1", 1000, "")), Epoch: 1, Asked: []string{day + "1"}}
	_, short, _ := Reserve(st, b, another, Spent{Tokens: 1000}, noon)
	if short == nil || !short.Hard || !short.Full || len(st.Day.Raises) != maxRaises || !strings.Contains(short.Message(""), "64 other runs have raised") {
		t.Errorf("%+v", short)
	}
	// A run that has an entry can raise it further.
	if _, short, _ = Reserve(st, b, Holder{Run: runOf("0"), Epoch: 1}, Spent{Tokens: 1000}, noon); short == nil || short.Hard {
		t.Errorf("%+v", short)
	}
}
