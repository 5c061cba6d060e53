// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/pending"
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
	// Name is that of the attempt, the step, the model or the tool. Detail is the beginning of the arguments of a call.
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
}

const resultOK = "ok"

// maxDetail is the most bytes of the arguments of a call.
const maxDetail = 44

// builder makes the spans of one run.
type builder struct {
	run   *v1alpha1.MotorRun
	trace string
	spans []Span
}

// Spans are those of a run and its steps, which are in their order. A span comes after the one that it is in.
func Spans(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep) []Span {
	b := &builder{run: run, trace: ids.Trace(run.UID)}
	st := &run.Status
	all := Span{Kind: KindRun, Name: run.Name, StartTime: run.CreationTimestamp.UTC(), Result: st.Reason, Tokens: &st.Usage}
	if st.CompletionTime != nil {
		all.OK = new(apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSucceeded))
	}
	root := b.add(all, "", ended(all.StartTime, st.CompletionTime), "run")
	for i := range st.Attempts {
		b.attempt(&st.Attempts[i], steps, root)
	}
	return b.spans
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
	s.TraceID, s.SpanID, s.ParentSpanID, s.DurationMilliseconds = b.trace, ids.Span(b.trace, path...), parent, took
	b.spans = append(b.spans, s)
	return s.SpanID
}

func (b *builder) attempt(a *v1alpha1.AttemptStatus, steps []v1alpha1.MotorStep, parent string) {
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
	id := b.add(s, parent, ended(s.StartTime, a.CompletionTime), "attempt", a.Index)
	for i := range steps {
		if steps[i].Spec.Attempt != a.Index {
			continue
		}
		if steps[i].Spec.Type == v1alpha1.StepOutage {
			b.outage(&steps[i], steps[i+1:], id)
			continue
		}
		b.step(&steps[i], id)
	}
}

// outage is a time in which the model could not be had. It is over with the step that follows.
func (b *builder) outage(s *v1alpha1.MotorStep, later []v1alpha1.MotorStep, parent string) {
	o := Span{Kind: KindOutage, Name: "the model cannot be had", Attempt: s.Spec.Attempt, Step: s.Spec.Index, StartTime: s.CreationTimestamp.UTC(), OK: new(false)}
	if s.Spec.Outage != nil {
		o.Result = s.Spec.Outage.Reason
	}
	var took *int64
	if len(later) > 0 {
		took = ended(o.StartTime, &later[0].CreationTimestamp)
	}
	b.add(o, parent, took, "outage", s.Name)
}

// step has the model call whose answer the step records, and the calls of that answer, which are carried out one after the other.
func (b *builder) step(s *v1alpha1.MotorStep, parent string) {
	answered := s.CreationTimestamp.UTC()
	model := s.Spec.ModelMilliseconds
	begun := answered.Add(-time.Duration(model) * time.Millisecond)
	calls, end := timed(s, answered)
	var took *int64
	if !end.IsZero() {
		took = new(end.Sub(begun).Milliseconds())
	}
	id := b.add(Span{Kind: KindStep, Name: stepName(s), Attempt: s.Spec.Attempt, Step: s.Spec.Index, StartTime: begun}, parent, took, "step", s.Name)
	if model > 0 || s.Spec.Usage.TotalTokens > 0 {
		b.add(Span{
			Kind: KindModel, Name: modelName(b.run, s), Attempt: s.Spec.Attempt, Step: s.Spec.Index, StartTime: begun, Result: resultOK, OK: new(true), Tokens: &s.Spec.Usage,
		}, id, &model, "model", s.Name)
	}
	for i := range calls {
		b.call(s, &calls[i], id)
	}
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
		Kind: KindTool, Name: c.Tool, Detail: show.Brief(c.Tool, c.Arguments, maxDetail), Attempt: s.Spec.Attempt, Step: s.Spec.Index, CallID: c.ID, StartTime: c.start,
	}
	if r := c.result; r != nil {
		span.OK, span.Result = &r.OK, resultOK
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
		ask := Span{Kind: KindAsk, Name: pending.Word(a.Kind), Attempt: s.Spec.Attempt, Step: s.Spec.Index, CallID: c.ID, StartTime: a.AskTime.UTC(), Result: string(a.Outcome)}
		b.add(ask, id, ended(ask.StartTime, &a.CloseTime), "ask", s.Name, " ", a.ID)
	}
}
