// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// UseArtifacts has the step that ends the attempt say what the workspace held then. Nil says nothing of it.
func (l *Log) UseArtifacts(list *v1alpha1.ArtifactList) { l.artifacts = list }

// UseSkills has the step that ends the attempt say what became of the skills that the workspace held then. Nil says nothing of them.
func (l *Log) UseSkills(result *v1alpha1.SkillsResult) { l.skills = result }

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
