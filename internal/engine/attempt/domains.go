// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// DomainPolicy decides about the requests for domains of a run. It decides like the controller, which asks the person:
// both use runpolicy.
type DomainPolicy struct {
	Run *v1alpha1.MotorRun
	// lasting are the domains that the run may reach permanently, bounds the most that it can be allowed.
	lasting, bounds []v1alpha1.Domain
}

// NewDomainPolicy returns the policy of a run whose requests are bounded.
func NewDomainPolicy(run *v1alpha1.MotorRun, p runpolicy.Progress, bounds []v1alpha1.Domain) *DomainPolicy {
	return &DomainPolicy{Run: run, lasting: runpolicy.Lasting(run, p, bounds), bounds: bounds}
}

// readBounds reads the bounds of the run's requests.
func (a *Attempt) readBounds(ctx context.Context) ([]v1alpha1.Domain, error) {
	c, err := cortex.Get(ctx, a.Env.Client, a.Env.Run.Namespace)
	if err != nil {
		return nil, err
	}
	return reach.Bounds(c), nil
}

// Check answers a request that needs no decision of a person.
func (p *DomainPolicy) Check(arguments string) *toolapi.Result {
	verdict, message := runpolicy.JudgeDomainRequest(arguments, p.lasting, p.bounds)
	switch verdict {
	case runpolicy.DomainAsk:
		return nil
	case runpolicy.DomainAllowed:
		return &toolapi.Result{OK: true, Output: message, Provenance: toolapi.ProvenanceInternal}
	case runpolicy.DomainNever:
		return toolapi.Refusal(toolapi.CodeDomainNotAllowed, message)
	default:
		return toolapi.Refusal(toolapi.CodeInvalidArguments, message)
	}
}

// Decided returns the result for a person's decision.
func (p *DomainPolicy) Decided(arguments, decision string) *toolapi.Result {
	allowed, message := runpolicy.DomainDecision(arguments, v1alpha1.Decision(decision), reach.Granted(p.Run))
	if !allowed {
		return toolapi.Refusal(toolapi.CodeDomainDenied, message)
	}
	return &toolapi.Result{OK: true, Output: message, Provenance: toolapi.ProvenanceInternal}
}
