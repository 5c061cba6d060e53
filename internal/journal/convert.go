// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"strings"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/budget"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// summaryTools is the value of a summary in the field in which a turn names the tools that were called, for printing.
const summaryTools = "(summary)"

func turnSpec(t *turn.Turn) v1alpha1.MotorStepSpec {
	spec := v1alpha1.MotorStepSpec{
		Type:              v1alpha1.StepTurn,
		Model:             text.CutBytes(t.Model, 256),
		Content:           t.Content,
		Usage:             usageSpec(t.Usage),
		FailedUsage:       usageSpec(t.Failed),
		ModelMilliseconds: t.ModelDuration.Milliseconds(),
		PromptDigest:      t.PromptDigest,
		RequestDigest:     t.RequestDigest,
	}
	if t.Through > 0 {
		spec.Type, spec.Through, spec.Tools = v1alpha1.StepSummary, t.Through, summaryTools
		return spec
	}
	spec.Final, spec.Value, spec.Checks = t.Closes, t.Value, t.Checks
	tools := make([]string, 0, len(t.Calls))
	for _, c := range t.Calls {
		spec.ToolCalls = append(spec.ToolCalls, v1alpha1.ToolCall{
			ID: c.ID, ModelID: c.ModelID, Tool: c.Tool, Arguments: c.Arguments,
		})
		tools = append(tools, c.Tool)
	}
	spec.Tools = text.CutBytes(strings.Join(tools, ","), 512)
	return spec
}

// Limits of the text in the record of an end, in bytes. The controller shows less of it.
const (
	maxMessage = 4096
	maxHint    = 1024
	maxPartial = 64 << 10
)

func endSpec(f *outcome.Failure, extra outcome.Outcome) v1alpha1.MotorStepSpec {
	return v1alpha1.MotorStepSpec{
		Type:              v1alpha1.StepEnd,
		Content:           text.CutBytes(extra.Partial, maxPartial),
		Usage:             usageSpec(extra.Usage),
		ModelMilliseconds: extra.ModelDuration.Milliseconds(),
		Outcome: &v1alpha1.StepOutcome{
			Category: v1alpha1.FailureCategory(f.Category), Reason: f.Reason, Message: text.CutBytes(f.Message, maxMessage), Retryable: f.Retryable,
			Hint: text.CutBytes(extra.Hint, maxHint),
		},
	}
}

func usageSpec(u turn.Usage) v1alpha1.Usage {
	spec := v1alpha1.Usage{
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, CachedTokens: u.CachedTokens,
		TotalTokens: u.PromptTokens + u.CompletionTokens, Estimated: u.Estimated, Unpriced: u.Unpriced,
	}
	if u.Currency != "" {
		spec.Cost, spec.Currency = budget.Amount(u.Cost), v1alpha1.Currency(u.Currency)
	}
	return spec
}

func usageOf(u v1alpha1.Usage) turn.Usage {
	return turn.Usage{
		PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, CachedTokens: u.CachedTokens, Estimated: u.Estimated,
		Cost: budget.SpentOf(u).Cost, Currency: string(u.Currency), Unpriced: u.Unpriced,
	}
}

func turnOf(s *v1alpha1.MotorStep) *turn.Turn {
	t := &turn.Turn{
		Index:         s.Spec.Index,
		Through:       s.Spec.Through,
		Model:         s.Spec.Model,
		Content:       s.Spec.Content,
		Closes:        s.Spec.Final,
		Value:         s.Spec.Value,
		Checks:        s.Spec.Checks,
		Usage:         usageOf(s.Spec.Usage),
		Failed:        usageOf(s.Spec.FailedUsage),
		ModelDuration: time.Duration(s.Spec.ModelMilliseconds) * time.Millisecond,
		PromptDigest:  s.Spec.PromptDigest,
		RequestDigest: s.Spec.RequestDigest,
		Results:       make([]*toolapi.Result, len(s.Spec.ToolCalls)),
	}
	for _, c := range s.Spec.ToolCalls {
		t.Calls = append(t.Calls, turn.Call{ID: c.ID, ModelID: c.ModelID, Tool: c.Tool, Arguments: c.Arguments})
	}
	adoptStatus(t, s)
	return t
}

// adoptStatus copies into the turn the results, asks, and executions of unknown outcome of its step.
func adoptStatus(t *turn.Turn, s *v1alpha1.MotorStep) {
	for i, c := range t.Calls {
		for j := range s.Status.Results {
			if r := &s.Status.Results[j]; r.CallID == c.ID {
				t.Results[i] = &toolapi.Result{
					OK: r.OK, Output: r.Output, NoteBytes: r.NoteBytes, OutputFile: r.OutputFile, KeptFile: r.KeptFile, ErrorCode: r.ErrorCode, Retryable: r.Retryable,
					Provenance: toolapi.Provenance(r.Provenance), DurationMs: r.DurationMilliseconds,
				}
			}
		}
	}
	t.Left = turn.Left{}
	if l := s.Status.Left; l != nil {
		t.Left = turn.Left{Time: time.Duration(l.Seconds) * time.Second, Tokens: l.Tokens}
	}
	t.Asks = nil
	for i := range s.Status.Asks {
		t.Asks = append(t.Asks, AskOf(&s.Status.Asks[i]))
	}
	t.Unknown = nil
	for _, u := range s.Status.Unknown {
		t.Unknown = append(t.Unknown, turn.Unknown{
			Execution: u.Execution, CallID: u.CallID, FoundAt: u.DetectionTime.Time, Policy: turn.UnknownPolicy(u.Policy),
		})
	}
}
