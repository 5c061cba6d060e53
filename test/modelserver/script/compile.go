// SPDX-License-Identifier: Apache-2.0

package script

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"time"
)

const (
	maxTurns = 1000
	maxCalls = 128
)

var (
	scriptName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$`)
	finishes   = []string{"", succeeded, "Partial", "Failed", staysText}
	follows    = []string{"", followCount, followCallID}
)

// compile checks all of a script and gathers every error, so that its author
// does not meet them one by one.
func (c *checker) compile(raw rawScript) *Script {
	s := &Script{
		Name:        raw.Name,
		Description: raw.Description,
		Window:      raw.Window,
		follow:      raw.Follow,
		position:    map[string]int{},
	}
	if !scriptName.MatchString(s.Name) {
		c.fail(field{"name"}, "%q is not a name (letters, digits, . _ -, at most 63)", s.Name)
	}
	if !slices.Contains(follows, raw.Follow) {
		c.fail(field{"follow"}, "%q is neither %s nor %s", raw.Follow, followCount, followCallID)
	}
	if raw.Window < 0 {
		c.fail(field{"window"}, "is negative")
	}
	c.turns(s, raw.Turns)
	c.gotos(s, raw)
	return s
}

func (c *checker) turns(s *Script, raw []rawTurn) {
	if len(raw) == 0 {
		c.fail(field{"turns"}, "there are none")
	}
	for i := range raw {
		p := field{"turns", i}
		t := turn{name: raw[i].Name, alternatives: c.alternatives(p, raw[i])}
		if t.name != "" {
			if _, taken := s.position[t.name]; taken {
				c.fail(p.at("name"), "%q is the name of an earlier turn", t.name)
			}
			s.position[t.name] = len(s.turns)
		}
		times := 1
		if raw[i].Repeat != nil {
			times = *raw[i].Repeat
		}
		if times < 1 || len(s.turns)+times > maxTurns {
			c.fail(p.at("repeat"), "has to be 1 or more, and all turns together at most %d", maxTurns)
			times = 1
		}
		for range times {
			s.turns = append(s.turns, t)
		}
	}
}

func (c *checker) alternatives(p field, raw rawTurn) []answer {
	if len(raw.Alternatives) == 0 {
		return []answer{c.answer(p, raw.rawAnswer)}
	}
	if !reflect.ValueOf(raw.rawAnswer).IsZero() {
		c.fail(p.at("alternatives"), "stands beside an answer; put that into the list")
	}
	return c.answers(p.at("alternatives"), raw.Alternatives)
}

func (c *checker) answers(p field, raw []rawAnswer) []answer {
	answers := make([]answer, len(raw))
	for i := range raw {
		answers[i] = c.answer(p.at(i), raw[i])
	}
	return answers
}

func (c *checker) answer(p field, raw rawAnswer) answer {
	a := answer{
		when:    c.when(p.at("when"), raw.When),
		content: c.template(p.at("content"), raw.Content),
		calls:   c.calls(p.at("toolCalls"), raw.ToolCalls),
		finish:  raw.Finish,
		faults:  c.faults(p, raw),
		goTo:    raw.Goto,
	}
	if raw.Content == "" && len(raw.ToolCalls) == 0 && needsAnswer(a.faults) {
		c.fail(p, "has neither content nor toolCalls (for an empty answer use the fault %s)", FaultEmpty)
	}
	if !slices.Contains(finishes, raw.Finish) {
		c.fail(p.at("finish"), "%q is not one of %s", raw.Finish, strings.Join(finishes[1:], " "))
	}
	return a
}

// needsAnswer is false only if every request gets a fault that is not made of
// the answer.
func needsAnswer(faults Faults) bool {
	for _, f := range faults {
		if faultUsesAnswer[f.Kind] {
			return true
		}
		if f.Times == 0 {
			return false
		}
	}
	return true
}

func (c *checker) when(p field, raw *rawWhen) when {
	if raw == nil {
		return when{}
	}
	w := when{
		lastTool:       raw.LastTool,
		lastToolOK:     raw.LastToolOK,
		lastToolOutput: c.regexp(p.at("lastToolOutputMatches"), raw.LastToolOutputMatches),
		lastUser:       c.regexp(p.at("lastUserMatches"), raw.LastUserMatches),
		system:         c.regexp(p.at("systemMatches"), raw.SystemMatches),
	}
	if *raw == (rawWhen{}) {
		c.fail(p, "is empty")
	}
	return w
}

func (c *checker) calls(p field, raw []rawCall) []call {
	if len(raw) > maxCalls {
		c.fail(p, "has %d calls; at most %d are allowed", len(raw), maxCalls)
	}
	calls := make([]call, len(raw))
	for i, r := range raw {
		q := p.at(i)
		if r.Name == "" {
			c.fail(q.at("name"), "is missing")
		}
		if r.ArgumentsRaw != nil && r.Arguments != nil {
			c.fail(q.at("argumentsRaw"), "stands beside arguments; only one of them can be sent")
		}
		calls[i] = call{id: r.ID, name: r.Name}
		if r.ArgumentsRaw != nil {
			calls[i].raw = c.template(q.at("argumentsRaw"), *r.ArgumentsRaw)
			continue
		}
		arguments := r.Arguments
		if arguments == nil {
			arguments = map[string]any{}
		}
		calls[i].arguments = c.value(q.at("arguments"), arguments)
	}
	return calls
}

// value compiles every string in an arguments tree that has an action in it.
func (c *checker) value(p field, v any) any {
	switch v := v.(type) {
	case string:
		if strings.Contains(v, "{{") {
			return c.template(p, v)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = c.value(p.at(key), item)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = c.value(p.at(i), item)
		}
		return out
	case map[any]any:
		c.fail(p, "has a key that is not a string; JSON has no such thing")
	case time.Time:
		// YAML reads 2026-01-02 as a time; sending it as a timestamp would surprise.
		c.fail(p, "is a date to YAML; put it in quotes")
	}
	return v
}

func (c *checker) faults(p field, raw rawAnswer) Faults {
	if raw.Fault != nil && raw.Faults != nil {
		c.fail(p.at("faults"), "stands beside fault; use one of them")
	}
	if raw.Fault != nil {
		return Faults{c.fault(p.at("fault"), *raw.Fault)}
	}
	faults := make(Faults, len(raw.Faults))
	for i, r := range raw.Faults {
		q := p.at("faults", i)
		faults[i] = c.fault(q, r)
		if r.Times == 0 && i < len(raw.Faults)-1 {
			c.fail(q.at("times"), "is missing, so the faults after it never come")
		}
	}
	return faults
}

// gotos checks targets after all names are known.
func (c *checker) gotos(s *Script, raw rawScript) {
	check := func(p field, target string) {
		if target == "" {
			return
		}
		if _, ok := s.position[target]; !ok {
			c.fail(p.at("goto"), "there is no turn named %q", target)
		}
		if s.follow == followCallID {
			c.fail(p.at("goto"), "does not go with follow: %s, which cannot tell where a jump came from", followCallID)
		}
	}
	for i := range raw.Turns {
		check(field{"turns", i}, raw.Turns[i].Goto)
		for j := range raw.Turns[i].Alternatives {
			check(field{"turns", i, "alternatives", j}, raw.Turns[i].Alternatives[j].Goto)
		}
	}
}

func (c *checker) template(p field, text string) *template.Template {
	t, err := template.New(p.String()).Option("missingkey=error").Funcs(funcs).Parse(text)
	if err != nil {
		// The package begins with the template's name, which is p, and goes on with its line.
		c.fail(p, "template line %s", strings.TrimPrefix(err.Error(), "template: "+p.String()+":"))
		return nil
	}
	return t
}

// regexp returns nil for no pattern.
func (c *checker) regexp(p field, pattern string) *regexp.Regexp {
	if pattern == "" {
		return nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		c.fail(p, "%v", err)
		return nil
	}
	return re
}
