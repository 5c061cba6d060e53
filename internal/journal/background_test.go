// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// An end is recorded once, and what the sandbox does not know any more is lost.
func TestProgramsOf(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 1, 1, 12, 0, 0, 5, time.UTC)
	over := begun.Add(time.Minute)
	step := func(recorded ...v1alpha1.StepProgram) *v1alpha1.MotorStep {
		s := &v1alpha1.MotorStep{}
		s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a1-s1-c0", Tool: "bash"}, {ID: "a1-s1-c1", Tool: "bash"}}
		s.Status.Background = recorded
		return s
	}
	record := func(state v1alpha1.ProgramState, foundIn int32) v1alpha1.StepProgram {
		p := v1alpha1.StepProgram{
			Execution: "a1-s1-c0", CallID: "a1-s1-c0", State: state, StartTime: metav1.NewTime(begun.Truncate(time.Second)), FoundIn: foundIn,
		}
		if foundIn > 0 && state != v1alpha1.ProgramLost {
			p.CompletionTime = new(metav1.NewTime(over.Truncate(time.Second)))
		}
		return p
	}
	running := toolapi.Program{Call: "a1-s1-c0", State: toolapi.ProgramRunning, StartedAt: begun}
	ended := func(state toolapi.ProgramState, exit int32) toolapi.Program {
		return toolapi.Program{Call: "a1-s1-c0", State: state, StartedAt: begun, EndedAt: over, ExitCode: exit}
	}
	failed := record(v1alpha1.ProgramFailed, 3)
	failed.ExitCode = 255
	again := record(v1alpha1.ProgramRunning, 0)
	again.Execution, again.CallID = "a1-s1-c1-r1", "a1-s1-c1"
	for name, tt := range map[string]struct {
		step *v1alpha1.MotorStep
		said []toolapi.Program
		want []v1alpha1.StepProgram
	}{
		"nothing":           {step(), nil, nil},
		"of another step":   {step(), []toolapi.Program{{Call: "a1-s11-c0"}, {Call: "a1-s1-c01"}}, nil},
		"it begins":         {step(), []toolapi.Program{running}, []v1alpha1.StepProgram{record(v1alpha1.ProgramRunning, 0)}},
		"it runs":           {step(record(v1alpha1.ProgramRunning, 0)), []toolapi.Program{running}, []v1alpha1.StepProgram{record(v1alpha1.ProgramRunning, 0)}},
		"it ends":           {step(record(v1alpha1.ProgramRunning, 0)), []toolapi.Program{ended(toolapi.ProgramSucceeded, 0)}, []v1alpha1.StepProgram{record(v1alpha1.ProgramSucceeded, 3)}},
		"it began and ends": {step(), []toolapi.Program{ended(toolapi.ProgramFailed, 1<<20)}, []v1alpha1.StepProgram{failed}},
		"its end stays":     {step(record(v1alpha1.ProgramSucceeded, 2)), []toolapi.Program{ended(toolapi.ProgramFailed, 1)}, []v1alpha1.StepProgram{record(v1alpha1.ProgramSucceeded, 2)}},
		"it is not known":   {step(record(v1alpha1.ProgramRunning, 0)), nil, []v1alpha1.StepProgram{record(v1alpha1.ProgramLost, 3)}},
		"made again":        {step(), []toolapi.Program{{Call: "a1-s1-c1-r1", State: toolapi.ProgramRunning, StartedAt: begun}}, []v1alpha1.StepProgram{again}},
	} {
		if diff := cmp.Diff(tt.want, programsOf(tt.step, tt.said, 3)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A program that no call of the attempt has left is another attempt's, as long as it runs.
func TestForeignPrograms(t *testing.T) {
	t.Parallel()
	l := &Log{steps: []v1alpha1.MotorStep{storedStep(v1alpha1.MotorStepStatus{})}}
	for name, tt := range map[string]struct {
		program toolapi.Program
		want    bool
	}{
		"its own":           {toolapi.Program{Call: "a1-s1-c0", State: toolapi.ProgramRunning}, false},
		"another attempt's": {toolapi.Program{Call: "a2-s1-c0", State: toolapi.ProgramRunning}, true},
		"one that is over":  {toolapi.Program{Call: "a2-s1-c0", State: toolapi.ProgramSucceeded}, false},
	} {
		if got := l.HasForeignPrograms([]toolapi.Program{tt.program}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A program that an earlier attempt left may still run, and does not belong to this one.
func TestProgramsOfAttempts(t *testing.T) {
	t.Parallel()
	runs := storedStep(v1alpha1.MotorStepStatus{Background: []v1alpha1.StepProgram{{CallID: "a1-s1-c0", State: v1alpha1.ProgramRunning}}})
	l := &Log{before: []v1alpha1.MotorStep{runs}, steps: []v1alpha1.MotorStep{storedStep(v1alpha1.MotorStepStatus{})}}
	if !l.MayHavePrograms() || l.HasPrograms() {
		t.Errorf("there may be some: %t, of this attempt: %t", l.MayHavePrograms(), l.HasPrograms())
	}
}

// The model learns of an end once: with the turn in whose time it was observed.
func TestNotesOfATurn(t *testing.T) {
	t.Parallel()
	l := &Log{steps: []v1alpha1.MotorStep{storedStep(v1alpha1.MotorStepStatus{Background: []v1alpha1.StepProgram{
		{CallID: "a1-s1-c0", State: v1alpha1.ProgramLost, FoundIn: 2}, {CallID: "a1-s1-c0", State: v1alpha1.ProgramSucceeded, FoundIn: 2},
	}})}}
	for turn, want := range map[int32]int{1: 0, 2: 1, 3: 0} {
		if got := l.notes(turn); len(got) != want {
			t.Errorf("with turn %d: %q", turn, got)
		}
	}
}
