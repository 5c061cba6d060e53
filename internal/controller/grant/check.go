// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
)

// Check checks, before the run asks for a slot, that there is a proxy for its domains and that it can use its credentials. An accepted run stays
// accepted.
func (g *Granter) Check(ctx context.Context, s *pass.Run) (bool, error) {
	if pass.IsAccepted(s.Run) {
		return true, nil
	}
	problem, err := g.problem(ctx, s)
	if err != nil || problem == nil {
		return err == nil, err
	}
	s.Block(v1alpha1.ConditionAccepted, problem.Reason, problem.Message, true)
	// Neither the Service nor a Secret is watched.
	s.Wake(s.Now.Add(s.Pause()))
	return false, nil
}

// problem returns what the run's way out lacks, nil if nothing.
func (g *Granter) problem(ctx context.Context, s *pass.Run) (*cortex.Problem, error) {
	if len(s.Run.Spec.Domains) > 0 {
		address, err := g.proxyAddress(ctx, s.Age())
		if err != nil {
			return nil, err
		}
		if address == "" {
			return &cortex.Problem{Reason: v1alpha1.ReasonEgressUnavailable, Message: g.noProxyMessage()}, nil
		}
	}
	err := g.checkCredentials(ctx, s.Run, s.Age())
	if p, ok := cortex.AsProblem(err); ok {
		return p, nil
	}
	return nil, err
}
