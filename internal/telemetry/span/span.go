// SPDX-License-Identifier: Apache-2.0

// Package span has the spans of a run, which follow from its status and its steps. The plugin prints them, and the manager sends them to a collector: both
// name the same trace, with the same ids and times.
package span

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/telemetry/ids"
)

// Kind is what a span is about.
type Kind string

// Kinds of spans.
const (
	KindRun     Kind = "Run"
	KindAttempt Kind = "Attempt"
	KindStep    Kind = "Step"
	KindModel   Kind = "Model"
	KindOutage  Kind = "Outage"
	KindTool    Kind = "Tool"
	KindAsk     Kind = "Ask"
)

// Span is a time in which a run did one thing. Its ids are the same each time that it is computed.
type Span struct {
	TraceID      string `json:"traceID"`
	SpanID       string `json:"spanID"`
	ParentSpanID string `json:"parentSpanID,omitempty"`
	Kind         Kind   `json:"kind"`
	// Name is that of the attempt, the step, the model or the tool. Detail is for people: what a call is about, in a few words.
	Name    string `json:"name"`
	Detail  string `json:"detail,omitempty"`
	Attempt int32  `json:"attempt,omitempty"`
	Step    int32  `json:"step,omitempty"`
	CallID  string `json:"callID,omitempty"`
	// StartTime is zero if it has not begun, and DurationMilliseconds unset if it has not ended.
	StartTime            time.Time `json:"startTime,omitzero"`
	DurationMilliseconds *int64    `json:"durationMilliseconds,omitempty"`
	// Result is ok, or the reason of an end or a failure.
	Result string          `json:"result,omitempty"`
	OK     *bool           `json:"ok,omitempty"`
	Tokens *v1alpha1.Usage `json:"tokens,omitempty"`
	// Arguments and Output are those of a call, and Output the text of a model. They are content, and shown only on request.
	Arguments string `json:"-"`
	Output    string `json:"-"`
}

const resultOK = "ok"

// builder makes the spans of one run.
type builder struct {
	run     *v1alpha1.MotorRun
	context ids.Context
	// own is what the ids of spans follow from. A caller can have several runs in one trace, and each has its own spans.
	own   string
	spans []Span
}

// Of are the spans of a run and of these steps, which are in their order. A span comes after the one that it is in.
func Of(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) []Span {
	b := &builder{run: run, context: ids.Of(run.UID, run.Annotations), own: ids.Trace(run.UID)}
	st := &run.Status
	all := Span{Kind: KindRun, Name: run.Name, StartTime: run.CreationTimestamp.UTC(), Result: st.Reason, Tokens: &st.Usage}
	if st.CompletionTime != nil {
		all.OK = new(apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSucceeded))
	}
	root := b.add(all, b.context.Parent, ended(all.StartTime, st.CompletionTime), "run")
	for i := range st.Attempts {
		b.attempt(&st.Attempts[i], steps, EndOfAttempt(run, i), root)
	}
	return b.spans
}

// EndOfAttempt is when the attempt at a place of the status ended, nil if it has not. One that has no end of its own ended with the run.
func EndOfAttempt(run *v1alpha1.MotorRun, i int) *metav1.Time {
	if at := run.Status.Attempts[i].CompletionTime; at != nil {
		return at
	}
	return run.Status.CompletionTime
}

// ended is how long something took that began, in milliseconds, nil if it has not ended.
func ended(start time.Time, end *metav1.Time) *int64 {
	if end == nil || end.IsZero() {
		return nil
	}
	return new(max(end.Sub(start), 0).Milliseconds())
}

// add appends a span, and returns its id.
func (b *builder) add(s Span, parent string, took *int64, path ...any) string {
	s.TraceID, s.SpanID, s.ParentSpanID, s.DurationMilliseconds = b.context.Trace, ids.Span(b.own, path...), parent, took
	b.spans = append(b.spans, s)
	return s.SpanID
}

func (b *builder) attempt(a *v1alpha1.AttemptStatus, steps []v1alpha1.MotorStep, over *metav1.Time, parent string) {
	s := Span{Kind: KindAttempt, Name: fmt.Sprintf("attempt %d", a.Index), Attempt: a.Index, Tokens: &a.Usage}
	if a.StartTime != nil {
		s.StartTime = a.StartTime.UTC()
	}
	if a.CompletionTime != nil {
		s.OK, s.Result = new(a.Failure == nil), resultOK
	}
	if a.Failure != nil {
		s.Result = a.Failure.Reason
	}
	id := b.add(s, parent, ended(s.StartTime, over), "attempt", a.Index)
	for i := range steps {
		if steps[i].Spec.Attempt != a.Index {
			continue
		}
		if steps[i].Spec.Type == v1alpha1.StepOutage {
			b.outage(&steps[i], steps[i+1:], over, id)
			continue
		}
		b.step(&steps[i], over, id)
	}
}

// outage is a time in which the model could not be had. It is over with the step that follows, or with the attempt.
func (b *builder) outage(s *v1alpha1.MotorStep, later []v1alpha1.MotorStep, over *metav1.Time, parent string) {
	o := Span{Kind: KindOutage, Name: "the model cannot be had", Attempt: s.Spec.Attempt, Step: s.Spec.Index, StartTime: s.CreationTimestamp.UTC(), OK: new(false)}
	if s.Spec.Outage != nil {
		o.Result = s.Spec.Outage.Reason
	}
	took := ended(o.StartTime, over)
	if len(later) > 0 && later[0].Spec.Attempt == s.Spec.Attempt {
		took = ended(o.StartTime, &later[0].CreationTimestamp)
	}
	b.add(o, parent, took, "outage", s.Name)
}

