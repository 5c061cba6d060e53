// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/pending"
)

const (
	// stepsPage is how many steps are held at once: one has up to a MiB, and its line in the timeline a few hundred bytes.
	stepsPage = 50
	// maxSteps is how many steps a timeline has.
	maxSteps = 2000
)

// attemptView is one attempt with its steps.
type attemptView struct {
	Index     int32        `json:"index"`
	Cause     string       `json:"cause,omitempty"`
	Started   *metav1.Time `json:"started,omitempty"`
	Completed *metav1.Time `json:"completed,omitempty"`
	Failure   *failureView `json:"failure,omitempty"`
	Tokens    int64        `json:"tokens"`
	Cost      string       `json:"cost,omitempty"`
	// ModelMS, ToolMS and WaitMS are how long the model, the tools and people took, in milliseconds.
	ModelMS int64      `json:"modelMS"`
	ToolMS  int64      `json:"toolMS"`
	WaitMS  int64      `json:"waitMS"`
	Steps   []stepLine `json:"steps"`
}

type failureView struct {
	Category string `json:"category,omitempty"`
	Reason   string `json:"reason"`
	Message  string `json:"message,omitempty"`
	Hint     string `json:"hint,omitempty"`
}

// stepLine is a step in a timeline.
type stepLine struct {
	Name    string       `json:"name"`
	Index   int32        `json:"index"`
	Type    string       `json:"type"`
	At      metav1.Time  `json:"at"`
	Says    string       `json:"says,omitempty"`
	Failure *failureView `json:"failure,omitempty"`
	Tokens  int64        `json:"tokens"`
	Cost    string       `json:"cost,omitempty"`
	ModelMS int64        `json:"modelMS"`
	ToolMS  int64        `json:"toolMS"`
	WaitMS  int64        `json:"waitMS"`
	Calls   []callLine   `json:"calls,omitempty"`
	Asks    []askLine    `json:"asks,omitempty"`
}

// callState is how far a call came.
type callState string

const (
	callOK, callFailed, callOpen, callUnknown callState = "ok", "failed", "open", "unknown"
)

// callLine is a call in a timeline.
type callLine struct {
	Tool   string    `json:"tool"`
	Brief  string    `json:"brief"`
	State  callState `json:"state"`
	Code   string    `json:"code,omitempty"`
	MS     int64     `json:"ms"`
	WaitMS int64     `json:"waitMS,omitempty"`
	Web    bool      `json:"web,omitempty"`
}

// askLine is what became of an ask.
type askLine struct {
	Word    string `json:"word"`
	Outcome string `json:"outcome"`
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// timeline reads the attempts of a run. A note says why steps are missing: the rest of the run is there for a person all the same.
func timeline(ctx context.Context, q *query, run *v1alpha1.MotorRun) (attempts []*attemptView, note string) {
	lines, problem := stepsOf(ctx, q, run)
	attempts = []*attemptView{}
	at := func(index int32) *attemptView {
		for _, a := range attempts {
			if a.Index == index {
				return a
			}
		}
		a := &attemptView{Index: index, Steps: []stepLine{}}
		attempts = append(attempts, a)
		return a
	}
	for i := range run.Status.Attempts {
		s := &run.Status.Attempts[i]
		a := at(s.Index)
		a.Cause, a.Started, a.Completed, a.Tokens = string(s.Cause), s.StartTime, s.CompletionTime, s.Usage.TotalTokens
		a.Cost = show.Text(budget.Cost(s.Usage.Cost, s.Usage.Currency))
		if f := s.Failure; f != nil {
			a.Failure = &failureView{string(f.Category), show.Text(f.Reason), show.Text(f.Message), show.Text(f.Hint)}
		}
	}
	for _, l := range lines {
		a := at(l.attempt)
		a.Steps = append(a.Steps, l.stepLine)
		a.ModelMS, a.ToolMS, a.WaitMS = a.ModelMS+l.ModelMS, a.ToolMS+l.ToolMS, a.WaitMS+l.WaitMS
	}
	slices.SortFunc(attempts, func(a, b *attemptView) int { return int(a.Index - b.Index) })
	if a := run.Status.Archive; a != nil && problem == "" && len(lines) == 0 {
		problem = fmt.Sprintf("Its %d steps are in the archive, under the key %s.", a.Steps, show.Text(a.Key))
	}
	return attempts, problem
}

// orderedLine is a line with what it is sorted by.
type orderedLine struct {
	stepLine

	attempt int32
	step    v1alpha1.MotorStep
}

// stepsOf reads the steps of a run, a page at a time, and keeps their lines.
func stepsOf(ctx context.Context, q *query, run *v1alpha1.MotorRun) (lines []orderedLine, note string) {
	next := ""
	for {
		page := &v1alpha1.MotorStepList{}
		err := q.Client.List(ctx, page, client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name}, client.Limit(stepsPage), client.Continue(next))
		if err != nil {
			note = "Its steps cannot be read. " + words(err)
			break
		}
		for i := range page.Items {
			if s := &page.Items[i]; lookup.Of(run, s) {
				order := v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Attempt: s.Spec.Attempt, Index: s.Spec.Index, Type: s.Spec.Type}}
				lines = append(lines, orderedLine{stepLineOf(s), s.Spec.Attempt, order})
			}
		}
		if next = page.Continue; next == "" {
			break
		}
		if len(lines) >= maxSteps {
			note = fmt.Sprintf("Only %d of its steps are shown. kubectl motor steps has all of them.", len(lines))
			break
		}
	}
	slices.SortFunc(lines, func(a, b orderedLine) int { return lookup.Compare(a.step, b.step) })
	return lines, note
}

