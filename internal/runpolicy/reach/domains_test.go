// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/fit"
)

type domains = []v1alpha1.Domain

func TestBounds(t *testing.T) {
	t.Parallel()
	cortex := func(e *v1alpha1.EgressBounds) *v1alpha1.MotorCortex {
		return &v1alpha1.MotorCortex{Spec: v1alpha1.MotorCortexSpec{Egress: e}}
	}
	tests := map[string]struct {
		cortex *v1alpha1.MotorCortex
		want   domains
	}{
		"no MotorCortex": {nil, nil},
		"no bounds":      {cortex(nil), nil},
		"no list":        {cortex(&v1alpha1.EgressBounds{}), nil},
		"empty list":     {cortex(&v1alpha1.EgressBounds{AllowedDomains: domains{}}), domains{}},
		"a list":         {cortex(&v1alpha1.EgressBounds{AllowedDomains: domains{"example.org"}}), domains{"example.org"}},
	}
	for name, tt := range tests {
		// Whether the list is nil makes the difference between everything and nothing.
		if diff := cmp.Diff(tt.want, Bounds(tt.cortex)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func longDomains(n, size int) domains {
	var list domains
	for i := range n {
		list = append(list, v1alpha1.Domain(fmt.Sprintf("d%03d%s.example.org", i, strings.Repeat("x", size-len("d000.example.org")))))
	}
	return list
}

func TestRefuseDomains(t *testing.T) {
	t.Parallel()
	bound := func(name string, hosts ...v1alpha1.Domain) v1alpha1.Credential {
		return v1alpha1.Credential{Name: name, Hosts: hosts}
	}
	tests := map[string]struct {
		domains     domains
		credentials []v1alpha1.Credential
		bounds      domains
		reason      string
		final       bool
		says        string
	}{
		"nothing":                      {},
		"nothing, and nothing allowed": {bounds: domains{}},
		"no bounds":                    {domains: domains{"example.org", "*.example.org:8443"}},
		"within the bounds":            {domains: domains{"a.example.org", "*.b.example.org"}, bounds: domains{"*.example.org"}},
		"a public suffix": {
			domains: domains{"example.org", "co.uk"}, reason: "DomainInvalid", final: true, says: "spec.domains[1]: domain \"co.uk\"",
		},
		"a name of the cluster": {domains: domains{"kubernetes.default.svc"}, reason: "DomainInvalid", final: true, says: "spec.domains[0]"},
		"as much as fits":       {domains: longDomains(64, 61)},
		"too much": {
			domains: longDomains(64, 62), reason: "DomainInvalid", final: true, says: "take 4160 bytes together and may take 4096",
		},
		"outside of the bounds": {
			domains: domains{"a.example.org", "example.org"}, bounds: domains{"*.example.org"}, reason: "DomainNotAllowed", says: "spec.domains[1] example.org is not within",
		},
		"another port":            {domains: domains{"example.org:8443"}, bounds: domains{"example.org"}, reason: "DomainNotAllowed", says: "example.org:8443"},
		"nothing is allowed":      {domains: domains{"example.org"}, bounds: domains{}, reason: "DomainNotAllowed"},
		"a bound that is no rule": {domains: domains{"example.co.uk"}, bounds: domains{"*.co.uk"}, reason: "DomainNotAllowed"},
		"a credential's host": {
			domains: domains{"*.example.org"}, credentials: []v1alpha1.Credential{bound("key", "api.example.org")},
		},
		"an exposed credential": {credentials: []v1alpha1.Credential{bound("key")}},
		"a credential's host that is not allowed": {
			domains: domains{"example.org"}, credentials: []v1alpha1.Credential{bound("a", "example.org"), bound("b", "example.org", "example.net")},
			reason: "CredentialHostNotAllowed", final: true, says: "spec.credentials[1].hosts[1] example.net is not within spec.domains",
		},
		"a credential's host is wider": {
			domains: domains{"api.example.org"}, credentials: []v1alpha1.Credential{bound("a", "*.example.org")}, reason: "CredentialHostNotAllowed", final: true,
		},
		"a credential's host that is none": {
			domains: domains{"example.org"}, credentials: []v1alpha1.Credential{bound("a", "com")},
			reason: "CredentialHostNotAllowed", final: true, says: "spec.credentials[0].hosts[0]: domain \"com\"",
		},
		"what cannot be helped comes first": {
			domains: domains{"example.org", "com"}, bounds: domains{}, reason: "DomainInvalid", final: true,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := testRun()
			run.Spec.Domains, run.Spec.Credentials = tt.domains, tt.credentials
			got := RefuseDomains(run, tt.bounds)
			if got == nil {
				got = &Refusal{}
			}
			if got.Reason != tt.reason || got.Final != tt.final || !strings.Contains(got.Message, tt.says) || len(got.Message) > fit.MaxFailureText {
				t.Errorf("got %+v, want %q, final %t, %q", got, tt.reason, tt.final, tt.says)
			}
		})
	}
}

func TestRefuseStorageClass(t *testing.T) {
	t.Parallel()
	named := func(class string) *v1alpha1.MotorRun {
		return &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Sandbox: &v1alpha1.RunSandbox{WorkspaceStorageClassName: &class}}}
	}
	cortex := func(classes ...string) *v1alpha1.MotorCortex {
		return &v1alpha1.MotorCortex{Spec: v1alpha1.MotorCortexSpec{Sandbox: &v1alpha1.SandboxBounds{AllowedStorageClasses: classes}}}
	}
	for name, tc := range map[string]struct {
		run     *v1alpha1.MotorRun
		cortex  *v1alpha1.MotorCortex
		refused bool
	}{
		"no sandbox":       {&v1alpha1.MotorRun{}, nil, false},
		"no class":         {&v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Sandbox: &v1alpha1.RunSandbox{}}}, cortex(), false},
		"no MotorCortex":   {named("fast"), nil, true},
		"none by default":  {named("fast"), &v1alpha1.MotorCortex{}, true},
		"an empty list":    {named("fast"), cortex(), true},
		"another class":    {named("fast"), cortex("slow", "faster"), true},
		"one of the list":  {named("fast"), cortex("slow", "fast"), false},
		"no class is like": {named("fast"), cortex("fas", "*"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := RefuseStorageClass(tc.run, StorageClasses(tc.cortex))
			if (got != nil) != tc.refused {
				t.Fatalf("got %+v", got)
			}
			if got != nil && (got.Final || got.Reason != v1alpha1.ReasonStorageClassNotAllowed || !strings.Contains(got.Message, "fast") || !strings.Contains(got.Message, "allowedStorageClasses")) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
