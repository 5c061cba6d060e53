// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
)

// Domains returns the domains that the run may reach now, without duplicates and in a stable order. First come those of its spec, then those of
// decisions for a further attempt that has begun, then those that a person allowed until the run ends. Last come those that a person allowed once, unless the
// run stands still or a program of it is in the background. Domains outside the bounds are left out, also those of the spec: narrower bounds narrow
// the runs that are under way.
func Domains(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) []v1alpha1.Domain {
	return reach.ListOf(effective(run, p, bounds).Rules)
}

// MayReachOut reports whether the run has domains, or can get some while its current attempt lasts. The bounds do not count: they can be widened.
func MayReachOut(run *v1alpha1.MotorRun) bool {
	if OffersDomainRequest(run) {
		return true
	}
	for i := range run.Spec.Responses {
		if len(run.Spec.Responses[i].AddDomains) > 0 {
			return true
		}
	}
	return false
}

// Lasting returns those of Domains that the proxy lets the sandbox reach by now and that were not allowed only once. A model that asks for one of
// them needs no further answer.
func Lasting(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) []v1alpha1.Domain {
	granted, e := reach.Granted(run), effective(run, p, bounds)
	return slices.DeleteFunc(reach.ListOf(e.Rules[:e.Lasting]), func(d v1alpha1.Domain) bool { return !slices.Contains(granted, d) })
}

// LeftOut returns the domains that the run asks for and does not get: they exceed the bounds, are invalid, or are too many.
func LeftOut(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) []v1alpha1.Domain {
	return effective(run, p, bounds).LeftOut
}

func effective(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) *reach.DomainSet {
	e := &reach.DomainSet{Limit: reach.LimitOf(bounds)}
	e.Add(run.Spec.Domains...)
	for _, a := range run.Status.Attempts {
		// A decision about an attempt that the operator began without it is ignored, as its guidance is.
		if r := RetryOf(run, a.Index-1); r != nil && a.Cause == v1alpha1.CauseRetry {
			e.Add(r.AddDomains...)
		}
	}
	for i := range p.DomainRequests {
		if q := &p.DomainRequests[i]; q.decision(run) == v1alpha1.DecisionAllowRun {
			e.Add(q.Domain)
		}
	}
	e.Lasting = len(e.Rules)
	if standsStill(run, p) || p.InBackground {
		return e // A domain for one call must not be reachable for a program that ran before it.
	}
	for i := range p.DomainRequests {
		if q := &p.DomainRequests[i]; !q.Over && q.decision(run) == v1alpha1.DecisionAllowOnce {
			e.Add(q.Domain)
		}
	}
	return e
}
