// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

// Limits of the domains of a run, in entries and in bytes of JSON. The engine and people rely on the list in the status, so Fit drops no entry of
// it. The list must therefore fit beside everything else that is retained.
const (
	maxDomains     = 256
	maxDomainBytes = 4 << 10
)

// Bounds returns the domains that the namespace's MotorCortex allows its runs: nil for no bound, empty for none.
func Bounds(cortex *v1alpha1.MotorCortex) []v1alpha1.Domain {
	if cortex == nil || cortex.Spec.Egress == nil {
		return nil
	}
	return cortex.Spec.Egress.AllowedDomains
}

// StorageClasses returns the classes that the namespace's MotorCortex allows for the workspaces of its runs.
func StorageClasses(cortex *v1alpha1.MotorCortex) []string {
	if cortex == nil || cortex.Spec.Sandbox == nil {
		return nil
	}
	return cortex.Spec.Sandbox.AllowedStorageClasses
}

// RefuseStorageClass returns why the run's workspace cannot have the class that it names, nil if it can, or names none.
func RefuseStorageClass(run *v1alpha1.MotorRun, allowed []string) *Refusal {
	if run.Spec.Sandbox == nil || run.Spec.Sandbox.WorkspaceStorageClassName == nil {
		return nil
	}
	class := *run.Spec.Sandbox.WorkspaceStorageClassName
	if slices.Contains(allowed, class) {
		return nil
	}
	return &Refusal{Reason: v1alpha1.ReasonStorageClassNotAllowed, Message: fmt.Sprintf(
		"spec.sandbox.workspaceStorageClassName is %s, and spec.sandbox.allowedStorageClasses of the namespace's MotorCortex does not have it. "+
			"The run starts when it does; without the field, the workspace is on the node's disk.", class)}
}

// Refusal is the reason why a run is not carried out.
type Refusal struct {
	// Reason of the condition Accepted.
	Reason string
	// Message describes the problem and what to do.
	Message string
	// Final is true if no change of another object can help, so that the run ends.
	Final bool
}

// RefuseDomains returns why the run's domains, or the hosts of its credentials and MCP servers, cannot be allowed, nil if they can.
func RefuseDomains(run *v1alpha1.MotorRun, bounds []v1alpha1.Domain) *Refusal {
	var own allowlist.List
	size := 0
	for i, d := range run.Spec.Domains {
		r, err := allowlist.ParseRule(string(d))
		if err != nil {
			return finalRefusal(v1alpha1.ReasonDomainInvalid, "spec.domains[%d]: %v.", i, err)
		}
		own, size = append(own, r), size+listedSize(r)
	}
	if size > maxDomainBytes {
		return finalRefusal(v1alpha1.ReasonDomainInvalid,
			"spec.domains take %d bytes together and may take %d: name the domains above them, as in *.example.org.", size, maxDomainBytes)
	}
	if r := refuseHosts(run, own); r != nil {
		return r
	}
	if r := refuseServers(run, own); r != nil {
		return r
	}
	allowed := limitOf(bounds)
	for i, r := range own {
		if allowed.allows(r) {
			continue
		}
		return &Refusal{Reason: v1alpha1.ReasonDomainNotAllowed, Message: fit.CutEncoded(fmt.Sprintf(
			"spec.domains[%d] %s is not within spec.egress.allowedDomains of the namespace's MotorCortex. The run starts when it is.", i, r),
			fit.MaxFailureText)}
	}
	return nil
}

// refuseHosts finds a credential that is bound to a host which the run may not reach by its spec. Domains that a person allows later do not count:
// a credential goes only where its run's author wrote that it goes.
func refuseHosts(run *v1alpha1.MotorRun, own allowlist.List) *Refusal {
	for i := range run.Spec.Credentials {
		for j, h := range run.Spec.Credentials[i].Hosts {
			r, err := allowlist.ParseRule(string(h))
			switch {
			case err != nil:
				return finalRefusal(v1alpha1.ReasonCredentialHostNotAllowed, "spec.credentials[%d].hosts[%d]: %v.", i, j, err)
			case !own.Covers(r):
				return finalRefusal(v1alpha1.ReasonCredentialHostNotAllowed,
					"spec.credentials[%d].hosts[%d] %s is not within spec.domains: add it there, or bind the credential to a host that is.", i, j, r)
			}
		}
	}
	return nil
}

func finalRefusal(reason, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Message: fit.CutEncoded(fmt.Sprintf(format, args...), fit.MaxFailureText), Final: true}
}

