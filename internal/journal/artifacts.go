// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
)

// Closing is what the last step of an attempt says when nothing more comes of it.
type Closing struct {
	// Artifacts are what the workspace held; nil leaves what was noted before.
	Artifacts *v1alpha1.ArtifactList
	// Skills are what became of the skills in it, nil for nothing.
	Skills *v1alpha1.SkillsResult
	// Problem says why not everything was collected, "" if all was.
	Problem string
}

// Close closes the last step of an attempt that has ended, or whose run is ending. A closed step stays as it is.
func (l *Log) Close(ctx context.Context, c Closing) error {
	if len(l.steps) == 0 || l.Closed() {
		return nil
	}
	s := &l.steps[len(l.steps)-1]
	if err := l.update(ctx, s, func() { l.close(s, c) }); err != nil {
		return fmt.Errorf("close step %s: %w", s.Name, refused(s, err))
	}
	return nil
}

func (l *Log) close(s *v1alpha1.MotorStep, c Closing) {
	st := &s.Status
	if st.Closed != nil {
		return
	}
	if c.Artifacts != nil {
		st.Artifacts = c.Artifacts
	}
	st.Skills = c.Skills
	st.Closed = &v1alpha1.StepClosing{At: metav1.NewTime(l.now()), Problem: text.CutBytes(c.Problem, maxProblem)}
	switch {
	case len(st.Results) == len(s.Spec.ToolCalls):
		st.Phase = v1alpha1.StepSettled
	case st.Phase != v1alpha1.StepOutcomeUnknown:
		st.Phase = v1alpha1.StepClosed
	}
}

// maxProblem bounds what a step says of what was not collected, in bytes.
const maxProblem = 512

// Closed reports whether nothing more comes of the attempt.
func (l *Log) Closed() bool { return len(l.steps) > 0 && l.steps[len(l.steps)-1].Status.Closed != nil }

// Succeeded reports whether the attempt ended well.
func (l *Log) Succeeded() bool { return len(l.steps) > 0 && l.steps[len(l.steps)-1].Spec.Final }

// NoteArtifacts records in the last step what the workspace holds now that the run waits for a person. It writes only what is
// not there yet.
func (l *Log) NoteArtifacts(ctx context.Context, list *v1alpha1.ArtifactList) error {
	if len(l.steps) == 0 {
		return errors.New("there is no step yet that could say what the workspace holds")
	}
	s := &l.steps[len(l.steps)-1]
	if equality.Semantic.DeepEqual(s.Status.Artifacts, list) {
		return nil
	}
	if err := l.update(ctx, s, func() { s.Status.Artifacts = list }); err != nil {
		return fmt.Errorf("note the artifacts in step %s: %w", s.Name, refused(s, err))
	}
	return nil
}
