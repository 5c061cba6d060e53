// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"cmp"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// maxReviewIterations is the most answers of a model that reviews a skill.
const maxReviewIterations = 10

// Effective returns the run with the spec that applies. For an approved skill, the policy supplies what the run does not name itself; a review of a
// skill only reads. Effective returns the run itself if there is nothing to change, and otherwise a copy that shares nothing with it. The effective
// run of an effective run is the same.
func Effective(run *v1alpha1.MotorRun) *v1alpha1.MotorRun {
	s := run.Status.Skill
	switch {
	case run.Spec.SkillReview:
		is := run.DeepCopy()
		reviewOnly(&is.Spec)
		return is
	case s == nil || !s.Approved || s.Policy == nil:
		return run
	}
	is := run.DeepCopy()
	applyPolicy(&is.Spec, s.Policy.DeepCopy())
	return is
}

// reviewOnly reduces a spec to what a review of a skill may have.
func reviewOnly(spec *v1alpha1.MotorRunSpec) {
	spec.Tools = []v1alpha1.ToolName{toolapi.ToolRead, toolapi.ToolList, toolapi.ToolGlob, toolapi.ToolGrep}
	spec.Domains, spec.Credentials, spec.MCPServers = nil, nil, nil
	if spec.Limits.MaxIterations < 1 || spec.Limits.MaxIterations > maxReviewIterations {
		spec.Limits.MaxIterations = maxReviewIterations
	}
	spec.MaxAttempts, spec.ExtractSkills = 1, v1alpha1.ExtractNever
}

// applyPolicy adds to a spec that is within a policy the parts that the spec does not name itself.
func applyPolicy(spec *v1alpha1.MotorRunSpec, p *v1alpha1.SkillPolicy) {
	if len(spec.Tools) == 0 {
		spec.Tools = p.Tools
	}
	if len(spec.Domains) == 0 {
		spec.Domains = p.Domains
	}
	spec.Credentials = skillCredentials(spec, p)
	if narrowsBash(p.Bash) {
		spec.Bash = p.Bash
	}
	spec.Approval = stricter(spec.Approval, p.Approval)
}

// skillCredentials returns the credentials of the policy. One that the run names goes to the run's hosts, with the run's Secret. The others go to
// the hosts that both the policy and the run's domains allow, which may be none.
func skillCredentials(spec *v1alpha1.MotorRunSpec, p *v1alpha1.SkillPolicy) (list []v1alpha1.Credential) {
	for i := range p.Credentials {
		c := &p.Credentials[i]
		is := v1alpha1.Credential{Name: c.Name, Slot: cmp.Or(c.Slot, defaultSlot)}
		if own := credentialNamed(spec, c.Name); own != nil {
			is.SecretRef, is.Hosts = own.SecretRef, own.Hosts
		} else {
			is.Hosts, is.SecretRef = withinBoth(c.Hosts, spec.Domains), secretOf(c)
			if len(is.Hosts) == 0 {
				continue
			}
		}
		list = append(list, is)
	}
	return list
}

// SavedSecret returns where a run saves a credential of that name. No two names have the same, as none has a dash.
func SavedSecret(name string) v1alpha1.SecretKeyRef {
	return v1alpha1.SecretKeyRef{Name: "motorcortex-credential-" + strings.ReplaceAll(name, "_", "-"), Key: "value"}
}

// secretOf returns the Secret of a credential that a skill declares. Without one, it is the one that a run of the skill saves.
func secretOf(c *v1alpha1.SkillCredential) v1alpha1.SecretKeyRef {
	if c.SecretRef == nil {
		return SavedSecret(c.Name)
	}
	return *c.SecretRef
}

// Declared returns the declaration of a credential by the approved skill of a run, nil if the skill declares none of that name. ok is false if no
// skill determines which credentials the run has.
func Declared(run *v1alpha1.MotorRun, name string) (c *v1alpha1.SkillCredential, ok bool) {
	pin := run.Status.Skill
	if pin == nil || !pin.Approved || pin.Policy == nil || run.Spec.SkillReview {
		return nil, false
	}
	i := slices.IndexFunc(pin.Policy.Credentials, func(c v1alpha1.SkillCredential) bool { return c.Name == name })
	if i < 0 {
		return nil, true
	}
	return &pin.Policy.Credentials[i], true
}

// ComesLater reports whether a run may begin without the value of a credential: its skill declares it, so that the run can obtain and save it.
// saved is true if the Secret is the one that runs save it in, and no person named another.
func ComesLater(run *v1alpha1.MotorRun, c *v1alpha1.Credential) (may, saved bool) {
	declared, _ := Declared(run, c.Name)
	if declared == nil || c.SecretRef != secretOf(declared) {
		return false, false
	}
	return true, declared.SecretRef == nil
}

// defaultSlot is the slot of a credential that names none.
var defaultSlot = v1alpha1.CredentialSlot{Type: v1alpha1.SlotBearer}

