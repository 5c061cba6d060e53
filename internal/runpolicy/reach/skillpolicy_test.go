// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

func TestEffective(t *testing.T) {
	t.Parallel()
	mail := v1alpha1.Credential{Name: "mail_key", SecretRef: v1alpha1.SecretKeyRef{Name: "mail", Key: "k"}, Hosts: []v1alpha1.Domain{"*.mail.dev"}, Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotHeader, Name: "X-Key"}}
	docs := v1alpha1.Credential{Name: "docs_key", SecretRef: v1alpha1.SecretKeyRef{Name: "docs", Key: "k"}, Hosts: []v1alpha1.Domain{"docs.dev"}, Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotBearer}}
	commands := &v1alpha1.BashRules{AllowedCommands: []v1alpha1.CommandPattern{"curl *"}}
	for name, tt := range map[string]struct {
		change func(*skillWorld)
		// want changes the result of the policy alone.
		want func(*v1alpha1.MotorRunSpec)
	}{
		"the policy alone": {func(*skillWorld) {}, func(*v1alpha1.MotorRunSpec) {}},
		"its own tools": {func(w *skillWorld) { w.run.Spec.Tools = []v1alpha1.ToolName{"read"} }, func(s *v1alpha1.MotorRunSpec) {
			s.Tools = []v1alpha1.ToolName{"read"}
		}},
		"its own domains narrow the credentials": {func(w *skillWorld) { w.run.Spec.Domains = []v1alpha1.Domain{"a.mail.dev", "b.mail.dev"} }, func(s *v1alpha1.MotorRunSpec) {
			s.Domains, s.Credentials = []v1alpha1.Domain{"a.mail.dev", "b.mail.dev"}, []v1alpha1.Credential{mail}
			s.Credentials[0].Hosts = []v1alpha1.Domain{"a.mail.dev", "b.mail.dev"}
		}},
		"its own Secret": {func(w *skillWorld) {
			w.run.Spec.Credentials = []v1alpha1.Credential{{Name: "docs_key", SecretRef: v1alpha1.SecretKeyRef{Name: "own", Key: "k"}, Hosts: []v1alpha1.Domain{"docs.dev"}, Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotBearer}}}
			w.policy(func(p *v1alpha1.SkillPolicy) { p.Credentials[1].SecretRef = nil })
		}, func(s *v1alpha1.MotorRunSpec) { s.Credentials[1].SecretRef.Name = "own" }},
		"a credential that a run obtains": {func(w *skillWorld) {
			w.policy(func(p *v1alpha1.SkillPolicy) { p.Credentials[1].SecretRef = nil })
		}, func(s *v1alpha1.MotorRunSpec) {
			s.Credentials[1].SecretRef = v1alpha1.SecretKeyRef{Name: "motorcortex-credential-docs-key", Key: "value"}
		}},
		"a credential that has nowhere to go": {func(w *skillWorld) {
			w.run.Spec.Domains = []v1alpha1.Domain{"docs.dev"}
			w.policy(func(p *v1alpha1.SkillPolicy) { p.Credentials[0].SecretRef = nil })
		}, func(s *v1alpha1.MotorRunSpec) {
			s.Domains, s.Credentials = []v1alpha1.Domain{"docs.dev"}, []v1alpha1.Credential{docs}
		}},
		"its own approval": {func(w *skillWorld) {
			w.run.Spec.Approval = &v1alpha1.RunApproval{
				Required: v1alpha1.ApprovalAlways, Tools: []v1alpha1.ToolName{"bash"}, OnUnknown: v1alpha1.UnknownTellModel,
				Fetch: &v1alpha1.FetchApproval{Methods: []string{"POST"}},
			}
			w.policy(func(p *v1alpha1.SkillPolicy) {
				p.Approval.Fetch = &v1alpha1.FetchApproval{Methods: []string{"DELETE", "POST"}}
				p.Approval.Bash = &v1alpha1.BashApproval{Commands: []v1alpha1.CommandPattern{"rm *"}}
			})
		}, func(s *v1alpha1.MotorRunSpec) {
			s.Approval = &v1alpha1.RunApproval{
				Required: v1alpha1.ApprovalAlways, Tools: []v1alpha1.ToolName{"bash", "fetch"}, OnUnknown: v1alpha1.UnknownAskPerson,
				Fetch: &v1alpha1.FetchApproval{Methods: []string{"POST", "DELETE"}}, Bash: &v1alpha1.BashApproval{Commands: []v1alpha1.CommandPattern{"rm *"}},
			}
		}},
		"a looser approval":     {func(w *skillWorld) { w.run.Spec.Approval = &v1alpha1.RunApproval{Required: v1alpha1.ApprovalNever} }, func(*v1alpha1.MotorRunSpec) {}},
		"the policy's commands": {func(w *skillWorld) { w.policy(func(p *v1alpha1.SkillPolicy) { p.Bash = commands }) }, func(s *v1alpha1.MotorRunSpec) { s.Bash = commands }},
		"its own commands":      {func(w *skillWorld) { w.run.Spec.Bash = commands }, func(s *v1alpha1.MotorRunSpec) { s.Bash = commands }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSkillWorld()
			tt.change(w)
			pinned, refusal := w.pin()
			if refusal != nil {
				t.Fatal(refusal)
			}
			w.run.Status.Skill = pinned
			policy, want := skillPolicy(), w.run.DeepCopy()
			want.Spec.Tools, want.Spec.Domains, want.Spec.Approval = policy.Tools, policy.Domains, policy.Approval
			want.Spec.Credentials = []v1alpha1.Credential{*mail.DeepCopy(), *docs.DeepCopy()}
			tt.want(&want.Spec)
			before := w.run.DeepCopy()
			got := Effective(w.run)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(got, Effective(got)); diff != "" {
				t.Errorf("twice (-once +twice):\n%s", diff)
			}
			if r := RefuseDomains(got, nil); r != nil {
				t.Errorf("its domains are refused: %s", r.Message)
			}
			spoil(&got.Spec)
			if diff := cmp.Diff(before, w.run); diff != "" {
				t.Errorf("the run was changed:\n%s", diff)
			}
		})
	}
}

