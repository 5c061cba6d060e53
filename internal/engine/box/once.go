// SPDX-License-Identifier: Apache-2.0

package box

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

const (
	// onceTimeout is how long a call waits until the proxy knows the domains for it. The loop tries again after that.
	onceTimeout = 30 * time.Second
	// oncePause lies between two looks.
	oncePause = 50 * time.Millisecond
)

// decidedOnce reports whether a person ever allowed the run something once.
func decidedOnce(run *v1alpha1.MotorRun) bool {
	return slices.ContainsFunc(run.Spec.Responses, func(r v1alpha1.Response) bool { return r.Decision == v1alpha1.DecisionAllowOnce })
}

// awaitOnce waits until the proxy applies the domains that were allowed once: they are open if they are for this call, and closed if they were
// for an earlier one. It first ends older background programs: they could use the domains of the call.
func (s *Box) awaitOnce(ctx context.Context, c toolapi.Call) error {
	if !s.Limited || !toolapi.ReachesOut(c.Tool) || !decidedOnce(s.Env.Run) {
		return nil
	}
	counts, err := s.onceKnown(ctx)
	if err != nil || !counts || !s.left && !s.Env.Entries.HasPrograms() {
		return err
	}
	if state, err := s.Client.State(ctx, c.ID); err != nil || state.Phase != toolapi.CallAbsent {
		return s.Env.Classify(ctx, err) // The call was made before, and the running programs may be its own.
	}
	programs, err := s.Client.EndBackground(ctx, toolapi.StoppedWayOut)
	if errors.Is(err, toolclient.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return s.Env.Classify(ctx, err)
	}
	s.Env.Entries.UsePrograms(programs)
	return nil
}

// onceKnown waits until the proxy knows which of the domains that were allowed once apply, and reports whether any does.
func (s *Box) onceKnown(ctx context.Context) (counts bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, onceTimeout, fmt.Errorf("wait for the egress proxy to know what was allowed for one call: %w", runenv.ErrMissing))
	defer cancel()
	for {
		run := &v1alpha1.MotorRun{}
		if err := s.Env.Client.Get(ctx, client.ObjectKeyFromObject(s.Env.Run), run); err != nil {
			return false, fmt.Errorf("get the run: %w", err)
		}
		run = reach.Effective(run)
		counts, known := runpolicy.Once(run, runpolicy.ReadJournal(run, s.Env.Entries.Everything()), s.Bounds)
		if known {
			return counts, nil
		}
		select {
		case <-time.After(oncePause):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}
