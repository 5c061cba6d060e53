// SPDX-License-Identifier: Apache-2.0

// Package runpolicy holds the decisions about a run. They are pure: an observation and the time in, a decision out.
package runpolicy

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	maxLastCalls   = 5
	maxHead        = 200
	maxTitle       = 40
	questionSuffix = 8
)

// Progress is what the journal says about a run.
type Progress struct {
	// Attempt is the current attempt, from 0.
	Attempt int32
	// Turns is how many answers the model gave in all attempts.
	Turns int32
	Usage v1alpha1.Usage
	// LastCalls are the last tool calls of the current attempt.
	LastCalls         []v1alpha1.CallHead
	ToolCalls, Errors int32
	Model, Tool       time.Duration
	// Waited is how long people took for the answers that the run has used.
	Waited time.Duration
	// Pending is the question that has no result yet, answered in the spec or not.
	Pending *v1alpha1.PendingInput
	// Asked holds the id of every question that was put to a person, not of one that waits for the calls before it.
	Asked map[string]bool
	// Sandbox is what the first step says of the sandbox: that, and how, its isolation was verified.
	Sandbox *v1alpha1.StepSandbox
	// Final is the model's closing text, nil until it gave one.
	Final *string
	// Failure is how the attempt ended without success, nil if it did not.
	Failure *v1alpha1.StepOutcome
	// ModelName is the model of the last turn.
	ModelName string
}

// ReadJournal sums up the steps of a run, which are ordered by attempt and index.
func ReadJournal(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) Progress {
	p := Progress{Asked: map[string]bool{}}
	for i := range steps {
		s := &steps[i]
		if s.Spec.Attempt > p.Attempt {
			p.Attempt, p.LastCalls, p.Final, p.Failure, p.Pending = s.Spec.Attempt, nil, nil, nil, nil
		}
		if s.Spec.Sandbox != nil && p.Sandbox == nil && s.Spec.Sandbox.IsolationTries > 0 {
			p.Sandbox = s.Spec.Sandbox
		}
		if s.Spec.Type == v1alpha1.StepEnd {
			p.Failure = s.Spec.Outcome
			continue
		}
		p.addTurn(run, s)
	}
	if len(p.LastCalls) > maxLastCalls {
		p.LastCalls = p.LastCalls[len(p.LastCalls)-maxLastCalls:]
	}
	return p
}

func (p *Progress) addTurn(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep) {
	p.Turns++
	p.ModelName = s.Spec.Model
	u := s.Spec.Usage
	p.Usage.PromptTokens += u.PromptTokens
	p.Usage.CompletionTokens += u.CompletionTokens
	p.Usage.CachedTokens += u.CachedTokens
	p.Usage.TotalTokens += u.TotalTokens
	p.Model += time.Duration(s.Spec.ModelMs) * time.Millisecond
	p.Tool += time.Duration(s.Status.ToolMs) * time.Millisecond
	if s.Spec.Final {
		p.Final = &s.Spec.Content
	}
	p.Pending = nil
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		r := resultOf(s, c.ID)
		q := question(run, s, i)
		if q != nil && r != nil && r.OK {
			p.Asked[q.ID] = true
		}
		switch {
		case r != nil:
			p.addResult(c, r)
		case p.Pending == nil:
			p.Pending = q
		}
	}
	switch {
	case p.Pending != nil && othersSettled(s):
		p.Asked[p.Pending.ID] = true
	default:
		// The person is asked when everything else of the turn is done.
		p.Pending = nil
	}
}

func (p *Progress) addResult(c *v1alpha1.ToolCall, r *v1alpha1.ToolResult) {
	p.ToolCalls++
	if !r.OK {
		p.Errors++
	}
	if c.Tool == toolapi.ToolAskUser && r.OK {
		p.Waited += time.Duration(r.DurationMs) * time.Millisecond
	}
	p.LastCalls = append(p.LastCalls, v1alpha1.CallHead{
		ID: c.ID, Tool: c.Tool, OK: r.OK, ErrorCode: r.ErrorCode, DurationMs: r.DurationMs,
		Head: CutEncoded(Cut(r.Output, maxHead), maxHead),
	})
}

func resultOf(s *v1alpha1.MotorStep, callID string) *v1alpha1.ToolResult {
	for i := range s.Status.Results {
		if s.Status.Results[i].CallID == callID {
			return &s.Status.Results[i]
		}
	}
	return nil
}

func othersSettled(s *v1alpha1.MotorStep) bool {
	for i := range s.Spec.ToolCalls {
		c := &s.Spec.ToolCalls[i]
		if c.Tool != toolapi.ToolAskUser && resultOf(s, c.ID) == nil {
			return false
		}
	}
	return true
}

