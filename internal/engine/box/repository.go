// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// usesGit reports whether a tool of the run can use a repository. If none can, git must not touch input files at all: least of all
// those of an unapproved skill.
func usesGit(run *v1alpha1.MotorRun) bool {
	return run.Spec.Mode != v1alpha1.ModeOneshot && run.Spec.Mode != v1alpha1.ModeInstall && !run.Spec.SkillReview &&
		slices.ContainsFunc(run.Spec.Tools, func(t v1alpha1.ToolName) bool { return t == toolapi.ToolBash || t == toolapi.ToolCode })
}

// makeRepository makes the input files the first commit of a repository. It is a service to the model: without it the run goes on.
func (s *Box) makeRepository(ctx context.Context) error {
	if !usesGit(s.Env.Run) || !s.Client.Peer().Serves(http.MethodPost, toolapi.PathRepository) {
		return nil
	}
	repository, err := s.Client.MakeRepository(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, toolclient.ErrStaleEpoch):
		return s.Env.Classify(ctx, err)
	default:
		// A volume may be too slow for it. The next call detects a sandbox that is gone.
		s.Env.Log.Warn("the files that were given are in no repository", "error", err)
		return nil
	}
	s.Env.Log.Info("the sandbox was asked for a repository", "made", repository.Made)
	return nil
}
