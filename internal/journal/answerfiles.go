// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"fmt"
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/conversation"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// MissingFile is a file of an answer that a new workspace lacks.
type MissingFile struct {
	// AskID is the ask that was answered, Path the one in the workspace.
	AskID, Path string
	// Problem is why it could not be put there.
	Problem string
}

// NoteMissing records in the steps of the answers that the workspace of this attempt lacks files. What was recorded in this attempt, or of a
// file that was never there, stays.
func (l *Log) NoteMissing(ctx context.Context, missing []MissingFile) error {
	if len(missing) == 0 {
		return nil
	}
	for _, steps := range [][]v1alpha1.MotorStep{l.before, l.steps} {
		for i := range steps {
			s := &steps[i]
			if !slices.ContainsFunc(s.Status.Asks, func(a v1alpha1.StepAsk) bool { return lacks(missing, a.ID) }) {
				continue
			}
			if err := l.update(ctx, s, func() { l.noteMissing(s, missing) }); err != nil {
				return fmt.Errorf("note the missing files of step %s: %w", s.Name, refused(s, err))
			}
		}
	}
	return nil
}

func lacks(missing []MissingFile, askID string) bool {
	return slices.ContainsFunc(missing, func(m MissingFile) bool { return m.AskID == askID })
}

func (l *Log) noteMissing(s *v1alpha1.MotorStep, missing []MissingFile) {
	for i := range s.Status.Asks {
		a := &s.Status.Asks[i]
		for j := range a.Files {
			f := &a.Files[j]
			k := slices.IndexFunc(missing, func(m MissingFile) bool { return m.AskID == a.ID && m.Path == f.Path })
			// One that an attempt before lacked may be there by now, and is missing again.
			if k >= 0 && (f.Problem == "" || f.MissingInAttempt != 0 && f.MissingInAttempt != l.attempt) {
				f.Problem, f.MissingInAttempt = missing[k].Problem, l.attempt
			}
		}
	}
}

// missingNotes returns the text for the model of the attempt's first step about the files that its workspace lacks, none if it has them all.
func (l *Log) missingNotes(index int32) []string {
	if index != 1 {
		return nil
	}
	var missing []turn.File
	for i := range l.before {
		for _, a := range l.before[i].Status.Asks {
			missing = append(missing, filesOf(slices.DeleteFunc(slices.Clone(a.Files), func(f v1alpha1.AskFile) bool {
				return f.MissingInAttempt != l.attempt
			}))...)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return []string{conversation.MissingNote(missing)}
}
