// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// works says whether the engine has something to do.
func (w *world) works() bool {
	st := &w.run.Status
	a := st.Attempts[len(st.Attempts)-1]
	p := st.PendingInput
	return !w.run.Spec.Suspend && w.pod == runningPod && !w.missing && a.FinishedAt == nil &&
		(p == nil || Answered(w.run, p) || p.Kind == v1alpha1.InputApproval && !w.now.Before(p.ExpiresAt.Time))
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

// settle gives the step's call a result, or finds out that it has none. It says whether there was something to settle.
func (w *world) settle(s *v1alpha1.MotorStep) bool {
	if len(s.Spec.ToolCalls) == len(s.Status.Results) {
		return false
	}
	c := s.Spec.ToolCalls[0]
	r := v1alpha1.ToolResult{CallID: c.ID, OK: true, DurationMs: 500}
	answers := Answers(w.run, w.steps)
	u := lastUnknown(s, c.ID)
	if a := approvalOf(s, c.ID); a != nil && a.Outcome != "" {
		r.OK, r.WaitedMs = a.Outcome == v1alpha1.ApprovalApproved, a.DecidedAt.Sub(a.AskedAt.Time).Milliseconds()
	}
	switch {
	case c.Tool == "code" && w.held(s):
		return true
	case c.Tool == "ask_user":
		if _, ok := answers[c.ID]; !ok {
			return true
		}
		r.DurationMs = w.now.Sub(s.CreationTimestamp.Time).Milliseconds()
	case u != nil && u.Policy == "Person":
		if _, ok := answers[u.Execution]; !ok {
			return true
		}
		r.WaitedMs = w.now.Sub(u.FoundAt.Time).Milliseconds()
	case c.Tool == "bash" && u == nil && w.r.IntN(3) == 0:
		s.Status.Unknown = append(s.Status.Unknown, v1alpha1.UnknownExecution{
			Execution: c.ID, CallID: c.ID, FoundAt: metav1.NewTime(w.now.Truncate(sec)), Policy: string(onUnknown(w.run)),
		})
		return true
	}
	w.log = append(w.log, "settled "+s.Name)
	s.Status.Results = append(s.Status.Results, r)
	return true
}

// held brings the approval of the step's call further, and says whether the call cannot be made yet.
func (w *world) held(s *v1alpha1.MotorStep) bool {
	c := s.Spec.ToolCalls[0]
	a := approvalOf(s, c.ID)
	if a == nil {
		approval(c.ID, c.ID, "", w.now.Truncate(sec).Sub(t0), 0)(s)
		return true
	}
	if a.Outcome != "" {
		return false
	}
	outcome, r := DecideApproval(w.run, s, a, w.now)
	if outcome != "" {
		w.log = append(w.log, string(outcome))
		a.Outcome, a.By, a.Reason, a.DecidedAt = outcome, r.RespondedBy, r.Reason, metav1.NewTime(w.now.Add(sec-1).Truncate(sec))
	}
	return true
}

// act has somebody do something.
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
		if p := st.PendingInput; p != nil && p.Kind != v1alpha1.InputRetry && !Answered(w.run, p) {
			r := v1alpha1.Response{ID: p.ID, Answer: "done"}
			if p.Kind == v1alpha1.InputApproval {
				r = v1alpha1.Response{ID: p.ID, Decision: []v1alpha1.Decision{v1alpha1.DecisionApprove, v1alpha1.DecisionDeny}[w.r.IntN(2)], Digest: p.Action.ArgsDigest}
			}
			w.run.Spec.Responses = append(w.run.Spec.Responses, r)
		}
	case 8:
		attempt := int32(len(st.Attempts)) + w.r.Int32N(2)
		if retryOf(w.run, attempt) == nil && w.r.IntN(2) == 0 {
			w.log = append(w.log, fmt.Sprintf("retry %d", attempt))
			w.run.Spec.Retries = append(w.run.Spec.Retries, v1alpha1.Retry{Attempt: attempt, Guidance: "again"})
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
