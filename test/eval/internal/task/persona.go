// SPDX-License-Identifier: Apache-2.0

package task

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The kinds of questions, as status.pendingInputs[].kind has them.
const (
	KindQuestion = "Question"
	KindApproval = "Approval"
	KindDomain   = "DomainRequest"
	KindUnknown  = "OutcomeUnknown"
)

// What a person decides.
const (
	Approve = "ApproveOnce"
	Deny    = "Deny"
	Retry   = "Retry"
)

// Persona is the person behind a run: the replies that the first rule that fits gives.
type Persona struct {
	Rules []Rule `yaml:"rules"`
	// Default answers a question that no rule fits. Unset: DefaultAnswer.
	Default string `yaml:"default"`
}

// DefaultAnswer is what a person says who does not know.
const DefaultAnswer = "I do not know. Decide yourself, and say in the result what you assumed."

// Rule replies to questions of a kind (Question if unset) whose text the pattern is found in.
type Rule struct {
	Kind     string `yaml:"kind"`
	Match    string `yaml:"match"`
	Answer   string `yaml:"answer"`
	Decision string `yaml:"decision"`
	// Reason is why, for an API that takes it.
	Reason string `yaml:"reason"`

	pattern *regexp.Regexp
}

// Question is something that the person was asked, and the reply.
type Question struct {
	Kind string `json:"kind" yaml:"kind"`
	// Text has all that there was to read: the question, its options, the domain, or the tool and its arguments.
	Text     string `json:"text" yaml:"text"`
	Answer   string `json:"answer,omitempty" yaml:"answer"`
	Decision string `json:"decision,omitempty" yaml:"decision"`
	Reason   string `json:"reason,omitempty" yaml:"reason"`
}

func (p *Persona) compile() (found []error) {
	for i := range p.Rules {
		r := &p.Rules[i]
		if r.Kind == "" {
			r.Kind = KindQuestion
		}
		var err error
		if r.pattern, err = regexp.Compile("(?is)" + r.Match); err != nil {
			found = append(found, fmt.Errorf("persona.rules[%d].match: %w", i, err))
		}
		if !slices.Contains([]string{KindQuestion, KindApproval, KindDomain, KindUnknown}, r.Kind) {
			found = append(found, fmt.Errorf("persona.rules[%d].kind %q is none that a run asks", i, r.Kind))
		}
		decides := r.Kind != KindQuestion
		if (r.Decision != "") != decides || (r.Answer != "") == decides {
			found = append(found, fmt.Errorf("persona.rules[%d]: a question needs an answer, all else a decision", i))
		}
	}
	return found
}

// Reply returns the question with what the person says to it. What no rule fits is denied, decided by the default answer, or done again.
func (p Persona) Reply(q Question) Question {
	for _, r := range p.Rules {
		if r.Kind == q.Kind && r.pattern.MatchString(q.Text) {
			q.Answer, q.Decision, q.Reason = r.Answer, r.Decision, r.Reason
			return q
		}
	}
	switch q.Kind {
	case KindApproval, KindDomain:
		q.Decision = Deny
	case KindUnknown:
		q.Decision = Retry
	default:
		q.Answer = strings.TrimSpace(p.Default)
		if q.Answer == "" {
			q.Answer = DefaultAnswer
		}
	}
	return q
}
