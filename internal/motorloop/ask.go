// SPDX-License-Identifier: Apache-2.0

package motorloop

import (
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// ParseQuestion gives the arguments of an ask_user call that Run returned as waiting.
func ParseQuestion(c Call) (toolapi.AskUserArgs, error) {
	return toolapi.ParseAskUser(c.Arguments)
}

// answerQuestions fills in the results of the questions that have an answer. It returns the first call that waits for a
// person, and whether it filled in any. Requests for domains without a result have no answer: see requestDomain.
func answerQuestions(t *Turn, answers map[string]string) (waiting *Call, answered bool) {
	for i := range t.Calls {
		if t.Results[i] != nil || t.Calls[i].Tool == toolapi.ToolFinish {
			continue
		}
		answer, ok := answers[t.Calls[i].ID]
		if !ok || t.Calls[i].Tool != toolapi.ToolAskUser {
			if waiting == nil {
				c := t.Calls[i]
				waiting = &c
			}
			continue
		}
		t.Results[i] = &toolapi.Result{
			OK:         true,
			Output:     cut(replied(t.Calls[i], strings.ToValidUTF8(answer, "\uFFFD")), toolapi.MaxOutputBytes, outputShare(t), outputCutMark),
			Provenance: toolapi.ProvenanceUser,
		}
		answered = true
	}
	return waiting, answered
}

// replied is the answer to a question, word for word, with how it came: a bare number or word could be taken for data.
func replied(c Call, answer string) string {
	how := "The person replied: "
	if q, err := ParseQuestion(c); err == nil && len(q.Options) > 0 {
		how = "The person replied, with none of the options: "
		if slices.Contains(q.Options, strings.TrimSpace(answer)) {
			how = "The person chose an option: "
		}
	}
	return how + answer
}
