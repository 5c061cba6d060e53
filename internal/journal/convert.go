// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

func turnSpec(t *motorloop.Turn) v1alpha1.MotorStepSpec {
	spec := v1alpha1.MotorStepSpec{
		Type:    v1alpha1.StepTurn,
		Model:   cut(t.Model, 256),
		Content: t.Content,
		Final:   t.Final(),
		Usage: v1alpha1.Usage{
			PromptTokens: t.Usage.PromptTokens, CompletionTokens: t.Usage.CompletionTokens, CachedTokens: t.Usage.CachedTokens,
			TotalTokens: t.Usage.PromptTokens + t.Usage.CompletionTokens,
		},
		ModelMs:       t.ModelDuration.Milliseconds(),
		PromptDigest:  t.PromptDigest,
		RequestDigest: t.RequestDigest,
	}
	tools := make([]string, 0, len(t.Calls))
	for _, c := range t.Calls {
		spec.ToolCalls = append(spec.ToolCalls, v1alpha1.ToolCall{
			ID: c.ID, ModelID: c.ModelID, Tool: c.Tool, Arguments: c.Arguments,
		})
		tools = append(tools, c.Tool)
	}
	spec.Tools = cut(strings.Join(tools, ","), 512)
	return spec
}

func turnOf(s *v1alpha1.MotorStep) *motorloop.Turn {
	t := &motorloop.Turn{
		Index:   s.Spec.Index,
		Model:   s.Spec.Model,
		Content: s.Spec.Content,
		Usage: motorloop.Usage{
			PromptTokens: s.Spec.Usage.PromptTokens, CompletionTokens: s.Spec.Usage.CompletionTokens, CachedTokens: s.Spec.Usage.CachedTokens,
		},
		ModelDuration: time.Duration(s.Spec.ModelMs) * time.Millisecond,
		PromptDigest:  s.Spec.PromptDigest,
		RequestDigest: s.Spec.RequestDigest,
		Results:       make([]*toolapi.Result, len(s.Spec.ToolCalls)),
	}
	for _, c := range s.Spec.ToolCalls {
		t.Calls = append(t.Calls, motorloop.Call{ID: c.ID, ModelID: c.ModelID, Tool: c.Tool, Arguments: c.Arguments})
	}
	adoptResults(t, s)
	return t
}

// adoptResults gives the turn the results that its step has.
func adoptResults(t *motorloop.Turn, s *v1alpha1.MotorStep) {
	for i, c := range t.Calls {
		for j := range s.Status.Results {
			if r := &s.Status.Results[j]; r.CallID == c.ID {
				t.Results[i] = &toolapi.Result{
					OK: r.OK, Output: r.Output, OutputFile: r.OutputFile, ErrorCode: r.ErrorCode, Retryable: r.Retryable,
					Provenance: toolapi.Provenance(r.Provenance), DurationMs: r.DurationMs,
				}
			}
		}
	}
}

// settle puts the turn's results into the step's status, in the order of the calls.
func settle(s *v1alpha1.MotorStep, t *motorloop.Turn, now time.Time) {
	recorded := map[string]v1alpha1.ToolResult{}
	for _, r := range s.Status.Results {
		recorded[r.CallID] = r
	}
	durations := durationsOf(s, t, recorded, now)
	st := v1alpha1.MotorStepStatus{Phase: v1alpha1.StepSettled}
	ok := 0
	for i, c := range t.Calls {
		r, found := recorded[c.ID]
		if !found {
			if t.Results[i] == nil {
				st.Phase = v1alpha1.StepInFlight
				continue
			}
			r = resultSpec(c, t.Results[i])
			r.DurationMs = durations[i].Milliseconds()
		}
		if r.OK {
			ok++
		}
		if r.ErrorCode == toolapi.CodeOutcomeUnknown && st.Phase == v1alpha1.StepSettled {
			st.Phase = v1alpha1.StepOutcomeUnknown
		}
		if c.Tool != toolapi.ToolAskUser {
			st.ToolMs += r.DurationMs
		}
		st.Results = append(st.Results, r)
	}
	if len(t.Calls) > 0 {
		st.OK = fmt.Sprintf("%d/%d", ok, len(t.Calls))
	}
	s.Status = st
}

func resultSpec(c motorloop.Call, r *toolapi.Result) v1alpha1.ToolResult {
	return v1alpha1.ToolResult{
		CallID: c.ID, OK: r.OK, Output: cut(r.Output, toolapi.MaxOutputBytes), OutputFile: r.OutputFile, ErrorCode: cut(r.ErrorCode, 64),
		Retryable: r.Retryable, Provenance: string(r.Provenance), DurationMs: r.DurationMs,
	}
}

// durationsOf tells how long each call of the turn took. A person has taken for an answer what has passed since the step
// was written and no other call of it took: the questions come after the other calls and one after the other, and the
// loop that uses an answer may be another one than the one that asked.
func durationsOf(s *v1alpha1.MotorStep, t *motorloop.Turn, recorded map[string]v1alpha1.ToolResult, now time.Time) []time.Duration {
	durations := make([]time.Duration, len(t.Calls))
	rest := now.Sub(s.CreationTimestamp.Time)
	for i, c := range t.Calls {
		if r, ok := recorded[c.ID]; ok {
			durations[i] = time.Duration(r.DurationMs) * time.Millisecond
		} else if t.Results[i] != nil && !isAnswer(c, t.Results[i]) {
			durations[i] = time.Duration(t.Results[i].DurationMs) * time.Millisecond
		}
		rest -= durations[i]
	}
	for i, c := range t.Calls {
		if _, ok := recorded[c.ID]; !ok && t.Results[i] != nil && isAnswer(c, t.Results[i]) {
			durations[i] = max(0, rest)
			rest -= durations[i]
		}
	}
	return durations
}

func isAnswer(c motorloop.Call, r *toolapi.Result) bool { return c.Tool == toolapi.ToolAskUser && r.OK }
