// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"slices"
	"strconv"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// maxRaises is how many runs can raise the bound of a period, and those of all requesters together.
const maxRaises = 64

// raise notes what people added to the bounds of the present periods by answers to what the run asked. Each answer is noted once, and a run has one entry in a list:
// the sum, with the id of the last answer.
func raise(st *v1alpha1.BudgetStatus, h Holder) {
	note := func(list *[]v1alpha1.BudgetRaise, room int, prefix string) {
		i := raiseOfRun(*list, string(h.Run.UID))
		answers := responses(h.Run, prefix)
		slices.SortStableFunc(answers, func(a, b *v1alpha1.Response) int { return number(a.ID, prefix) - number(b.ID, prefix) })
		for _, r := range answers {
			switch {
			case !slices.Contains(h.Asked, r.ID), i >= 0 && number(r.ID, prefix) <= number((*list)[i].ID, prefix):
				continue
			case i < 0 && room <= 0:
				return
			case i < 0:
				i = len(*list)
				*list = append(*list, v1alpha1.BudgetRaise{RunUID: string(h.Run.UID)})
			}
			(*list)[i].ID = r.ID
			addTo(&(*list)[i].Tokens, &(*list)[i].Cost, amountOf(r.Budget))
		}
	}
	note(&st.Day.Raises, maxRaises-len(st.Day.Raises), askPrefix(ScopeDay, st.Day.Period))
	note(&st.Month.Raises, maxRaises-len(st.Month.Raises), askPrefix(ScopeMonth, st.Month.Period))
	note(&requester(st, nameOf(h.Run)).Raises, maxRaises-requesterRaises(st), askPrefix(ScopeRequester, st.Day.Period))
}

// raiseOfRun returns the index of a run's entry, -1 if it has none.
func raiseOfRun(list []v1alpha1.BudgetRaise, uid string) int {
	return slices.IndexFunc(list, func(r v1alpha1.BudgetRaise) bool { return r.RunUID == uid })
}

// requesterRaises returns how many raises the requesters have together.
func requesterRaises(st *v1alpha1.BudgetStatus) int {
	n := 0
	for i := range st.Requesters {
		n += len(st.Requesters[i].Raises)
	}
	return n
}

// number returns the number of an ask. Those of a run and a bound go up.
func number(id, prefix string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(id, prefix))
	if err != nil {
		return 0
	}
	return n
}
