// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// works reports whether the engine has something to do.
func (w *world) works() bool {
	st := &w.run.Status
	a := st.Attempts[len(st.Attempts)-1]
	p := st.Pending()
	return !w.run.Spec.Suspend && w.pod == runningPod && !w.missing && a.CompletionTime == nil &&
		(p == nil || Answered(w.run, p) || expiresByItself(p) && !w.now.Before(p.ExpirationTime.Time))
}

// engine does the next thing that an engine would, if it may do something.
func (w *world) engine() {
	if !w.works() {
		return
	}
	attempt := w.run.Status.Attempts[len(w.run.Status.Attempts)-1].Index
	own := slices.DeleteFunc(slices.Clone(w.steps), func(s v1alpha1.MotorStep) bool { return s.Spec.Attempt != attempt })
	if n := len(own); n > 0 {
		if last := own[n-1].Spec; last.Final || last.Type == v1alpha1.StepEnd {
			return
		}
		if w.settle(&w.steps[len(w.steps)-1]) {
			return
		}
	}
	options := []stepOption{ask("Which?"), call("bash", "{}"), call("read", "{}"), call("code", "{}"), call("code", "{}"), done("bash", true, 1000, "out"), final("done"), outcome("Why"), outcome("Why")}
	s := testStep(attempt, int32(len(own))+1, options[w.r.IntN(len(options))])
	if s.Spec.Type == v1alpha1.StepEnd && w.r.IntN(3) == 0 {
		s.Spec.Outcome = lost()
	}
	s.CreationTimestamp = metav1.NewTime(w.now.Truncate(sec))
	w.log = append(w.log, s.Name)
	w.steps = append(w.steps, s)
}

// settle records a result for the step's call, or finds that it has none. It reports whether there was a call to settle.
func (w *world) settle(s *v1alpha1.MotorStep) bool {
	if len(s.Spec.ToolCalls) == len(s.Status.Results) {
		return false
	}
	c := s.Spec.ToolCalls[0]
	r := v1alpha1.ToolResult{CallID: c.ID, OK: true, DurationMilliseconds: 500}
	u := calls.LastUnknown(s, c.ID)
	switch {
	case c.Tool == "code":
		outcome := w.asks(s, v1alpha1.InputApproval)
		if outcome == "" {
			return true
		}
		r.OK = outcome == v1alpha1.AskApproved
	case c.Tool == "ask_user":
		if w.asks(s, v1alpha1.InputQuestion) == "" {
			return true
		}
		r.DurationMilliseconds = 0
	case u != nil && u.Policy == "Person":
		if w.asks(s, v1alpha1.InputOutcomeUnknown) == "" {
			return true
		}
	case c.Tool == "bash" && u == nil && w.r.IntN(3) == 0:
		s.Status.Unknown = append(s.Status.Unknown, v1alpha1.UnknownExecution{
			Execution: c.ID, CallID: c.ID, DetectionTime: metav1.NewTime(w.now.Truncate(sec)), Policy: string(onUnknown(w.run)),
		})
		return true
	}
	w.log = append(w.log, "settled "+s.Name)
	s.Status.Results = append(s.Status.Results, r)
	return true
}

// asks advances the asks of the step's call, and returns its outcome.
func (w *world) asks(s *v1alpha1.MotorStep, kind v1alpha1.InputKind) v1alpha1.AskOutcome {
	c := &s.Spec.ToolCalls[0]
	i := slices.IndexFunc(s.Status.Asks, func(a v1alpha1.StepAsk) bool { return a.Kind == kind })
	if i < 0 {
		s.Status.Asks = append(s.Status.Asks, NewAsk(w.run, []v1alpha1.MotorStep{*s}, kind, c, c.ID, w.now))
		return ""
	}
	if s.Status.Asks[i].Outcome == "" {
		closed, ok := CloseAsk(w.run, s.Status.Asks[i], observed.Time{}, w.now)
		if ok {
			w.log = append(w.log, string(closed.Outcome))
		}
		s.Status.Asks[i] = closed
	}
	return s.Status.Asks[i].Outcome
}

// act has one of the actors do something.
func (w *world) act() {
	st := &w.run.Status
	switch w.r.IntN(12) {
	case 0, 1, 2, 3:
		w.engine()
	case 4, 5:
		w.wait(time.Duration(w.r.IntN(40_000)) * time.Millisecond)
	case 6:
		if w.r.IntN(3) == 0 {
			w.run.Spec.Suspend = !w.run.Spec.Suspend
			w.log = append(w.log, fmt.Sprintf("suspend %t", w.run.Spec.Suspend))
		}
	case 7:
		if p := st.Pending(); p != nil && p.Kind != v1alpha1.InputRetry && !Answered(w.run, p) {
			r := v1alpha1.Response{ID: p.ID, Answer: "done"}
			if p.Kind == v1alpha1.InputOutcomeUnknown {
				r = v1alpha1.Response{ID: p.ID, Decision: unknownDecisions[w.r.IntN(3)]}
			}
			if p.Kind == v1alpha1.InputApproval {
				r = v1alpha1.Response{ID: p.ID, Decision: []v1alpha1.Decision{v1alpha1.DecisionApproveOnce, v1alpha1.DecisionDeny}[w.r.IntN(2)], Digest: p.Action.ArgsDigest}
			}
			w.run.Spec.Responses = append(w.run.Spec.Responses, r)
		}
	case 8:
		attempt := int32(len(st.Attempts)) + w.r.Int32N(2)
		if RetryOf(w.run, attempt) == nil && w.r.IntN(2) == 0 {
			w.log = append(w.log, fmt.Sprintf("retry %d", attempt))
			w.run.Spec.Responses = append(w.run.Spec.Responses, v1alpha1.Response{ID: retryID(attempt), Decision: v1alpha1.DecisionRetry, Guidance: "again"})
		}
	case 9:
		w.happenToPod()
	case 10:
		if w.pod != nil && w.pod != endedPod {
			w.pod = runningPod
		}
	case 11:
		if w.r.IntN(40) == 0 {
			w.log = append(w.log, "cancel")
			w.run.Spec.Cancel = true
		}
	}
}

func (w *world) happenToPod() {
	if w.pod == nil || w.r.IntN(3) > 0 {
		return
	}
	switch w.r.IntN(3) {
	case 0:
		w.log = append(w.log, "Pod deleted")
		w.pod, w.missing = nil, true
	case 1:
		w.log = append(w.log, "Pod ended")
		w.pod = endedPod
	case 2:
		w.log = append(w.log, "tool server down")
		w.pod = &sandbox.State{Phase: sandbox.Restarting, Reason: v1alpha1.ReasonSandboxRestarting, Message: "Down.", FinishedAt: w.now}
	}
}
