// SPDX-License-Identifier: Apache-2.0

// Package reach decides what a run may use: domains, hosts of credentials and servers, its skill and the policy of that, files, storage and
// checks. It compares specs with bounds and knows nothing of the course of the run.
package reach

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
	MaxDomains     = 256
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
	allowed := LimitOf(bounds)
	for i, r := range own {
		if allowed.Allows(r) {
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

// Limit is bounds as they are compared with.
type Limit struct {
	none bool
	list allowlist.List
}

// LimitOf returns the limit that bounds set, no limit for nil.
func LimitOf(bounds []v1alpha1.Domain) Limit {
	return Limit{none: bounds == nil, list: RulesOf(bounds)}
}

// Allows reports whether the bounds allow all that the rule does.
func (l Limit) Allows(r allowlist.Rule) bool { return l.none || l.list.Covers(r) }

// RulesOf returns the rules of a list. An entry that is no rule allows nothing.
func RulesOf(domains []v1alpha1.Domain) allowlist.List {
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

// Granted returns the domains that the proxy lets the sandbox reach according to the status. It is never nil.
func Granted(run *v1alpha1.MotorRun) []v1alpha1.Domain {
	if run.Status.Egress == nil {
		return []v1alpha1.Domain{}
	}
	return append([]v1alpha1.Domain{}, run.Status.Egress.Domains...)
}

// ListOf returns the rules as the API has them.
func ListOf(rules allowlist.List) []v1alpha1.Domain {
	domains := make([]v1alpha1.Domain, 0, len(rules))
	for _, r := range rules {
		domains = append(domains, v1alpha1.Domain(r.String()))
	}
	return domains
}

// DomainSet gathers rules. The first lasting ones of them count until the run ends.
type DomainSet struct {
	Limit   Limit
	Rules   allowlist.List
	Lasting int
	// size of the rules in a list in JSON.
	size    int
	LeftOut []v1alpha1.Domain
}

// Add adds the domains that are valid, within the limit and have room; the others are in LeftOut.
func (e *DomainSet) Add(domains ...v1alpha1.Domain) {
	for _, d := range domains {
		r, err := allowlist.ParseRule(string(d))
		switch {
		case err == nil && slices.Contains(e.Rules, r):
		case err == nil && e.Limit.Allows(r) && e.HasRoom(r):
			e.Rules, e.size = append(e.Rules, r), e.size+listedSize(r)
		case !slices.Contains(e.LeftOut, d):
			e.LeftOut = append(e.LeftOut, d)
		}
	}
}

// HasRoom reports whether a rule fits beside the others.
func (e *DomainSet) HasRoom(r allowlist.Rule) bool {
	return len(e.Rules) < MaxDomains && e.size+listedSize(r) <= maxDomainBytes
}
