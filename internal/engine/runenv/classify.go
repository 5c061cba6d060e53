// SPDX-License-Identifier: Apache-2.0

package runenv

import (
	"context"
	"errors"
	"fmt"

	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/toolclient"
)

// ErrOvertaken reports that the sandbox has served a later epoch of its run.
var ErrOvertaken = fmt.Errorf("the sandbox has served a later epoch of the run: %w", motorloop.ErrStale)

// Classify maps an error of the tool server's client to one of the loop: overtaken, lost, or nothing decided.
func (e *Env) Classify(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.Is(err, toolclient.ErrStaleEpoch):
		return ErrOvertaken
	case errors.Is(err, toolclient.ErrUnreachable) && e.MayComeBack():
		// Its node may start it again. If the Pod is gone, the controller will see that.
		return fmt.Errorf("%w: %w", ErrMissing, err)
	}
	if errors.Is(err, toolclient.ErrUnsupported) {
		return Outdated(err)
	}
	return &outcome.Failure{
		Category:  outcome.InfraFailure,
		Reason:    outcome.ReasonSandboxLost,
		Message:   fmt.Sprintf("The sandbox's tool server does not answer as it must: %v.", err),
		Retryable: true,
	}
}

// Outdated ends an attempt whose sandbox lacks a feature that the run needs. A new sandbox has it.
func Outdated(err error) error {
	return &outcome.Failure{
		Category: outcome.InfraFailure, Reason: outcome.ReasonSandboxOutdated, Retryable: true,
		Message: fmt.Sprintf("The sandbox was made by another release and cannot go on with the run: %v. Another attempt gets a new sandbox; "+
			"if it ends in the same way, look whether the rollout of the manager is complete.", err),
	}
}
