// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
	"motorcortex.dev/motorcortex/internal/pending"
)

// maxBrief is the most bytes of the arguments of a call that runs.
const maxBrief = 160

// activity is what a run does at present.
type activity struct {
	what string
	// works says that the run does something, and does not wait.
	works bool
	// since is from when on, zero if that is not known.
	since time.Time
}

// activityOf says what a run does, by its steps in their order.
func activityOf(run *v1alpha1.MotorRun, steps []v1alpha1.MotorStep, now time.Time) activity {
	if run.Status.CompletionTime != nil {
		return activity{what: "it has ended"}
	}
	if open := pending.Open(run); len(open) > 0 {
		p := open[0]
		return activity{what: "waits for an answer: " + pending.Word(p.Kind) + show.Expiry(now, p.ExpirationTime), since: p.AskTime.Time}
	}
	if run.Spec.Suspend {
		return activity{what: "is suspended"}
	}
	attempt := run.Status.LatestAttempt()
	if attempt != nil && len(steps) > 0 {
		last := &steps[len(steps)-1]
		if last.Spec.Attempt == attempt.Index {
			return activityIn(last)
		}
	}
	if attempt == nil || !apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionSandboxReady) {
		return activity{what: show.Line(run.Status.Message, maxBrief), works: true}
	}
	thinks := activity{what: thinking(run), works: true}
	if attempt.StartTime != nil {
		thinks.since = attempt.StartTime.Time
	}
	return thinks
}

// thinking is what goes on between two steps.
func thinking(run *v1alpha1.MotorRun) string {
	if run.Spec.Mode == v1alpha1.ModeOneshot {
		return "the code starts"
	}
	return "the model thinks"
}

// activityIn says what goes on in the last step, or after it.
func activityIn(s *v1alpha1.MotorStep) activity {
	if s.Spec.Type == v1alpha1.StepOutage && s.Spec.Outage != nil {
		return activity{what: "the model cannot be had: " + show.Line(s.Spec.Outage.Reason, maxBrief), works: true, since: s.CreationTimestamp.Time}
	}
	at := s.CreationTimestamp.Time
	for i := range s.Spec.ToolCalls {
		call := &s.Spec.ToolCalls[i]
		j := slices.IndexFunc(s.Status.Results, func(r v1alpha1.ToolResult) bool { return r.CallID == call.ID })
		if j < 0 {
			return activity{what: show.Line(call.Tool, maxName) + "  " + show.Brief(call.Tool, call.Arguments, maxBrief), works: true, since: at}
		}
		r := &s.Status.Results[j]
		at = at.Add(time.Duration(r.DurationMilliseconds+r.WaitedMilliseconds) * time.Millisecond)
	}
	if s.Spec.Final || s.Spec.Type == v1alpha1.StepEnd {
		return activity{what: "what it leaves is collected", works: true, since: at}
	}
	return activity{what: "the model thinks", works: true, since: at}
}
