// SPDX-License-Identifier: Apache-2.0

package script

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
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

// defaultAsides are what is said if the script does not say it.
var defaultAsides = map[Aside]answer{
	AsideSummary: plainAnswer("Answers 1 to {{ .Answers }} went as planned. What they did is in the workspace, and the plan goes on."),
	AsidePartial: plainAnswer("After {{ .Answers }} answers a part of the plan is done, and the rest is not."),
	AsideHint:    plainAnswer("What was tried does not work however often it is made. Do it in another way."),
}

func plainAnswer(text string) answer {
	return answer{content: template.Must(template.New("").Funcs(funcs).Parse(text))}
}

// summarySign begins what a request for a summary ends with that repeats the whole conversation.
const summarySign = "Your conversation is nearly full. Write the summary "

// AsksForSummary says whether a request repeats the whole conversation and asks for a summary of it. Such a request may have tools.
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

// Aside gives the answer to an aside. Like Play it depends on nothing but its arguments.
func (s *Script) Aside(aside Aside, messages []Message) (*Play, error) {
	play := &Play{Turn: -1, Position: -1, TurnName: string(aside), Conversation: conversationKey(messages)}
	chosen, ok := s.asides[aside]
	if !ok {
		chosen = defaultAsides[aside]
	}
	return play, s.say(play, &chosen, data{Turn: -1, Messages: messages})
}

var answerNumber = regexp.MustCompile(`"answer":(\d{1,6})`)

// Answers is the number of the last answer that an aside retells, or how many the conversation has, 0 if there is none.
func (d data) Answers() int {
	last := 0
	for _, m := range d.Messages {
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

// asides compiles what the script says in asides.
func (c *checker) asides(raw map[string]rawAnswer) map[Aside]answer {
	p := field{"asides"}
	out := make(map[Aside]answer, len(raw))
	for name, r := range raw {
		if _, known := defaultAsides[Aside(name)]; !known {
			c.fail(p.at(name), "is neither %s nor %s nor %s", AsideSummary, AsidePartial, AsideHint)
		}
		if r.When != nil || r.Goto != "" {
			c.fail(p.at(name), "takes no when and no goto")
		}
		out[Aside(name)] = c.answer(p.at(name), r)
	}
	return out
}
