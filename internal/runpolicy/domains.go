// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
)

// Limits of what a run may reach, in entries and in bytes of JSON. Fit cuts nothing off the list in the status, because
// the engine and people go by it, so it must fit beside everything else that is kept.
const (
	maxDomains     = 256
	maxDomainBytes = 4 << 10
)

// Bounds are the most that the namespace's MotorCortex allows its runs: nil for no bound, empty for nothing.
func Bounds(cortex *v1alpha1.MotorCortex) []v1alpha1.Domain {
	if cortex == nil || cortex.Spec.Egress == nil {
		return nil
	}
	return cortex.Spec.Egress.AllowedDomains
}

// StorageClasses are those that the namespace's MotorCortex allows its runs for their workspaces.
func StorageClasses(cortex *v1alpha1.MotorCortex) []string {
	if cortex == nil || cortex.Spec.Sandbox == nil {
		return nil
	}
	return cortex.Spec.Sandbox.AllowedStorageClasses
}

// RefuseStorageClass says why the run's workspace cannot be of the class that it names, nil if it can, or names none.
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

// Refusal says why a run is not carried out.
type Refusal struct {
	// Reason of the condition Accepted.
	Reason string
	// Message says what is wrong and what to do.
	Message string
	// Final says that no change of anything else can help, so that the run ends.
	Final bool
}

// RefuseDomains says why the run's domains, or the hosts of its credentials and MCP servers, cannot be allowed, nil if they
// can.
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
		return &Refusal{Reason: v1alpha1.ReasonDomainNotAllowed, Message: CutEncoded(fmt.Sprintf(
			"spec.domains[%d] %s is not within spec.egress.allowedDomains of the namespace's MotorCortex. The run starts when it is.", i, r),
			maxFailureText)}
	}
	return nil
}

// refuseHosts finds a credential that is bound to a host which the run may not reach by its spec. What a person allows it
// later is not asked: a credential goes where its run's author wrote that it goes.
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
	return &Refusal{Reason: reason, Message: CutEncoded(fmt.Sprintf(format, args...), maxFailureText), Final: true}
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

// listedSize is what a rule takes in a list in JSON.
func listedSize(r allowlist.Rule) int { return encodedSize(r.String()) + len(`"",`) }

// Domains are what the run may reach now, without doubles and in an order that does not change while they do not: those of
// its spec, those of spec.retries whose attempt has begun, those that a person allowed until it ends, and last those that a
// person allowed once, unless the run stands still or a program of it is in the background. What the bounds do not allow is left out, also of the spec: who narrows the bounds narrows the runs
// that are under way.
func Domains(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) []v1alpha1.Domain {
	return listOf(effective(run, p, bounds).rules)
}

// Lasting are those of Domains that the proxy lets the sandbox reach by now and that nobody allowed once only: a model that
// asks for one of them need not be told more.
func Lasting(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) []v1alpha1.Domain {
	granted, e := Granted(run), effective(run, p, bounds)
	return slices.DeleteFunc(listOf(e.rules[:e.lasting]), func(d v1alpha1.Domain) bool { return !slices.Contains(granted, d) })
}

// LeftOut are the domains that the run would have and does not get: because of the bounds, because they are none, or
// because there are too many.
func LeftOut(run *v1alpha1.MotorRun, p Progress, bounds []v1alpha1.Domain) []v1alpha1.Domain {
	return effective(run, p, bounds).leftOut
}

// Granted are the domains that the proxy lets the sandbox reach according to the status. It is never nil.
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
		// An entry for an attempt that the operator began without it is ignored, as its guidance is.
		if entry := retryOf(run, a.Index); entry != nil && a.Cause == v1alpha1.CauseRetry {
			e.add(entry.AddDomains...)
		}
	}
	for i := range p.DomainRequests {
		if q := &p.DomainRequests[i]; q.decision(run) == v1alpha1.DecisionAllowRun {
			e.add(q.Domain)
		}
	}
	e.lasting = len(e.rules)
	if standsStill(run, p) || p.InBackground {
		return e // What is for one call must not be there for a program that was there before it.
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