func credentialNamed(spec *v1alpha1.MotorRunSpec, name string) *v1alpha1.Credential {
	i := slices.IndexFunc(spec.Credentials, func(c v1alpha1.Credential) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &spec.Credentials[i]
}

// withinBoth returns the hosts that both lists allow.
func withinBoth(a, b []v1alpha1.Domain) (both []v1alpha1.Domain) {
	for _, x := range RulesOf(a) {
		for _, y := range RulesOf(b) {
			narrower := x
			if !x.Within(y) {
				narrower = y
			}
			d := v1alpha1.Domain(narrower.String())
			if (x.Within(y) || y.Within(x)) && !slices.Contains(both, d) {
				both = append(both, d)
			}
		}
	}
	return both
}

func narrowsBash(b *v1alpha1.BashRules) bool { return b != nil && b.AllowedCommands != nil }

// stricter asks a person whenever one of the two rules does.
func stricter(a, b *v1alpha1.RunApproval) *v1alpha1.RunApproval {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	is := &v1alpha1.RunApproval{
		Required: a.Required, OnUnknown: a.OnUnknown, Tools: union(a.Tools, b.Tools), MCPTools: union(a.MCPTools, b.MCPTools),
		Bash: cmp.Or(a.Bash, b.Bash), Fetch: cmp.Or(a.Fetch, b.Fetch),
	}
	if strictness(b.Required) > strictness(a.Required) {
		is.Required = b.Required
	}
	if a.OnUnknown == v1alpha1.UnknownTellModel && b.OnUnknown != v1alpha1.UnknownTellModel {
		is.OnUnknown = v1alpha1.UnknownAskPerson
	}
	if a.Bash != nil && b.Bash != nil {
		is.Bash = &v1alpha1.BashApproval{Commands: union(a.Bash.Commands, b.Bash.Commands)}
	}
	if a.Fetch != nil && b.Fetch != nil {
		is.Fetch = &v1alpha1.FetchApproval{Methods: union(a.Fetch.Methods, b.Fetch.Methods)}
	}
	return is
}

func strictness(m v1alpha1.ApprovalMode) int {
	return slices.Index([]v1alpha1.ApprovalMode{v1alpha1.ApprovalNever, v1alpha1.ApprovalIrreversible, v1alpha1.ApprovalAlways}, m)
}

// union returns a, followed by the elements of b that are not in it.
func union[T comparable](a, b []T) []T {
	all := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// refuseExcess returns a refusal if the run requests something that the policy of its skill does not grant, or lacks something that it must set.
func refuseExcess(run *v1alpha1.MotorRun, p *v1alpha1.SkillPolicy) *Refusal {
	const reason = v1alpha1.ReasonSkillPolicyExceeded
	spec := &run.Spec
	for i, t := range spec.Tools {
		if t != toolapi.ToolAskUser && !slices.Contains(p.Tools, t) {
			return finalRefusal(reason, "spec.tools[%d] %s is not one of the tools of the skill's policy: leave it out, or have the policy changed.", i, t)
		}
	}
	granted := RulesOf(p.Domains)
	for i, d := range spec.Domains {
		if r, err := allowlist.ParseRule(string(d)); err != nil || !granted.Covers(r) {
			return finalRefusal(reason, "spec.domains[%d] %s is not within the domains of the skill's policy: leave it out, or have the policy changed.", i, d)
		}
	}
	if r := refuseChecks(spec.Accept, p); r != nil {
		return r
	}
	if len(spec.MCPServers) > 0 {
		return finalRefusal(reason, "spec.mcpServers: the policy of a skill grants none: leave them out.")
	}
	if narrowsBash(spec.Bash) && narrowsBash(p.Bash) && !sameSet(spec.Bash.AllowedCommands, p.Bash.AllowedCommands) {
		return finalRefusal(reason, "spec.bash is not that of the skill's policy, which narrows the tool too: leave it out.")
	}
	return refuseCredentials(spec, p)
}

func sameSet[T comparable](a, b []T) bool {
	within := func(a, b []T) bool {
		return !slices.ContainsFunc(a, func(v T) bool { return !slices.Contains(b, v) })
	}
	return within(a, b) && within(b, a)
}

func refuseCredentials(spec *v1alpha1.MotorRunSpec, p *v1alpha1.SkillPolicy) *Refusal {
	for i := range spec.Credentials {
		if r := refuseCredential(i, &spec.Credentials[i], p); r != nil {
			return r
		}
	}
	return nil
}

// refuseCredential returns why a credential of the run exceeds those of the policy.
func refuseCredential(i int, c *v1alpha1.Credential, p *v1alpha1.SkillPolicy) *Refusal {
	const reason = v1alpha1.ReasonSkillPolicyExceeded
	n := slices.IndexFunc(p.Credentials, func(g v1alpha1.SkillCredential) bool { return g.Name == c.Name })
	if n < 0 {
		return finalRefusal(reason, "spec.credentials[%d] %s is not one of the skill's policy: leave it out, or have the policy changed.", i, c.Name)
	}
	granted := &p.Credentials[n]
	if c.ExposeToSandbox {
		return finalRefusal(reason, "spec.credentials[%d] %s: the skill's policy sends it to certain hosts only, so leave out exposeToSandbox.", i, c.Name)
	}
	// The default cannot be distinguished from a written value.
	if slot := cmp.Or(granted.Slot, defaultSlot); c.Slot != (v1alpha1.CredentialSlot{}) && c.Slot != defaultSlot && c.Slot != slot {
		return finalRefusal(reason, "spec.credentials[%d].slot: in the skill's policy it is %s: leave it out.", i, slot)
	}
	hosts := RulesOf(granted.Hosts)
	for j, h := range c.Hosts {
		if r, err := allowlist.ParseRule(string(h)); err != nil || !hosts.Covers(r) {
			return finalRefusal(reason, "spec.credentials[%d].hosts[%d] %s is not within those of the skill's policy: leave it out, or have the policy changed.", i, j, h)
		}
	}
	return nil
}
