// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxExitCode is the largest exit code that a record accepts.
const maxExitCode = 255

// HasPrograms reports whether a program runs in the background of the attempt, as far as its journal knows.
func (l *Log) HasPrograms() bool {
	return slices.ContainsFunc(l.steps, func(s v1alpha1.MotorStep) bool {
		return slices.ContainsFunc(s.Status.Background, isRunning)
	})
}

func isRunning(p v1alpha1.StepProgram) bool { return p.State == v1alpha1.ProgramRunning }

// UsePrograms makes the next Settle record the sandbox's report on the programs in the background. A program that the journal knows and the sandbox
// does not is lost.
func (l *Log) UsePrograms(programs []toolapi.Program) {
	if programs == nil {
		programs = []toolapi.Program{}
	}
	l.programs = programs
}

// NotePrograms records the sandbox's report on the programs in the background at once.
func (l *Log) NotePrograms(ctx context.Context, programs []toolapi.Program) error {
	l.UsePrograms(programs)
	err := l.notePrograms(ctx, l.lastTurn(), "")
	l.programs = nil
	return err
}

// MayHavePrograms is HasPrograms for all attempts.
func (l *Log) MayHavePrograms() bool {
	return slices.ContainsFunc(l.AllSteps(), func(s v1alpha1.MotorStep) bool {
		return slices.ContainsFunc(s.Status.Background, isRunning)
	})
}

// HasForeignPrograms reports whether a program runs that no call of the attempt started.
func (l *Log) HasForeignPrograms(programs []toolapi.Program) bool {
	return slices.ContainsFunc(programs, func(p toolapi.Program) bool {
		return p.State == toolapi.ProgramRunning &&
			!slices.ContainsFunc(l.steps, func(s v1alpha1.MotorStep) bool { return callOf(&s, p.Call) != "" })
	})
}

// lastTurn returns the index of the last answer of the model, 1 if there is none.
func (l *Log) lastTurn() int32 {
	for _, s := range slices.Backward(l.steps) {
		if s.Spec.Type == v1alpha1.StepTurn {
			return s.Spec.Index
		}
	}
	return 1
}

// notePrograms writes the outcome of the programs into the steps that started them, except for one step.
func (l *Log) notePrograms(ctx context.Context, foundIn int32, but string) error {
	if l.programs == nil {
		return nil
	}
	for i := range l.steps {
		s := &l.steps[i]
		if s.Name == but || equality.Semantic.DeepEqual(programsOf(s, l.programs, foundIn), s.Status.Background) {
			continue
		}
		if err := l.update(ctx, s, func() { s.Status.Background = programsOf(s, l.programs, foundIn) }); err != nil {
			return fmt.Errorf("note the programs in the background of step %s: %w", s.Name, refused(s, err))
		}
	}
	return nil
}

// programsOf returns the recorded programs of a step, updated from the sandbox's report. An end that is recorded stays.
func programsOf(s *v1alpha1.MotorStep, said []toolapi.Program, foundIn int32) []v1alpha1.StepProgram {
	all := slices.Clone(s.Status.Background)
	for i := range all {
		if isRunning(all[i]) && !slices.ContainsFunc(said, func(p toolapi.Program) bool { return p.Call == all[i].Execution }) {
			all[i].State, all[i].FoundIn = v1alpha1.ProgramLost, foundIn
		}
	}
	for _, p := range said {
		call := callOf(s, p.Call)
		if call == "" {
			continue
		}
		now := stepProgram(p, call, foundIn)
		i := slices.IndexFunc(all, func(r v1alpha1.StepProgram) bool { return r.Execution == p.Call })
		switch {
		case i < 0:
			all = append(all, now)
		case isRunning(all[i]) && !isRunning(now):
			now.StartTime = all[i].StartTime
			all[i] = now
		}
	}
	return all
}

func stepProgram(p toolapi.Program, call string, foundIn int32) v1alpha1.StepProgram {
	now := v1alpha1.StepProgram{
		Execution: p.Call, CallID: call, State: v1alpha1.ProgramState(p.State), Reason: p.Reason, ExitCode: min(max(p.ExitCode, 0), maxExitCode),
		StartTime: metav1.NewTime(p.StartedAt.Truncate(time.Second)),
	}
	if p.State == toolapi.ProgramRunning {
		return now
	}
	now.FoundIn = foundIn
	if !p.EndedAt.IsZero() {
		now.CompletionTime = new(metav1.NewTime(p.EndedAt.Truncate(time.Second)))
	}
	return now
}

// callOf returns the call of a step that an execution is of, "" if it is of another step.
func callOf(s *v1alpha1.MotorStep, execution string) string {
	for i := range s.Spec.ToolCalls {
		if id := s.Spec.ToolCalls[i].ID; execution == id || strings.HasPrefix(execution, id+"-") {
			return id
		}
	}
	return ""
}

// notes returns the texts for the model about the ends of programs that were observed during a step, and in the first about files that its
// workspace lacks.
func (l *Log) notes(index int32) []string {
	notes := l.missingNotes(index)
	for i := range l.steps {
		s := &l.steps[i]
		for _, p := range s.Status.Background {
			if p.FoundIn != index || p.State != v1alpha1.ProgramStopped && p.State != v1alpha1.ProgramLost {
				continue
			}
			j := slices.IndexFunc(s.Spec.ToolCalls, func(c v1alpha1.ToolCall) bool { return c.ID == p.CallID })
			if j < 0 {
				continue
			}
			c := s.Spec.ToolCalls[j]
			notes = append(notes, conversation.ProgramNote(turn.Call{ID: c.ID, Arguments: c.Arguments}, text.CutBytes(p.Reason, toolapi.MaxStopReason)))
		}
	}
	return notes
}
