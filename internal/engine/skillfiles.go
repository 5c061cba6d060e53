// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/skill"
	"motorcortex.dev/motorcortex/internal/skillstore"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// pinnedSkill is the skill of a run as it was accepted with it: nothing of it comes from a sandbox, or from the Skill as it is by
// now.
type pinnedSkill struct {
	pin      *v1alpha1.RunSkill
	files    []skill.File
	manifest skill.Manifest
}

// openSkill reads the files of the run's skill, nil if it has none. They are read for each start of a loop, because the prompt
// has a part of them, and are not kept while nothing runs.
func (e *Engine) openSkill(ctx context.Context, l *loop, run *v1alpha1.MotorRun) (*pinnedSkill, error) {
	pin := run.Status.Skill
	if pin == nil {
		return nil, nil
	}
	files, err := e.skillFiles(ctx, run.Namespace, pin)
	notThere := errors.Is(err, skillstore.ErrMissing) || errors.Is(err, skillstore.ErrDamaged)
	switch {
	case notThere && l.mayComeBack(e.Now()):
		return nil, fmt.Errorf("read the skill %s: %w: %w", pin.Name, errMissing, err)
	case notThere:
		return nil, skillFailure(pin, "cannot be read", err)
	case err != nil:
		return nil, fmt.Errorf("read the skill %s: %w", pin.Name, err)
	}
	s := &pinnedSkill{pin: pin, files: files}
	if i := slices.IndexFunc(files, func(f skill.File) bool { return f.Path == skill.ManifestName }); i >= 0 {
		// What was approved may have been imported.
		s.manifest, err = skill.ParseManifest(files[i].Content, skill.Lenient)
	} else {
		err = errors.New("it has no " + skill.ManifestName)
	}
	if err != nil {
		return nil, skillFailure(pin, "are no skill", err)
	}
	return s, nil
}

// skillFiles gives the files whose hash the run was accepted with. Revisions can be deleted and made anew under the same name.
func (e *Engine) skillFiles(ctx context.Context, namespace string, pin *v1alpha1.RunSkill) ([]skill.File, error) {
	var rev v1alpha1.SkillRevision
	err := e.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: pin.Revision}, &rev)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: there is no SkillRevision %s", skillstore.ErrMissing, pin.Revision)
	}
	if err != nil {
		return nil, fmt.Errorf("get SkillRevision %s: %w", pin.Revision, err)
	}
	store := skillstore.Store{Client: e.Client, Live: e.Live}
	files, err := store.Files(ctx, &rev)
	if err != nil {
		return nil, err
	}
	if rev.Spec.Skill != pin.Name || skill.ContentHash(files) != pin.ContentHash {
		return nil, fmt.Errorf("%w: the SkillRevision %s has other files than when the run was accepted", skillstore.ErrDamaged, pin.Revision)
	}
	return files, nil
}

func skillFailure(pin *v1alpha1.RunSkill, what string, err error) error {
	return &motorloop.Failure{
		Category: motorloop.InvalidTask,
		Reason:   motorloop.ReasonSkillFiles,
		Message:  fmt.Sprintf("The files of the skill %s, revision %s, %s: %v. Create another run.", pin.Name, pin.Revision, what, err),
	}
}

// putSkill puts the files of the skill into the workspace.
func (s *sandboxTools) putSkill(ctx context.Context) error {
	if s.skill == nil {
		return nil
	}
	from := toolapi.ProvenanceInternal
	if !trustsSkill(s.run) {
		from = toolapi.ProvenanceWeb
	}
	for i := range s.skill.files {
		f := &s.skill.files[i]
		put := s.client.PutFileFrom
		if f.Executable {
			put = s.client.PutProgram
		}
		if _, err := put(ctx, f.Path, f.Content, from); err != nil {
			remote, ok := errors.AsType[*toolclient.RemoteError](err)
			if !ok || errors.Is(err, toolclient.ErrStaleEpoch) || ctx.Err() != nil {
				return s.classify(ctx, err)
			}
			return skillFailure(s.skill.pin, "could not be put into the workspace", fmt.Errorf("%s: %s", f.Path, remote.Message))
		}
	}
	return nil
}

// trustsSkill says whether the files of the run's skill, if it has one, are as good as those that the run brings itself.
func trustsSkill(run *v1alpha1.MotorRun) bool {
	pin := run.Status.Skill
	return pin == nil || pin.Approved && !run.Spec.SkillReview
}

// config is what the loop is told of the skill.
func (s *pinnedSkill) config(run *v1alpha1.MotorRun) *motorloop.Skill {
	if s == nil {
		return nil
	}
	c := &motorloop.Skill{
		Name: s.pin.Name, Description: s.manifest.Description, Body: s.manifest.Body,
		Inputs: inputsJSON(runpolicy.SkillInputs(run)), Approved: s.pin.Approved,
	}
	for i := range s.files {
		f := &s.files[i]
		c.Files = append(c.Files, motorloop.SkillFile{Path: f.Path, Size: int64(len(f.Content)), Executable: f.Executable})
	}
	return c
}

// inputsJSON is "" if there are none.
func inputsJSON(inputs []skill.Input) string {
	if len(inputs) == 0 {
		return ""
	}
	values := make(map[string]any, len(inputs))
	for _, in := range inputs {
		values[in.Name] = in.Value
	}
	return text.JSON(values)
}

// writesSkills says whether a skill that the run writes is kept, and whether it can write one.
func writesSkills(run *v1alpha1.MotorRun) bool {
	if run.Spec.SkillReview || run.Spec.ExtractSkills == v1alpha1.ExtractNever {
		return false
	}
	return slices.ContainsFunc(run.Spec.Tools, func(t v1alpha1.ToolName) bool {
		switch t {
		case toolapi.ToolBash, toolapi.ToolWrite, toolapi.ToolEdit, toolapi.ToolPatch:
			return true
		}
		return false
	})
}
