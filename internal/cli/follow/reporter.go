// SPDX-License-Identifier: Apache-2.0

// Package follow tells what a run does, an event for each thing that happens.
package follow

import (
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/pending"
)

// Reporter tells each thing once, however often it is shown the same objects.
type Reporter struct {
	// Only chooses events.
	Only Filter
	// Where is in the commands of asks; see pending.Commands.
	Where string

	run  *v1alpha1.MotorRun
	tell func(*Event)
	told map[string]bool
	// calls are those that an ask is about, by its id.
	calls map[string]asked
}

// asked is where a run asked.
type asked struct {
	attempt, step int32
	call          *v1alpha1.ToolCall
}

// NewReporter is for one run.
func NewReporter(run *v1alpha1.MotorRun, tell func(*Event)) *Reporter {
	return &Reporter{run: run, tell: tell, told: map[string]bool{}, calls: map[string]asked{}}
}

// once reports whether a thing is new.
func (r *Reporter) once(parts ...string) bool {
	key := strings.Join(parts, "\x00")
	was := r.told[key]
	r.told[key] = true
	return !was
}

// event tells an event that is chosen.
func (r *Reporter) event(e Event) {
	e.Namespace, e.Run, e.Time = r.run.Namespace, r.run.Name, e.Time.UTC()
	if r.Only.passes(&e) {
		r.tell(&e)
	}
}

// Created tells that the run was created.
func (r *Reporter) Created() { r.event(Event{Type: Created, Time: r.run.CreationTimestamp.Time}) }

// Steps tells what is new in the steps, which are in their order.
func (r *Reporter) Steps(steps []v1alpha1.MotorStep) {
	for i := range steps {
		r.step(&steps[i])
	}
}

func (r *Reporter) step(s *v1alpha1.MotorStep) {
	e := Event{Time: s.CreationTimestamp.Time, Attempt: s.Spec.Attempt, Step: s.Spec.Index}
	switch s.Spec.Type {
	case v1alpha1.StepTurn:
		if s.Spec.Content != "" && !s.Spec.Final && r.once(s.Name) {
			said := e
			said.Type, said.Message = Says, s.Spec.Content
			r.event(said)
		}
	case v1alpha1.StepSummary:
		if e.Type, e.Through = Summarized, s.Spec.Through; r.once(s.Name) {
			r.event(e)
		}
		return
	case v1alpha1.StepEnd:
		if o := s.Spec.Outcome; o != nil && r.once(s.Name) {
			e.Type, e.Reason, e.Message = AttemptFailed, o.Reason, o.Message
			r.event(e)
		}
		return
	case v1alpha1.StepOutage:
		if o := s.Spec.Outage; o != nil && r.once(s.Name) {
			e.Type, e.Reason, e.Message = ModelOutage, o.Reason, o.Message
			r.event(e)
		}
		return
	}
	// Calls are carried out one after the other, so their results come in their order.
	for i := range s.Spec.ToolCalls {
		call := &s.Spec.ToolCalls[i]
		r.asks(s, call)
		j := slices.IndexFunc(s.Status.Results, func(t v1alpha1.ToolResult) bool { return t.CallID == call.ID })
		if j < 0 || !r.once(s.Name, call.ID) {
			continue
		}
		result := &s.Status.Results[j]
		e.Time = e.Time.Add(time.Duration(result.DurationMilliseconds+result.WaitedMilliseconds) * time.Millisecond)
		called := e
		called.Type, called.Call, called.Result = Called, call, result
		r.event(called)
	}
}

// asks tells what became of the asks about a call.
func (r *Reporter) asks(s *v1alpha1.MotorStep, call *v1alpha1.ToolCall) {
	for i := range s.Status.Asks {
		a := &s.Status.Asks[i]
		if a.CallID != call.ID {
			continue
		}
		r.calls[a.ID] = asked{s.Spec.Attempt, s.Spec.Index, call}
		if a.Outcome != "" && r.once(s.Name, "ask", a.ID) {
			r.event(Event{Type: Answered, Time: a.CloseTime.Time, Attempt: s.Spec.Attempt, Step: s.Spec.Index, Call: call, Answer: a})
		}
	}
}

// blocked tells, once, what keeps the run from its beginning. Where that counts something, as its place among those that wait, the count is not told
// each time.
func (r *Reporter) blocked(run *v1alpha1.MotorRun) {
	c := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionAccepted)
	if c == nil || c.Status != metav1.ConditionFalse || run.Status.CompletionTime != nil {
		return
	}
	key := c.Message
	if c.Reason == v1alpha1.ReasonQueued || c.Reason == v1alpha1.ReasonNoEnergy {
		key = ""
	}
	if r.once("accepted", c.Reason, key) {
		r.event(Event{Type: NotAccepted, Time: c.LastTransitionTime.Time, Reason: c.Reason, Message: c.Message})
	}
}

// Run tells what is new of the run itself: what keeps it from its beginning, and what it waits for. It reports whether the run has ended.
func (r *Reporter) Run(run *v1alpha1.MotorRun) (ended bool) {
	r.run = run
	r.blocked(run)
	for _, ask := range pending.Open(run) {
		if !r.once("ask", ask.ID) {
			continue
		}
		at := r.calls[ask.ID]
		r.event(Event{
			Type: Asks, Time: ask.AskTime.Time, Attempt: at.attempt, Step: at.step, Call: at.call, Ask: ask, Commands: pending.Commands(run, ask, r.Where),
		})
	}
	return run.Status.CompletionTime != nil
}

// End tells how the run ended.
func (r *Reporter) End() {
	st := &r.run.Status
	if st.CompletionTime == nil || !r.once("end") {
		return
	}
	said := st.Message
	if st.Result != nil && st.Result.Summary != "" {
		said = st.Result.Summary
	}
	r.event(Event{
		Type: Ended, Time: st.CompletionTime.Time, Reason: st.Reason, Message: said,
		Succeeded: new(apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionSucceeded)),
	})
}