// spoil writes over what lists of a spec have.
func spoil(s *v1alpha1.MotorRunSpec) {
	for i := range s.Tools {
		s.Tools[i] = "x"
	}
	for i := range s.Domains {
		s.Domains[i] = "x"
	}
	for i := range s.Credentials {
		s.Credentials[i].Name = "x"
		for j := range s.Credentials[i].Hosts {
			s.Credentials[i].Hosts[j] = "x"
		}
	}
	if s.Approval != nil {
		s.Approval.Required = "x"
		for i := range s.Approval.Tools {
			s.Approval.Tools[i] = "x"
		}
	}
	if s.Bash != nil {
		s.Bash.AllowedCommands[0] = "x"
	}
}

func TestEffectiveIsTheRunItself(t *testing.T) {
	t.Parallel()
	run := testRun()
	if Effective(run) != run {
		t.Error("a run without a skill is copied")
	}
	run.Status.Skill = &v1alpha1.RunSkill{Name: "mail", Policy: &v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{"bash"}}}
	if Effective(run) != run {
		t.Error("a skill that is not approved changes its run")
	}
}

func TestEffectiveReviewOnlyReads(t *testing.T) {
	t.Parallel()
	for most, want := range map[int32]int32{0: 10, 5: 5, 10: 10, 50: 10} {
		run := testRun()
		run.Spec.SkillReview, run.Spec.Limits.MaxIterations, run.Spec.MaxAttempts, run.Spec.ExtractSkills = true, most, 3, v1alpha1.ExtractAlways
		// Admission refuses these; nothing depends on it.
		run.Spec.Tools, run.Spec.Domains = []v1alpha1.ToolName{"bash"}, []v1alpha1.Domain{"a.dev"}
		run.Spec.Credentials, run.Spec.MCPServers = []v1alpha1.Credential{{Name: "k"}}, []v1alpha1.MCPServer{{Name: "m"}}
		policy := skillPolicy()
		run.Status.Skill = &v1alpha1.RunSkill{Name: "mail", Approved: true, Policy: &policy}
		got := Effective(run)
		s := got.Spec
		if diff := cmp.Diff([]v1alpha1.ToolName{"read", "list", "glob", "grep"}, s.Tools); diff != "" || s.Domains != nil || s.Credentials != nil || s.MCPServers != nil {
			t.Errorf("it has %v, %v, %v, %v", s.Tools, s.Domains, s.Credentials, s.MCPServers)
		}
		if s.Limits.MaxIterations != want || s.MaxAttempts != 1 || s.ExtractSkills != v1alpha1.ExtractNever || run.Spec.MaxAttempts != 3 {
			t.Errorf("%d answers, %d attempts, skills %s", s.Limits.MaxIterations, s.MaxAttempts, s.ExtractSkills)
		}
		if diff := cmp.Diff(got, Effective(got)); diff != "" {
			t.Errorf("twice:\n%s", diff)
		}
	}
}

// A policy that can be granted has no more domains than a run can have.
func TestPolicyDomainsFitRuns(t *testing.T) {
	t.Parallel()
	if skill.MaxDomainBytes != maxDomainBytes {
		t.Errorf("a policy may have domains of %d bytes, a run of %d", skill.MaxDomainBytes, maxDomainBytes)
	}
}
