// SPDX-License-Identifier: Apache-2.0

package script

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Aside is a request that is no turn of the conversation: the model is asked about it, from outside and without tools, or for a summary
// at its end.
type Aside string

// The asides that there are.
const (
	AsideSummary Aside = "summary"
	AsidePartial Aside = "partial"
	AsideHint    Aside = "hint"
)

// asideSigns tell the asides apart by their system prompt, the first that is found decides.
var asideSigns = []struct {
	aside Aside
	sign  *regexp.Regexp
}{
	{AsideHint, regexp.MustCompile(`(?i)\bhas failed\b|\bhint\b`)},
	{AsidePartial, regexp.MustCompile(`(?i)\bno answers left\b|\bpartial\b`)},
	{AsideSummary, regexp.MustCompile(`(?i)\bolder answers\b|\bsummar`)},
}

// asideAnswers are what is said in them, whatever the script is. ANSWERS is how many answers the request retells.
var asideAnswers = map[Aside]string{
	AsideSummary: "Answers 1 to ANSWERS went as planned. What they did is in the workspace, and the plan goes on.",
	AsidePartial: "After ANSWERS answers a part of the plan is done, and the rest is not.",
	AsideHint:    "What was tried does not work however often it is made. Do it in another way.",
}

// summarySign begins what a request for a summary ends with that repeats the whole conversation.
const summarySign = "Your conversation is nearly full. Write the summary "

// AsksForSummary reports whether a request repeats the whole conversation and asks for a summary of it. Such a request may have tools.
func AsksForSummary(messages []Message) bool {
	n := len(messages)
	return n > 2 && messages[n-1].Role == RoleUser && strings.Contains(messages[n-1].Content, summarySign)
}

// AsideOf says which aside a request without tools is, or "" for a turn. An aside retells the conversation as text.
func AsideOf(messages []Message) Aside {
	if slices.ContainsFunc(messages, func(m Message) bool { return m.Role == RoleAssistant }) {
		return ""
	}
	system := systemText(messages)
	for _, s := range asideSigns {
		if s.sign.MatchString(system) {
			return s.aside
		}
	}
	return ""
}

// Play returns the answer to an aside. It depends on nothing but its arguments.
func (a Aside) Play(messages []Message) *Play {
	return &Play{
		Turn: -1, Position: -1, TurnName: string(a), Conversation: conversationKey(messages), FinishReason: "stop",
		Content: strings.ReplaceAll(asideAnswers[a], "ANSWERS", strconv.Itoa(answers(messages))),
	}
}

var answerNumber = regexp.MustCompile(`"answer":(\d{1,6})`)

// answers is the number of the last answer that an aside retells, or how many the conversation has, 0 if there is none.
func answers(messages []Message) int {
	last := 0
	for _, m := range messages {
		if m.Role == RoleAssistant {
			last++
		}
		for _, found := range answerNumber.FindAllStringSubmatch(m.Content, -1) {
			if n, err := strconv.Atoi(found[1]); err == nil {
				last = n
			}
		}
	}
	return last
}
