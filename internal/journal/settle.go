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
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// settle writes the outcome of the turn's calls into the step's status, the results in the order of the calls.
func settle(s *v1alpha1.MotorStep, t *turn.Turn) {
	recorded := map[string]v1alpha1.ToolResult{}
	for _, r := range s.Status.Results {
		recorded[r.CallID] = r
	}
	st := v1alpha1.MotorStepStatus{
		Phase: v1alpha1.StepSettled, Unknown: unknown(s.Status.Unknown, t.Unknown),
		Asks:      asks(s.Status.Asks, t.Asks, func(callID string) bool { _, told := recorded[callID]; return told }),
		Artifacts: s.Status.Artifacts, Skills: s.Status.Skills, Closed: s.Status.Closed, Background: s.Status.Background,
		Left: cmp.Or(s.Status.Left, leftSpec(t.Left)),
	}
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
			r.DurationMilliseconds += askedFor(st.Asks, c.ID, v1alpha1.InputQuestion, v1alpha1.InputDomainRequest).Milliseconds()
			r.WaitedMilliseconds = askedFor(st.Asks, c.ID, v1alpha1.InputApproval, v1alpha1.InputOutcomeUnknown).Milliseconds()
		}
		if r.OK {
			ok++
		}
		if c.Tool != toolapi.ToolAskUser && c.Tool != toolapi.ToolRequestDomain {
			st.ToolMilliseconds += r.DurationMilliseconds
		}
		st.Results = append(st.Results, r)
	}
	if len(t.Calls) > 0 {
		st.OK = fmt.Sprintf("%d/%d", ok, len(t.Calls))
	}
	s.Status = st
}

// leftSpec returns the remaining budget in the form of a step, nil if nothing is known.
func leftSpec(l turn.Left) *v1alpha1.StepLeft {
	if l == (turn.Left{}) {
		return nil
	}
	return &v1alpha1.StepLeft{Seconds: int32(min(l.Time/time.Second, math.MaxInt32)), Tokens: l.Tokens}
}

// openPhase returns the phase of a step with a call that has no result.
func openPhase(st v1alpha1.MotorStepStatus, callID string) v1alpha1.StepPhase {
	if lastUnknown(st.Unknown, callID) != nil || st.Phase == v1alpha1.StepOutcomeUnknown {
		return v1alpha1.StepOutcomeUnknown
	}
	return v1alpha1.StepInFlight
}

// unknown returns the recorded executions, followed by those that the turn adds. Another loop may have found the same execution; the time at which
// it was found first decides how long a person may take.
func unknown(recorded []v1alpha1.UnknownExecution, found []turn.Unknown) []v1alpha1.UnknownExecution {
	all := slices.Clone(recorded)
	for _, u := range found {
		if !slices.ContainsFunc(all, func(r v1alpha1.UnknownExecution) bool { return r.Execution == u.Execution }) {
			all = append(all, v1alpha1.UnknownExecution{
				Execution: u.Execution, CallID: u.CallID, DetectionTime: metav1.NewTime(u.FoundAt), Policy: string(u.Policy),
			})
		}
	}
	return all
}

func resultSpec(c turn.Call, r *toolapi.Result) v1alpha1.ToolResult {
	res := v1alpha1.ToolResult{
		CallID: c.ID, OK: r.OK, Output: text.CutBytes(r.Output, toolapi.MaxOutputBytes), OutputFile: r.OutputFile, KeptFile: r.KeptFile, ErrorCode: text.CutBytes(r.ErrorCode, 64),
		Retryable: r.Retryable, Provenance: string(r.Provenance), DurationMilliseconds: r.DurationMs,
	}
	if _, notes := r.Parts(); res.Output == r.Output {
		res.NoteBytes = int32(len(notes))
	}
	return res
}

func lastUnknown(unknown []v1alpha1.UnknownExecution, callID string) *v1alpha1.UnknownExecution {
	for i := range slices.Backward(unknown) {
		if unknown[i].CallID == callID {
			return &unknown[i]
		}
	}
	return nil
}
