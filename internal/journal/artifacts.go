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

// Closing is what the last step of an attempt records when nothing more follows.
type Closing struct {
	// Artifacts lists the files of the workspace; nil retains what was recorded before.
	Artifacts *v1alpha1.ArtifactList
	// Skills is the result of the skills in the workspace, nil for none.
	Skills *v1alpha1.SkillsResult
	// Problem is the reason why the collection is incomplete, "" if it is complete.
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
	st.Closed = &v1alpha1.StepClosing{CloseTime: metav1.NewTime(l.now()), Problem: text.CutBytes(c.Problem, maxProblem)}
	switch {
	case len(st.Results) == len(s.Spec.ToolCalls):
		st.Phase = v1alpha1.StepSettled
	case st.Phase != v1alpha1.StepOutcomeUnknown:
		st.Phase = v1alpha1.StepClosed
	}
}

// maxProblem bounds the text about an incomplete collection in a step, in bytes.
const maxProblem = 512

// Closed reports whether nothing more follows in the attempt.
func (l *Log) Closed() bool { return len(l.steps) > 0 && l.steps[len(l.steps)-1].Status.Closed != nil }

// Succeeded reports whether the attempt ended well.
func (l *Log) Succeeded() bool { return len(l.steps) > 0 && l.steps[len(l.steps)-1].Spec.Final }

// NoteArtifacts records in the last step the content of the workspace, now that the run waits for a person. It writes only changes.
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