func stepLineOf(s *v1alpha1.MotorStep) stepLine {
	l := stepLine{
		Name: s.Name, Index: s.Spec.Index, Type: string(s.Spec.Type), At: s.CreationTimestamp, Says: show.Line(s.Spec.Content, 2*maxBrief),
		Failure: failureOf(s), Tokens: s.Spec.Usage.TotalTokens, ModelMS: s.Spec.ModelMilliseconds, ToolMS: s.Status.ToolMilliseconds,
		Cost: show.Text(budget.Cost(s.Spec.Usage.Cost, s.Spec.Usage.Currency)),
	}
	for i := range s.Spec.ToolCalls {
		c := callLineOf(s, &s.Spec.ToolCalls[i])
		l.WaitMS += c.WaitMS
		l.Calls = append(l.Calls, c)
	}
	for i := range s.Status.Asks {
		a := &s.Status.Asks[i]
		line := askLine{Word: pending.Word(a.Kind), Outcome: string(a.Outcome), By: show.Line(a.By, maxBrief), Reason: show.Text(a.Reason)}
		switch {
		case a.Outcome == "":
			line.Outcome = "open"
		case a.Decision != "":
			line.Outcome = string(a.Decision)
		}
		// The results of questions do not count how long a person took.
		if a.Kind == v1alpha1.InputQuestion || a.Kind == v1alpha1.InputDomainRequest {
			l.WaitMS += waited(a)
		}
		l.Asks = append(l.Asks, line)
	}
	return l
}

// waited is how long an ask was open, in milliseconds.
func waited(a *v1alpha1.StepAsk) int64 {
	if a.CloseTime.IsZero() {
		return 0
	}
	return max(0, a.CloseTime.Sub(a.AskTime.Time).Milliseconds())
}

func callLineOf(s *v1alpha1.MotorStep, call *v1alpha1.ToolCall) callLine {
	c := callLine{Tool: show.Line(call.Tool, maxBrief), Brief: show.Brief(call.Tool, call.Arguments, maxBrief), State: callOpen}
	if slices.ContainsFunc(s.Status.Unknown, func(u v1alpha1.UnknownExecution) bool { return u.CallID == call.ID }) {
		c.State = callUnknown
	}
	i := slices.IndexFunc(s.Status.Results, func(r v1alpha1.ToolResult) bool { return r.CallID == call.ID })
	if i < 0 {
		return c
	}
	r := &s.Status.Results[i]
	c.State, c.Code, c.MS, c.WaitMS, c.Web = callFailed, show.Text(r.ErrorCode), r.DurationMilliseconds, r.WaitedMilliseconds, r.Provenance == "Web"
	if r.OK {
		c.State = callOK
	}
	return c
}

func failureOf(s *v1alpha1.MotorStep) *failureView {
	outage := s.Spec.Outage
	if s.Status.Outage != nil {
		outage = s.Status.Outage
	}
	switch {
	case s.Spec.Outcome != nil:
		o := s.Spec.Outcome
		return &failureView{string(o.Category), show.Text(o.Reason), show.Text(o.Message), show.Text(o.Hint)}
	case outage != nil:
		return &failureView{Reason: show.Text(outage.Reason), Message: show.Text(outage.Message)}
	}
	return nil
}