// limit is bounds as they are compared with.
type limit struct {
	none bool
	list allowlist.List
}

func limitOf(bounds []v1alpha1.Domain) limit {
	return limit{none: bounds == nil, list: rulesOf(bounds)}
}

// allows reports whether the bounds allow all that the rule does.
func (l limit) allows(r allowlist.Rule) bool { return l.none || l.list.Covers(r) }

// rulesOf returns the rules of a list. An entry that is no rule allows nothing.
func rulesOf(domains []v1alpha1.Domain) allowlist.List {
	list := make(allowlist.List, 0, len(domains))
	for _, d := range domains {
		if r, err := allowlist.ParseRule(string(d)); err == nil {
			list = append(list, r)
		}
	}
	return list
}

// listedSize returns the size of a rule in a JSON list.
func listedSize(r allowlist.Rule) int { return fit.EncodedSize(r.String()) + len(`"",`) }

// Domains returns the domains that the run may reach now, without duplicates and in a stable order. First come those of its spec, then those of
// decisions for a further attempt that has begun, then those that a person allowed until the run ends. Last come those that a person allowed once, unless the
// run stands still or a program of it is in the background. Domains outside the bounds are left out, also those of the spec: narrower bounds narrow
// the runs that are under way.
func Domains(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) []v1alpha1.Domain {
	return listOf(effective(run, p, bounds).rules)
}

// Lasting returns those of Domains that the proxy lets the sandbox reach by now and that were not allowed only once. A model that asks for one of
// them needs no further answer.
func Lasting(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) []v1alpha1.Domain {
	granted, e := Granted(run), effective(run, p, bounds)
	return slices.DeleteFunc(listOf(e.rules[:e.lasting]), func(d v1alpha1.Domain) bool { return !slices.Contains(granted, d) })
}

// LeftOut returns the domains that the run asks for and does not get: they exceed the bounds, are invalid, or are too many.
func LeftOut(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) []v1alpha1.Domain {
	return effective(run, p, bounds).leftOut
}

// Granted returns the domains that the proxy lets the sandbox reach according to the status. It is never nil.
func Granted(run *v1alpha1.MotorRun) []v1alpha1.Domain {
	if run.Status.Egress == nil {
		return []v1alpha1.Domain{}
	}
	return append([]v1alpha1.Domain{}, run.Status.Egress.Domains...)
}

func listOf(rules allowlist.List) []v1alpha1.Domain {
	domains := make([]v1alpha1.Domain, 0, len(rules))
	for _, r := range rules {
		domains = append(domains, v1alpha1.Domain(r.String()))
	}
	return domains
}

// domainSet gathers rules. The first lasting ones of them count until the run ends.
type domainSet struct {
	limit   limit
	rules   allowlist.List
	lasting int
	// size of the rules in a list in JSON.
	size    int
	leftOut []v1alpha1.Domain
}

func effective(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) *domainSet {
	e := &domainSet{limit: limitOf(bounds)}
	e.add(run.Spec.Domains...)
	for _, a := range run.Status.Attempts {
		// A decision about an attempt that the operator began without it is ignored, as its guidance is.
		if r := retryOf(run, a.Index); r != nil && a.Cause == v1alpha1.CauseRetry {
			e.add(r.AddDomains...)
		}
	}
	for i := range p.DomainRequests {
		if q := &p.DomainRequests[i]; q.decision(run) == v1alpha1.DecisionAllowRun {
			e.add(q.Domain)
		}
	}
	e.lasting = len(e.rules)
	if standsStill(run, p) || p.InBackground {
		return e // A domain for one call must not be reachable for a program that ran before it.
	}
	for i := range p.DomainRequests {
		if q := &p.DomainRequests[i]; !q.Over && q.decision(run) == v1alpha1.DecisionAllowOnce {
			e.add(q.Domain)
		}
	}
	return e
}

func (e *domainSet) add(domains ...v1alpha1.Domain) {
	for _, d := range domains {
		r, err := allowlist.ParseRule(string(d))
		switch {
		case err == nil && slices.Contains(e.rules, r):
		case err == nil && e.limit.allows(r) && e.hasRoom(r):
			e.rules, e.size = append(e.rules, r), e.size+listedSize(r)
		case !slices.Contains(e.leftOut, d):
			e.leftOut = append(e.leftOut, d)
		}
	}
}

func (e *domainSet) hasRoom(r allowlist.Rule) bool {
	return len(e.rules) < maxDomains && e.size+listedSize(r) <= maxDomainBytes
}
