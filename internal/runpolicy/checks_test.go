// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// Checks are no answers of the model, and may be made twice. The value comes with the closing step.
func TestJournalWithChecks(t *testing.T) {
	t.Parallel()
	finish := testStep(1, 1, func(s *v1alpha1.MotorStep) {
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a1-s1-c0", Tool: toolapi.ToolFinish, Arguments: `{"status":"Succeeded","summary":"Done."}`}}
		s.Status.Results = []v1alpha1.ToolResult{{CallID: "a1-s1-c0", OK: true}}
	})
	checks := testStep(1, 2, func(s *v1alpha1.MotorStep) {
		s.Spec.Checks = true
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a1-s2-c0", Tool: toolapi.ToolBash, Arguments: `{"command":"make test"}`}}
	})
	p := ReadJournal(testRun(), []v1alpha1.MotorStep{finish, checks})
	if p.Turns != 1 || p.Iterations != 1 || len(p.Unknown) != 0 || p.Running == nil || p.Running.ID != "a1-s2-c0" || !p.Finished || p.Final != nil {
		t.Errorf("while they run: %+v", p)
	}
	checks.Status.Results = []v1alpha1.ToolResult{{CallID: "a1-s2-c0", OK: true}}
	closing := testStep(1, 3, func(s *v1alpha1.MotorStep) { s.Spec.Final, s.Spec.Content, s.Spec.Value = true, "Done.", `{"n":1}` })
	p = ReadJournal(testRun(), []v1alpha1.MotorStep{finish, checks, closing})
	if p.Turns != 1 || p.Iterations != 1 || p.ToolCalls != 2 || p.Final == nil || *p.Final != "Done." || p.Value != `{"n":1}` {
		t.Errorf("in the end: %+v", p)
	}
}

// A check that needed approval, or may do outside of the sandbox what cannot be undone, is an open effect like a call of the model.
func TestChecksInFlight(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		domains  []v1alpha1.Domain
		approved bool
		want     int
	}{
		"harmless":     {want: 0},
		"approved":     {approved: true, want: 1},
		"irreversible": {domains: []v1alpha1.Domain{"example.org"}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := testRun()
			run.Spec.Domains = tt.domains
			s := testStep(1, 2, func(s *v1alpha1.MotorStep) {
				s.Spec.Checks = true
				s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a1-s2-c0", Tool: toolapi.ToolBash, Arguments: `{"command":"git push"}`}}
				if tt.approved {
					s.Status.Asks = []v1alpha1.StepAsk{{ID: "a", Kind: v1alpha1.InputApproval, Execution: "a1-s2-c0", CallID: "a1-s2-c0", Outcome: v1alpha1.AskApproved}}
				}
			})
			if p := ReadJournal(run, []v1alpha1.MotorStep{testStep(1, 1), s}); len(p.Unknown) != tt.want {
				t.Errorf("open are %+v", p.Unknown)
			}
		})
	}
}

// A step of checks is no answer: the model has not read the state of a program that was found before it.
func TestProgramsBeforeChecks(t *testing.T) {
	t.Parallel()
	left := testStep(1, 1, func(s *v1alpha1.MotorStep) {
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a1-s1-c0", Tool: toolapi.ToolBash, Arguments: `{"command":"./deploy","background":true}`}}
		s.Status.Background = []v1alpha1.StepProgram{{Execution: "a1-s1-c0", CallID: "a1-s1-c0", State: v1alpha1.ProgramLost, FoundIn: 2}}
	})
	checks := testStep(1, 3, func(s *v1alpha1.MotorStep) { s.Spec.Checks = true })
	if open := calls.OpenPrograms([]v1alpha1.MotorStep{left, testStep(1, 2), checks}, 1); len(open) != 1 || !open[0].BrokenOff {
		t.Errorf("with checks after it: %+v", open)
	}
	if open := calls.OpenPrograms([]v1alpha1.MotorStep{left, testStep(1, 2), checks, testStep(1, 4)}, 1); len(open) != 1 || open[0].BrokenOff {
		t.Errorf("with an answer after it: %+v", open)
	}
}

// The claims of one attempt do not count for the next one.
func TestFinishedIsOfOneAttempt(t *testing.T) {
	t.Parallel()
	finish := testStep(1, 1, func(s *v1alpha1.MotorStep) {
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a1-s1-c0", Tool: toolapi.ToolFinish, Arguments: `{"status":"Partial","summary":"Half."}`}}
		s.Status.Results = []v1alpha1.ToolResult{{CallID: "a1-s1-c0", OK: true}}
	})
	text := testStep(2, 1, func(s *v1alpha1.MotorStep) { s.Spec.Final, s.Spec.Content = true, "Whole." })
	if p := ReadJournal(testRun(), []v1alpha1.MotorStep{finish, text}); p.Turns != 2 || p.Iterations != 1 || p.Final == nil {
		t.Errorf("got %+v", p)
	}
}