// QuestionID is the id under which a call of the step waits for an answer. It ends with a part of the step's UID,
// which the API server draws, so that nobody can answer a question before it was asked.
func QuestionID(s *v1alpha1.MotorStep, callID string) string {
	uid := strings.ReplaceAll(string(s.UID), "-", "")
	return callID + "-" + uid[:min(len(uid), questionSuffix)]
}

// question gives what call i of the step asks a person, nil if it asks nothing: a call that the loop is about to refuse
// must reach nobody, because the loop stops while somebody is asked.
func question(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep, i int) *v1alpha1.PendingInput {
	c := &s.Spec.ToolCalls[i]
	if c.Tool != toolapi.ToolAskUser || i >= toolapi.MaxCalls {
		return nil
	}
	args, err := toolapi.ParseAskUser(c.Arguments)
	if err != nil {
		return nil
	}
	options := make([]string, 0, len(args.Options))
	for _, o := range args.Options {
		options = append(options, CutEncoded(o, toolapi.MaxOption))
	}
	asked := AskedAt(s)
	return &v1alpha1.PendingInput{
		ID:        QuestionID(s, c.ID),
		Kind:      v1alpha1.InputQuestion,
		Title:     Title(args.Question),
		Question:  CutEncoded(args.Question, toolapi.MaxQuestion),
		Options:   options,
		Default:   CutEncoded(args.Default, toolapi.MaxOption),
		Step:      s.Name,
		AskedAt:   metav1.NewTime(asked),
		ExpiresAt: metav1.NewTime(asked.Add(time.Duration(run.Spec.Limits.AwaitingInputSeconds) * time.Second)),
	}
}

// AskedAt is when the step's open question was asked: when everything of the step was done that has a result by now.
// It is whole seconds, like every time that is written to the API, so that what is read back is equal to it.
func AskedAt(s *v1alpha1.MotorStep) time.Time {
	var took time.Duration
	for i := range s.Status.Results {
		took += time.Duration(s.Status.Results[i].DurationMs) * time.Millisecond
	}
	return s.CreationTimestamp.Add((took + time.Second - 1).Truncate(time.Second))
}

// Answers gives the answers of the spec by call id, for the questions of the steps.
func Answers(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) map[string]string {
	byQuestion := make(map[string]string, len(run.Spec.Responses))
	for _, r := range run.Spec.Responses {
		byQuestion[r.ID] = r.Answer
	}
	answers := map[string]string{}
	for i := range steps {
		for _, c := range steps[i].Spec.ToolCalls {
			if a, ok := byQuestion[QuestionID(&steps[i], c.ID)]; ok && c.Tool == toolapi.ToolAskUser {
				answers[c.ID] = a
			}
		}
	}
	return answers
}

// Answered says whether the spec has a response to the pending input.
func Answered(run *v1alpha1.MotorRun, pending *v1alpha1.PendingInput) bool {
	for _, r := range run.Spec.Responses {
		if pending != nil && r.ID == pending.ID {
			return true
		}
	}
	return false
}

// UnknownResponses describes the responses that answer nothing that was asked.
func UnknownResponses(run *v1alpha1.MotorRun, p Progress) []string {
	var unknown []string
	for i, r := range run.Spec.Responses {
		if !p.Asked[r.ID] {
			unknown = append(unknown, fmt.Sprintf("spec.responses[%d].id %q", i, r.ID))
		}
	}
	return unknown
}

// Title is the beginning of a text in one line, for a column.
func Title(s string) string { return Cut(strings.Join(strings.Fields(s), " "), maxTitle) }

// Cut shortens a text to at most max characters, the last of them "…" if anything was left out.
func Cut(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	r := []rune(s)
	return string(r[:max-1]) + "…"
}

// CutEncoded shortens a text until it takes at most max bytes in JSON, the last character "…" if anything was left out.
// It is what keeps a status below its bound: one character can take six bytes.
func CutEncoded(s string, max int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	size, end := 0, 0
	for i, r := range s {
		if size += encodedLen(r); size > max {
			return s[:end] + "…"
		}
		if size <= max-len("…") {
			end = i + utf8.RuneLen(r)
		}
	}
	return s
}

// encodedLen is how many bytes a character takes in JSON as encoding/json writes it.
func encodedLen(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
		return 2
	case r < 0x20 || r == '<' || r == '>' || r == '&' || r == 0x2028 || r == 0x2029:
		return 6
	default:
		return utf8.RuneLen(r)
	}
}
