// SPDX-License-Identifier: Apache-2.0

package runpolicy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

type domains = []v1alpha1.Domain

func longDomains(n, size int) domains {
	var list domains
	for i := range n {
		list = append(list, v1alpha1.Domain(fmt.Sprintf("d%03d%s.example.org", i, strings.Repeat("x", size-len("d000.example.org")))))
	}
	return list
}

func request(domain string) stepOption {
	return call("request_domain", fmt.Sprintf(`{"domain":%q,"reason":"the task needs it"}`, domain))
}

// answered adds a request that has a result.
func answered(domain, code string) stepOption {
	return func(s *v1alpha1.MotorStep) {
		request(domain)(s)
		if code == "" || code == toolapi.CodeDomainDenied {
			asked(v1alpha1.InputDomainRequest, 10*sec)(s)
			closed(v1alpha1.AskApproved, 19*sec)(s)
		}
		s.Status.Results = append(s.Status.Results, v1alpha1.ToolResult{
			CallID: s.Spec.ToolCalls[len(s.Spec.ToolCalls)-1].ID, OK: code == "", ErrorCode: code, DurationMilliseconds: 9000,
		})
	}
}

func decide(run *v1alpha1.MotorRun, id string, d v1alpha1.Decision) *v1alpha1.MotorRun {
	run.Spec.Responses = append(run.Spec.Responses, v1alpha1.Response{ID: id, Decision: d})
	return run
}

// mayAsk returns a run whose model may ask for domains.
func mayAsk() *v1alpha1.MotorRun {
	run := testRun()
	run.Spec.Tools = []v1alpha1.ToolName{"bash", "request_domain"}
	return run
}

func TestDomainsOfSpecAndRetries(t *testing.T) {
	t.Parallel()
	run := func(causes ...v1alpha1.AttemptCause) *v1alpha1.MotorRun {
		r := withAttempts(testRun(), causes...)
		r.Spec.Domains = domains{"b.example.org", "example.org:443", "*.example.org:8443"}
		r.Spec.Responses = []v1alpha1.Response{
			{ID: "retry-2", Decision: v1alpha1.DecisionRetry, AddDomains: domains{"two.example.net"}}, {ID: "retry-1", Decision: v1alpha1.DecisionRetry, AddDomains: domains{"one.example.net", "example.org", "co.uk"}},
		}
		return r
	}
	spec := domains{"b.example.org", "example.org", "*.example.org:8443"}
	infra := v1alpha1.CauseInfrastructure
	tests := map[string]struct {
		run                   *v1alpha1.MotorRun
		bounds, want, leftOut domains
	}{
		"the first attempt":   {run(first), nil, spec, nil},
		"the second":          {run(first, retry), nil, append(spec[:3:3], "one.example.net"), domains{"co.uk"}},
		"the third":           {run(first, retry, retry), nil, append(spec[:3:3], "one.example.net", "two.example.net"), domains{"co.uk"}},
		"begun without it":    {run(first, infra, retry), nil, append(spec[:3:3], "two.example.net"), nil},
		"narrowed":            {run(first, retry), domains{"*.example.org", "one.example.net:8443"}, domains{"b.example.org"}, domains{"example.org:443", "*.example.org:8443", "one.example.net", "example.org", "co.uk"}},
		"nothing is allowed":  {run(first), domains{}, nil, run().Spec.Domains},
		"nothing is asked":    {testRun(), nil, nil, nil},
		"the status was lost": {run(), nil, spec, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				if diff := cmp.Diff(tt.want, Domains(tt.run, Progress{}, tt.bounds), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("domains (-want +got):\n%s", diff)
				}
			}
			if diff := cmp.Diff(tt.leftOut, LeftOut(tt.run, Progress{}, tt.bounds), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
		})
	}
}

// A sandbox of a run that may reach out at some time needs the label of the run from the beginning.
func TestRunsThatMayReachOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1alpha1.MotorRun)
		want   bool
	}{
		"with domains":           {func(r *v1alpha1.MotorRun) { r.Spec.Domains = domains{"example.org"} }, true},
		"that may ask for some":  {func(r *v1alpha1.MotorRun) { r.Spec.Tools = []v1alpha1.ToolName{"bash", "request_domain"} }, true},
		"with other tools alone": {func(r *v1alpha1.MotorRun) { r.Spec.Tools = []v1alpha1.ToolName{"bash", "code"} }, false},
		"that got some in a retry": {func(r *v1alpha1.MotorRun) {
			r.Spec.Responses = []v1alpha1.Response{{ID: "a"}, {ID: "retry-1", Decision: v1alpha1.DecisionRetry, AddDomains: domains{"example.org"}}}
		}, true},
		"that were only answered": {func(r *v1alpha1.MotorRun) { r.Spec.Responses = []v1alpha1.Response{{ID: "a", Answer: "b"}} }, false},
	} {
		run := testRun()
		run.Spec.Tools = nil
		if tt.change(run); MayReachOut(run) != tt.want {
			t.Errorf("runs %s: %t", name, !tt.want)
		}
	}
}

