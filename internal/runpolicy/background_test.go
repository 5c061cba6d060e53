// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// programSteps returns steps of an attempt, of which the first one left a program in the background.
func programSteps(attempt int32, turns int, p v1alpha1.StepProgram) []v1alpha1.MotorStep {
	p.CallID = fmt.Sprintf("a%d-s1-c0", attempt)
	p.Execution = p.CallID
	var steps []v1alpha1.MotorStep
	for i := range turns {
		id := fmt.Sprintf("a%d-s%d-c0", attempt, i+1)
		s := v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: attempt, Index: int32(i) + 1, ToolCalls: []v1alpha1.ToolCall{
			{ID: id, Tool: toolapi.ToolBash, Arguments: `{"command":"./deploy","background":true,"idempotencyKey":"k"}`},
		}}}
		s.Status.Results = []v1alpha1.ToolResult{{CallID: id, OK: true, Provenance: "Internal"}}
		steps = append(steps, s)
	}
	steps[0].Status.Background = []v1alpha1.StepProgram{p}
	return steps
}

// An attempt whose sandbox is lost while a program runs in its background is not followed by another one before a person decided.
func TestAProgramInTheBackgroundIsAnOpenEffect(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		program     v1alpha1.StepProgram
		turns       int
		named, held bool
	}{
		"it runs":                        {v1alpha1.StepProgram{State: v1alpha1.ProgramRunning}, 2, true, true},
		"it ended well":                  {v1alpha1.StepProgram{State: v1alpha1.ProgramSucceeded, FoundIn: 2}, 2, false, false},
		"it ended badly":                 {v1alpha1.StepProgram{State: v1alpha1.ProgramFailed, FoundIn: 2}, 2, false, false},
		"it is lost, and nobody knows":   {v1alpha1.StepProgram{State: v1alpha1.ProgramLost, FoundIn: 2}, 2, true, true},
		"it is lost, and the model knew": {v1alpha1.StepProgram{State: v1alpha1.ProgramLost, FoundIn: 1}, 2, true, false},
		"it was ended":                   {v1alpha1.StepProgram{State: v1alpha1.ProgramStopped, FoundIn: 2}, 2, true, true},
		"it was ended, the model knew":   {v1alpha1.StepProgram{State: v1alpha1.ProgramStopped, FoundIn: 1}, 2, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := &v1alpha1.MotorRun{}
			p := ReadJournal(run, programSteps(1, tt.turns, tt.program))
			if named := len(p.Unknown) == 1; named != tt.named {
				t.Errorf("the calls of unknown outcome are %+v", p.Unknown)
			}
			o := Observation{Run: run, Progress: p, SandboxGone: true}
			if held := heldBack(o); held != tt.held {
				t.Errorf("held back: %v, want %v", held, tt.held)
			}
			run.Spec.Approval = &v1alpha1.RunApproval{OnUnknown: v1alpha1.UnknownTellModel}
			if heldBack(o) {
				t.Error("held back although the model deals with what is unknown")
			}
		})
	}
}

// The programs that an earlier attempt left in the background were handled when that attempt ended.
func TestProgramsOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	run := withAttempts(&v1alpha1.MotorRun{}, v1alpha1.CauseFirst, v1alpha1.CauseRetry)
	steps := append(programSteps(1, 1, v1alpha1.StepProgram{State: v1alpha1.ProgramLost, FoundIn: 1}), testStep(2, 1))
	if p := ReadJournal(run, steps); len(p.Unknown) > 0 {
		t.Errorf("the calls of unknown outcome are %+v", p.Unknown)
	}
}

// A program that is started again with the same words runs: the model knows that it was lost.
func TestLostProgramIsStartedAgain(t *testing.T) {
	t.Parallel()
	const server = `{"command":"git push && ./serve","background":true}`
	steps := []v1alpha1.MotorStep{testStep(1, 1, call("bash", server), finished(v1alpha1.ToolResult{OK: true}))}
	id := steps[0].Spec.ToolCalls[0].ID
	steps[0].Status.Background = []v1alpha1.StepProgram{{Execution: id, CallID: id, State: v1alpha1.ProgramLost, FoundIn: 1}}
	run := plainRun(v1alpha1.ApprovalNever, "example.org")
	if res := calls.AlreadyDone(run, steps, "a1-s2-c0", toolapi.ToolBash, server); res != nil {
		t.Errorf("it is not made: %+v", res)
	}
}

func TestKeyOfAProgramInTheBackground(t *testing.T) {
	t.Parallel()
	const args = `{"command":"./deploy","idempotencyKey":"k"}`
	for name, tt := range map[string]struct {
		state   v1alpha1.ProgramState
		attempt int32
		code    string
	}{
		"ended well":                       {v1alpha1.ProgramSucceeded, 1, toolapi.CodeAlreadyDone},
		"ended badly":                      {v1alpha1.ProgramFailed, 1, ""},
		"was ended":                        {v1alpha1.ProgramStopped, 1, ""},
		"is lost":                          {v1alpha1.ProgramLost, 1, toolapi.CodeOutcomeUnknown},
		"runs, and the sandbox knows more": {v1alpha1.ProgramRunning, 1, ""},
		"ran in the attempt before":        {v1alpha1.ProgramRunning, 2, toolapi.CodeOutcomeUnknown},
		"ended well in the attempt before": {v1alpha1.ProgramSucceeded, 2, toolapi.CodeAlreadyDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := programSteps(1, 1, v1alpha1.StepProgram{State: tt.state})
			next := programSteps(tt.attempt, 2, v1alpha1.StepProgram{})[1]
			next.Status = v1alpha1.MotorStepStatus{}
			res := calls.AlreadyDone(&v1alpha1.MotorRun{}, append(steps, next), next.Spec.ToolCalls[0].ID, toolapi.ToolBash, args)
			got := ""
			if res != nil {
				got = res.ErrorCode
			}
			if got != tt.code {
				t.Errorf("%q, want %q", got, tt.code)
			}
		})
	}
}
