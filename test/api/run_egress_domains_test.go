// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// asksFor has the model ask for a domain, and gives the id of the question.
func (r *rig) asksFor(index int32, domain string) string {
	r.t.Helper()
	r.said(turnAt(index, "", "request_domain:{\"domain\":\""+domain+"\",\"reason\":\"the data is there\"}"))
	told := len(r.events)
	r.settle()
	if slices.Contains(r.events[told:], "Normal Answered") {
		r.t.Errorf("before anything was asked there is an answer: %q", r.events[told:])
	}
	r.asks(v1alpha1.InputDomainRequest, 0)
	r.settle()
	p := r.run().Status.Pending()
	if p == nil || p.Kind != v1alpha1.InputDomainRequest || p.Domain != v1alpha1.Domain(domain) {
		r.t.Fatalf("pending %+v", p)
	}
	r.want(v1alpha1.PhaseAwaitingInput, "AwaitingInput True DomainRequest")
	return p.ID
}

func (r *rig) wantDomains(want string) {
	r.t.Helper()
	if got := r.domains(); got != want {
		r.t.Errorf("status.egress.domains %s, want %s", got, want)
	}
	_, g := r.grantOf()
	got := "none"
	if g != nil {
		got = ""
		for i, d := range g.Domains {
			if i > 0 {
				got += " "
			}
			got += d
		}
	}
	if got != want {
		r.t.Errorf("the grant has %s, want %s", got, want)
	}
}

func TestDomainAllowedForTheRun(t *testing.T) {
	r := egressRig(t, reaching("example.org"))
	r.ready()
	id := r.asksFor(1, "example.net")
	r.wantDomains("example.org")
	r.decide(id, v1alpha1.DecisionAllowRun)
	r.settle()
	r.wantDomains("example.org example.net")
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False Answered", "EgressReady True Granted")
	if a := r.route().Annotations[v1alpha1.AnnotationDomains]; a != "example.org, example.net" {
		t.Errorf("annotation %q", a)
	}
	if r.run().Status.Sandbox.IsolationLossTime != nil {
		t.Error("a domain more counts as a loss of isolation")
	}
	r.used("AllowRun")
	r.said(turnAt(2, "", `bash:{"command":"true"}`))
	r.settle()
	r.wantDomains("example.org example.net")
}

func TestDomainAllowedOnce(t *testing.T) {
	r := egressRig(t, reaching("example.org"))
	r.ready()
	id := r.asksFor(1, "example.net")
	r.decide(id, v1alpha1.DecisionAllowOnce)
	r.settle()
	r.wantDomains("example.org example.net")
	r.used("AllowOnce")
	next := turnAt(2, "", `bash:{"command":"true"}`)
	r.said(next)
	r.settle()
	r.wantDomains("example.org example.net")
	l := r.log()
	turns := l.Turns()
	last := turns[len(turns)-1]
	last.Results[0] = okResult("", 1)
	must(t, l.Settle(r.ctx, last))
	r.settle()
	r.wantDomains("example.org")
	if a := r.route().Annotations[v1alpha1.AnnotationDomains]; a != "example.org" {
		t.Errorf("annotation %q", a)
	}
}

func TestDomainDenied(t *testing.T) {
	r := egressRig(t, reaching("example.org"))
	r.ready()
	r.decide(r.asksFor(1, "example.net"), v1alpha1.DecisionDeny)
	r.settle()
	r.wantDomains("example.org")
	r.want(v1alpha1.PhaseRunning, "AwaitingInput False Answered")
}

// The first domain of a run comes with its first NetworkPolicy, which is no loss of isolation, and goes with it.
func TestFirstDomainOfARun(t *testing.T) {
	r := egressRig(t, func(run *v1alpha1.MotorRun) { run.Spec.Tools = append(run.Spec.Tools, toolapi.ToolRequestDomain) })
	r.ready()
	id := r.asksFor(1, "example.net")
	if s, _ := r.grantOf(); s != nil || r.route() != nil {
		t.Fatal("a grant or a NetworkPolicy before there is a domain")
	}
	r.decide(id, v1alpha1.DecisionAllowOnce)
	r.settle()
	r.wantDomains("example.net")
	if r.route() == nil {
		t.Fatal("no NetworkPolicy")
	}
	r.used("AllowOnce")
	next := turnAt(2, "", `bash:{"command":"true"}`)
	next.Results[0] = okResult("", 1)
	r.said(next)
	r.settle()
	r.wantDomains("none")
	if r.route() != nil {
		t.Error("the NetworkPolicy stands")
	}
	r.want(v1alpha1.PhaseRunning, "EgressReady ", "IsolationVerified True AllBlocked")
	if r.run().Status.Sandbox.IsolationLossTime != nil {
		t.Error("opening and closing the way counts as a loss of isolation")
	}
}

func TestBoundsOfTheNamespace(t *testing.T) {
	r := emptyRig(t)
	r.proxy()
	cortex := &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, "default"), Spec: v1alpha1.MotorCortexSpec{
		Egress: &v1alpha1.EgressBounds{AllowedDomains: []v1alpha1.Domain{"example.org"}},
	}}
	must(t, admin.Create(r.ctx, cortex))
	r.create(admin, reaching("example.org", "example.net"))
	r.wantBlocked("Accepted", "DomainNotAllowed", "example.net")
	bound := func(domains ...v1alpha1.Domain) {
		cortex.Spec.Egress.AllowedDomains = domains
		must(t, admin.Update(r.ctx, cortex))
	}
	bound("*.example.net", "example.net", "example.org")
	r.ready()
	r.wantDomains("example.org example.net")
	// Who narrows the bounds narrows the runs that are under way.
	bound("example.org")
	r.settle()
	r.wantDomains("example.org")
	r.want(v1alpha1.PhaseRunning, "EgressReady True Granted")
	bound([]v1alpha1.Domain{}...)
	r.settle()
	r.wantDomains("none")
	r.want(v1alpha1.PhaseRunning, "EgressReady False DomainNotAllowed")
}

func TestDomainThatNoRunCanHave(t *testing.T) {
	r := newRig(t, reaching("co.uk"))
	r.step()
	r.wantEnd(v1alpha1.PhaseFailed, "DomainInvalid")
	if r.pod() != nil || r.route() != nil {
		t.Error("there is a sandbox or a NetworkPolicy")
	}
}
