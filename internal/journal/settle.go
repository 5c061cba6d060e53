// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// settle puts what has become of the turn's calls into the step's status, the results in the order of the calls.
func settle(s *v1alpha1.MotorStep, t *motorloop.Turn, now time.Time) {
	recorded := map[string]v1alpha1.ToolResult{}
	for _, r := range s.Status.Results {
		recorded[r.CallID] = r
	}
	st := v1alpha1.MotorStepStatus{
		Phase: v1alpha1.StepSettled, Unknown: unknown(s.Status.Unknown, t.Unknown), Approvals: approvals(s.Status.Approvals, t.Approvals),
		Artifacts: s.Status.Artifacts, Skills: s.Status.Skills, Closed: s.Status.Closed, Background: s.Status.Background,
		Left: cmp.Or(s.Status.Left, leftSpec(t.Left)),
	}
	times := timesOf(s, t, recorded, st, now)
	ok := 0
	for i, c := range t.Calls {
		r, found := recorded[c.ID]
		if !found {
			if t.Results[i] == nil {
				st.Phase = openPhase(st, c.ID)
				if st.Closed != nil && st.Phase == v1alpha1.StepInFlight {
					st.Phase = v1alpha1.StepClosed
				}
				continue
			}
			r = resultSpec(c, t.Results[i])
			r.DurationMs, r.WaitedMs = times[i].took.Milliseconds(), times[i].waited.Milliseconds()
		}
		if r.OK {
			ok++
		}
		if c.Tool != toolapi.ToolAskUser && c.Tool != toolapi.ToolRequestDomain {
			st.ToolMs += r.DurationMs
		}
		st.Results = append(st.Results, r)
	}
	if len(t.Calls) > 0 {
		st.OK = fmt.Sprintf("%d/%d", ok, len(t.Calls))
	}
	s.Status = st
}

// leftSpec is what is left as a step has it, nil if nothing is known.
func leftSpec(l motorloop.Left) *v1alpha1.StepLeft {
	if l == (motorloop.Left{}) {
		return nil
	}
	return &v1alpha1.StepLeft{Seconds: int32(min(l.Time/time.Second, math.MaxInt32)), Tokens: l.Tokens}
}

// openPhase is the phase of a step with a call that has no result.
func openPhase(st v1alpha1.MotorStepStatus, callID string) v1alpha1.StepPhase {
	if lastUnknown(st.Unknown, callID) != nil || st.Phase == v1alpha1.StepOutcomeUnknown {
		return v1alpha1.StepOutcomeUnknown
	}
	return v1alpha1.StepInFlight
}

// unknown is what is recorded, and after it what the turn has beyond that. Another loop may have found the same
// execution; when it was found first decides how long a person may take.
func unknown(recorded []v1alpha1.UnknownExecution, found []motorloop.Unknown) []v1alpha1.UnknownExecution {
	all := slices.Clone(recorded)
	for _, u := range found {
		if !slices.ContainsFunc(all, func(r v1alpha1.UnknownExecution) bool { return r.Execution == u.Execution }) {
			all = append(all, v1alpha1.UnknownExecution{
				Execution: u.Execution, CallID: u.CallID, FoundAt: metav1.NewTime(u.FoundAt), Policy: string(u.Policy),
			})
		}
	}
	return all
}

func resultSpec(c motorloop.Call, r *toolapi.Result) v1alpha1.ToolResult {
	res := v1alpha1.ToolResult{
		CallID: c.ID, OK: r.OK, Output: text.CutBytes(r.Output, toolapi.MaxOutputBytes), OutputFile: r.OutputFile, KeptFile: r.KeptFile, ErrorCode: text.CutBytes(r.ErrorCode, 64),
		Retryable: r.Retryable, Provenance: string(r.Provenance),
	}
	if _, notes := r.Parts(); res.Output == r.Output {
		res.NoteBytes = int32(len(notes))
	}
	return res
}

// callTimes say what the time of a call was spent on: its work, or for ask_user the person's answer, and a person's decisions
// about it.
type callTimes struct{ took, waited time.Duration }

// timesOf tells how long each call of the turn took. The questions come after the other calls and one after the other,
// and the loop that uses an answer may be another one than the one that asked. So a person has taken for an answer what
// has passed since everything else was done.
func timesOf(
	s *v1alpha1.MotorStep, t *motorloop.Turn, recorded map[string]v1alpha1.ToolResult, st v1alpha1.MotorStepStatus, now time.Time,
) []callTimes {
	times := make([]callTimes, len(t.Calls))
	var calls, answers time.Duration
	// lost is until when it took, at least, to do the calls, if some were made more than once.
	var lost time.Time
	for i, c := range t.Calls {
		r, found := recorded[c.ID]
		switch {
		case found:
			times[i] = callTimes{time.Duration(r.DurationMs) * time.Millisecond, time.Duration(r.WaitedMs) * time.Millisecond}
		case t.Results[i] != nil && !isAnswer(c, t.Results[i].OK, t.Results[i].ErrorCode):
			took := time.Duration(t.Results[i].DurationMs) * time.Millisecond
			times[i] = callTimes{took, approvalTime(st.Approvals, c.ID) + waited(st.Unknown, c.ID, took, now)}
		}
		if found && isAnswer(c, r.OK, r.ErrorCode) {
			answers += times[i].took
			continue
		}
		calls += times[i].took + times[i].waited
		if u := lastUnknown(st.Unknown, c.ID); u != nil {
			lost = later(lost, u.FoundAt.Add(times[i].took+times[i].waited-approvalTime(st.Approvals, c.ID)))
		}
	}
	rest := now.Sub(later(lost, s.CreationTimestamp.Add(calls))) - answers
	for i, c := range t.Calls {
		if _, found := recorded[c.ID]; !found && t.Results[i] != nil && isAnswer(c, t.Results[i].OK, t.Results[i].ErrorCode) {
			times[i].took = max(0, rest)
			rest -= times[i].took
		}
	}
	return times
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// isAnswer says whether a result of the call came from a person, so that its time is theirs.
func isAnswer(c motorloop.Call, ok bool, code string) bool {
	switch c.Tool {
	case toolapi.ToolAskUser:
		return ok
	case toolapi.ToolRequestDomain:
		return ok || code == toolapi.CodeDomainDenied
	}
	return false
}

func lastUnknown(unknown []v1alpha1.UnknownExecution, callID string) *v1alpha1.UnknownExecution {
	for i := range slices.Backward(unknown) {
		if unknown[i].CallID == callID {
			return &unknown[i]
		}
	}
	return nil
}

// waited is how long a person took to decide about a call: from when its last execution was found to be of unknown
// outcome until the call had its result, less what making it again took.
func waited(unknown []v1alpha1.UnknownExecution, callID string, took time.Duration, now time.Time) time.Duration {
	u := lastUnknown(unknown, callID)
	if u == nil || u.Policy != string(motorloop.UnknownPerson) {
		return 0
	}
	return max(0, now.Sub(u.FoundAt.Time)-took)
}
