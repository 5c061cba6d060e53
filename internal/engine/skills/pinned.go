// SPDX-License-Identifier: Apache-2.0

package skills

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop/config"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
	"motorcortex.dev/motorcortex/internal/skill"
	skillstore "motorcortex.dev/motorcortex/internal/skill/store"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// Pinned is the skill of a run as it was accepted with it. Nothing of it comes from a sandbox, or from the current state of the Skill.
// It has only the content of SKILL.md: other files are read when a sandbox needs them.
type Pinned struct {
	pin      *v1alpha1.RunSkill
	rev      *v1alpha1.SkillRevision
	manifest skill.Manifest
}

// Open finds the run's skill, nil if it has none. It is called for each start of a loop, because the prompt has a part of it.
func Open(ctx context.Context, env *runenv.Env) (*Pinned, error) {
	pin := env.Run.Status.Skill
	if pin == nil {
		return nil, nil
	}
	rev, err := revision(ctx, env, pin)
	if err != nil {
		return nil, problem(env, pin, err)
	}
	if !slices.ContainsFunc(rev.Spec.Files, func(f v1alpha1.RevisionFile) bool { return f.Path == skill.ManifestName }) {
		return nil, failure(pin, "are no skill", errors.New("it has no "+skill.ManifestName))
	}
	file, err := store(env).File(ctx, rev, skill.ManifestName)
	if err != nil {
		return nil, problem(env, pin, err)
	}
	// An approved manifest may have been imported.
	manifest, err := skill.ParseManifest(file.Content)
	if err != nil {
		return nil, failure(pin, "are no skill", err)
	}
	return &Pinned{pin: pin, rev: rev, manifest: manifest}, nil
}

func store(env *runenv.Env) *skillstore.Store {
	return &skillstore.Store{Client: env.Client, Live: env.Live}
}

// revision returns the revision whose hash the run was accepted with. Revisions can be deleted and made anew under the same name.
func revision(ctx context.Context, env *runenv.Env, pin *v1alpha1.RunSkill) (*v1alpha1.SkillRevision, error) {
	rev := &v1alpha1.SkillRevision{}
	err := env.Live.Get(ctx, types.NamespacedName{Namespace: env.Run.Namespace, Name: pin.RevisionName}, rev)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: there is no SkillRevision %s", skillstore.ErrMissing, pin.RevisionName)
	}
	if err != nil {
		return nil, fmt.Errorf("get SkillRevision %s: %w", pin.RevisionName, err)
	}
	if rev.Spec.SkillName != pin.Name || rev.Spec.ContentHash != pin.ContentHash || skill.HashOf(rev.Spec.Files) != pin.ContentHash {
		return nil, fmt.Errorf("%w: the SkillRevision %s has other files than when the run was accepted", skillstore.ErrDamaged, pin.RevisionName)
	}
	return rev, nil
}

// problem distinguishes a missing skill, which may come back for a while, from trouble with the API server.
func problem(env *runenv.Env, pin *v1alpha1.RunSkill, err error) error {
	notThere := errors.Is(err, skillstore.ErrMissing) || errors.Is(err, skillstore.ErrDamaged)
	switch {
	case notThere && env.MayComeBack():
		return fmt.Errorf("read the skill %s: %w: %w", pin.Name, runenv.ErrMissing, err)
	case notThere:
		return failure(pin, "cannot be read", err)
	}
	return fmt.Errorf("read the skill %s: %w", pin.Name, err)
}

func failure(pin *v1alpha1.RunSkill, what string, err error) error {
	return &outcome.Failure{
		Category: outcome.InvalidTask,
		Reason:   outcome.ReasonSkillFiles,
		Message:  fmt.Sprintf("The files of the skill %s, revision %s, %s: %v. Create another run.", pin.Name, pin.RevisionName, what, err),
	}
}

// Put puts the files of the skill, if there is one, into the workspace, as they are read.
func (s *Pinned) Put(ctx context.Context, env *runenv.Env, tools *toolclient.Client) error {
	if s == nil {
		return nil
	}
	ctx, release, err := env.Acquire(ctx, &env.Limits.Seeding, runenv.MaxSeeding)
	if err != nil {
		return fmt.Errorf("wait for the turn to put the skill into the sandbox: %w", err)
	}
	defer release()
	from := toolapi.ProvenanceInternal
	if !Trusts(env.Run) {
		from = toolapi.ProvenanceWeb
	}
	for f, err := range store(env).Each(ctx, s.rev) {
		if err != nil {
			return problem(env, s.pin, err)
		}
		if err := s.putFile(ctx, env, tools, &f, from); err != nil {
			return err
		}
	}
	return nil
}

func (s *Pinned) putFile(ctx context.Context, env *runenv.Env, tools *toolclient.Client, f *skill.File, from toolapi.Provenance) error {
	put := tools.PutFileFrom
	if f.Executable {
		put = tools.PutProgram
	}
	_, err := put(ctx, f.Path, f.Content, from)
	if err == nil {
		return nil
	}
	remote, ok := toolclient.RemoteProblem(err)
	if !ok || ctx.Err() != nil {
		return env.Classify(ctx, err)
	}
	return failure(s.pin, "could not be put into the workspace", fmt.Errorf("%s: %s", f.Path, remote.Message))
}

// Trusts reports whether the files of the run's skill, if it has one, are as trustworthy as the run's own input files.
func Trusts(run *v1alpha1.MotorRun) bool {
	pin := run.Status.Skill
	return pin == nil || pin.Approved && !run.Spec.SkillReview
}

// Config returns the loop's configuration of the skill.
func (s *Pinned) Config(run *v1alpha1.MotorRun) *config.Skill {
	if s == nil {
		return nil
	}
	c := &config.Skill{
		Name: s.pin.Name, Description: s.manifest.Description, Body: s.manifest.Body,
		Inputs: inputsJSON(reach.SkillInputs(run)), Approved: s.pin.Approved,
	}
	for _, f := range s.rev.Spec.Files {
		c.Files = append(c.Files, config.SkillFile{Path: f.Path, Size: f.Size, Executable: f.Executable})
	}
	return c
}

// inputsJSON returns the inputs as JSON, "" if there are none.
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

// Writes reports whether a skill that the run writes is stored, and whether the run can write one.
func Writes(run *v1alpha1.MotorRun) bool {
	if run.Spec.SkillReview || run.Spec.ExtractSkills == v1alpha1.ExtractNever {
		return false
	}
	return slices.ContainsFunc(run.Spec.Tools, func(t v1alpha1.ToolName) bool { return toolapi.WritesFiles(string(t)) })
}