func TestDomainsOfDecisions(t *testing.T) {
	t.Parallel()
	const q1, q2 = "a1-s1-c0-00abc001", "a1-s1-c1-00abc001"
	once, always, deny := v1alpha1.DecisionAllowOnce, v1alpha1.DecisionAllowRun, v1alpha1.DecisionDeny
	asking := testStep(1, 1, requesting("example.org", 10*sec))
	told := testStep(1, 1, answered("example.org", ""))
	want := domains{"example.org"}
	tests := map[string]struct {
		decision v1alpha1.Decision
		steps    []v1alpha1.MotorStep
		attempts int
		bounds   domains
		want     domains
	}{
		"nobody decided":                       {"", []v1alpha1.MotorStep{asking}, 1, nil, nil},
		"denied":                               {deny, []v1alpha1.MotorStep{asking}, 1, nil, nil},
		"once, before the result":              {once, []v1alpha1.MotorStep{asking}, 1, nil, want},
		"once, with the result":                {once, []v1alpha1.MotorStep{told}, 1, nil, want},
		"once, a summary does not count":       {once, []v1alpha1.MotorStep{told, testStep(1, 2, summary(1))}, 1, nil, want},
		"once, in the turn after":              {once, []v1alpha1.MotorStep{told, testStep(1, 2, done("read", true, 1, ""), call("bash", "{}"))}, 1, nil, want},
		"once, a call has used it":             {once, []v1alpha1.MotorStep{told, testStep(1, 2, done("bash", true, 1, ""), call("bash", "{}"))}, 1, nil, nil},
		"once, the turn after has settled":     {once, []v1alpha1.MotorStep{told, testStep(1, 2, done("bash", true, 1, ""))}, 1, nil, nil},
		"once, the turn after called nothing":  {once, []v1alpha1.MotorStep{told, testStep(1, 2, final("done"))}, 1, nil, nil},
		"once, the attempt ended":              {once, []v1alpha1.MotorStep{told, testStep(1, 2, outcome("Why"))}, 1, nil, nil},
		"once, another attempt":                {once, []v1alpha1.MotorStep{told}, 2, nil, nil},
		"always, later":                        {always, []v1alpha1.MotorStep{told, testStep(1, 2, done("bash", true, 1, "")), testStep(1, 3)}, 1, nil, want},
		"always, another attempt":              {always, []v1alpha1.MotorStep{told, testStep(2, 1)}, 2, nil, want},
		"always, not within the bounds":        {always, []v1alpha1.MotorStep{told}, 1, domains{"*.example.org"}, nil},
		"always, but the model was told no":    {always, []v1alpha1.MotorStep{testStep(1, 1, answered("example.org", "domain_denied"))}, 1, nil, nil},
		"always, but there was nothing to ask": {always, []v1alpha1.MotorStep{testStep(1, 1, request("org"))}, 1, nil, nil},
		"always, for another tool":             {always, []v1alpha1.MotorStep{testStep(1, 1, call("bash", `{"domain":"example.org","reason":"r"}`))}, 1, nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := withAttempts(mayAsk(), []v1alpha1.AttemptCause{first, retry}[:tt.attempts]...)
			if tt.decision != "" {
				decide(run, q1, tt.decision)
			}
			if diff := cmp.Diff(tt.want, Domains(run, ReadJournal(run, tt.steps), tt.bounds), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("domains (-want +got):\n%s", diff)
			}
		})
	}

	// A domain that counts once comes last, so that its end moves no other entry.
	run := decide(decide(mayAsk(), q1, once), q2, always)
	run.Spec.Domains = domains{"spec.example.org"}
	p := ReadJournal(run, []v1alpha1.MotorStep{testStep(1, 1, answered("once.example.org", ""), answered("run.example.org", ""))})
	all := domains{"spec.example.org", "run.example.org", "once.example.org"}
	if diff := cmp.Diff(all, Domains(run, p, nil)); diff != "" {
		t.Errorf("domains (-want +got):\n%s", diff)
	}
	if got := Lasting(run, p, nil); len(got) != 0 {
		t.Errorf("lasting %v before anything was granted", got)
	}
	run.Status.Egress = &v1alpha1.EgressStatus{Domains: domains{"run.example.org", "once.example.org"}}
	if diff := cmp.Diff(domains{"run.example.org"}, Lasting(run, p, nil)); diff != "" {
		t.Errorf("lasting (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(domains{"run.example.org", "once.example.org"}, reach.Granted(run)); diff != "" {
		t.Errorf("granted (-want +got):\n%s", diff)
	}
	if reach.Granted(testRun()) == nil {
		t.Error("nothing granted is nil, which means no bound")
	}
}

func TestDomainsHaveBounds(t *testing.T) {
	t.Parallel()
	run := withAttempts(testRun(), first, retry)
	run.Spec.Domains = longDomains(64, 61)
	run.Spec.Responses = []v1alpha1.Response{{ID: "retry-1", Decision: v1alpha1.DecisionRetry, AddDomains: append(longDomains(1, 61), "one.example.net")}}
	if got := Domains(run, Progress{}, nil); len(got) != 64 {
		t.Errorf("%d domains", len(got))
	}
	if diff := cmp.Diff(domains{"one.example.net"}, LeftOut(run, Progress{}, nil)); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}