// step has the model call whose answer the step records, and the calls of that answer, which are carried out one after the other. What has no result when
// the attempt is over, at the instant over, ended with it.
func (b *builder) step(s *v1alpha1.MotorStep, over *metav1.Time, parent string) {
	answered := s.CreationTimestamp.UTC()
	model := s.Spec.ModelMilliseconds
	begun := answered.Add(-time.Duration(model) * time.Millisecond)
	calls, end := timed(s, answered)
	var took *int64
	if !end.IsZero() {
		took = new(end.Sub(begun).Milliseconds())
	} else {
		took = ended(begun, over)
	}
	id := b.add(Span{Kind: KindStep, Name: stepName(s), Attempt: s.Spec.Attempt, Step: s.Spec.Index, StartTime: begun}, parent, took, "step", s.Name)
	if model > 0 || s.Spec.Usage.TotalTokens > 0 {
		b.add(Span{
			Kind: KindModel, Name: modelName(b.run, s), Attempt: s.Spec.Attempt, Step: s.Spec.Index, StartTime: begun, Result: resultOK, OK: new(true), Tokens: &s.Spec.Usage,
			Output: s.Spec.Content,
		}, id, &model, "model", s.Name)
	}
	for i := range calls {
		if c := &calls[i]; c.took == nil && !c.start.IsZero() {
			c.took = ended(c.start, over)
		}
		b.call(s, &calls[i], id)
	}
}

// Settled reports whether nothing of a step changes any more by itself: each of its calls has a result.
func Settled(s *v1alpha1.MotorStep) bool {
	return !slices.ContainsFunc(s.Spec.ToolCalls, func(c v1alpha1.ToolCall) bool {
		return !slices.ContainsFunc(s.Status.Results, func(r v1alpha1.ToolResult) bool { return r.CallID == c.ID })
	})
}

func stepName(s *v1alpha1.MotorStep) string {
	switch s.Spec.Type {
	case v1alpha1.StepSummary:
		return fmt.Sprintf("step %d, summary", s.Spec.Index)
	case v1alpha1.StepEnd:
		return fmt.Sprintf("step %d, end of the attempt", s.Spec.Index)
	case v1alpha1.StepTurn, v1alpha1.StepOutage:
	}
	return fmt.Sprintf("step %d", s.Spec.Index)
}

// modelName is the name of the model as its endpoint reported it, or as it was asked for.
func modelName(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep) string {
	for _, name := range []string{s.Spec.Model, run.Status.Model} {
		if name != "" {
			return name
		}
	}
	return "model"
}

// timedCall is a call with its time.
type timedCall struct {
	*v1alpha1.ToolCall

	result *v1alpha1.ToolResult
	start  time.Time
	took   *int64
}

// timed are the calls of a step with their times, and when the last one ended, zero if it has not. A call that has not begun has no start.
func timed(s *v1alpha1.MotorStep, at time.Time) (calls []timedCall, end time.Time) {
	for i := range s.Spec.ToolCalls {
		c := timedCall{ToolCall: &s.Spec.ToolCalls[i], start: at}
		j := slices.IndexFunc(s.Status.Results, func(r v1alpha1.ToolResult) bool { return r.CallID == c.ID })
		if j >= 0 {
			c.result = &s.Status.Results[j]
			// The call begins when a person is asked about it.
			c.took = new(c.result.WaitedMilliseconds + c.result.DurationMilliseconds)
		}
		calls = append(calls, c)
		if c.took == nil || at.IsZero() {
			at = time.Time{}
			continue
		}
		at = at.Add(time.Duration(*c.took) * time.Millisecond)
	}
	return calls, at
}

func (b *builder) call(s *v1alpha1.MotorStep, c *timedCall, parent string) {
	span := Span{
		Kind: KindTool, Name: c.Tool, Attempt: s.Spec.Attempt, Step: s.Spec.Index, CallID: c.ID, StartTime: c.start, Arguments: c.Arguments,
	}
	if r := c.result; r != nil {
		span.OK, span.Result, span.Output = &r.OK, resultOK, r.Output
		if !r.OK {
			span.Result = r.ErrorCode
		}
	}
	id := b.add(span, parent, c.took, "call", s.Name, " ", c.ID)
	for i := range s.Status.Asks {
		a := &s.Status.Asks[i]
		if a.CallID != c.ID {
			continue
		}
		ask := Span{Kind: KindAsk, Name: askName(a.Kind), Attempt: s.Spec.Attempt, Step: s.Spec.Index, CallID: c.ID, StartTime: a.AskTime.UTC(), Result: string(a.Outcome)}
		b.add(ask, id, ended(ask.StartTime, &a.CloseTime), "ask", s.Name, " ", a.ID)
	}
}

// askName is what a person is asked for, in lower case.
func askName(kind v1alpha1.InputKind) string {
	switch kind {
	case v1alpha1.InputDomainRequest:
		return "domain"
	case v1alpha1.InputOutcomeUnknown:
		return "unknown outcome"
	case v1alpha1.InputQuestion, v1alpha1.InputApproval, v1alpha1.InputRetry, v1alpha1.InputBudgetExhausted:
	}
	return strings.ToLower(string(kind))
}
