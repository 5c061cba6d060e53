// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// skillWorld is an approved skill with an older and a newer revision, and a run that uses it.
type skillWorld struct {
	run       *v1alpha1.MotorRun
	skill     *v1alpha1.Skill
	revisions []v1alpha1.SkillRevision
	now       time.Time
}

func skillRevision(letter string, created time.Duration) v1alpha1.SkillRevision {
	files := skill.Listed([]skill.File{{Path: skill.ManifestName, Content: []byte(letter)}})
	return v1alpha1.SkillRevision{
		ObjectMeta: metav1.ObjectMeta{Name: "mail-" + letter, CreationTimestamp: metav1.NewTime(after(created))},
		Spec:       v1alpha1.SkillRevisionSpec{SkillName: "mail", ContentHash: skill.HashOf(files), Files: files},
	}
}

func skillPolicy() v1alpha1.SkillPolicy {
	return v1alpha1.SkillPolicy{
		Tools: []v1alpha1.ToolName{"bash", "read", "fetch"}, Domains: []v1alpha1.Domain{"*.mail.dev", "docs.dev"},
		Credentials: []v1alpha1.SkillCredential{
			{Name: "mail_key", Hosts: []v1alpha1.Domain{"*.mail.dev"}, Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotHeader, Name: "X-Key"}, SecretRef: &v1alpha1.SecretKeyRef{Name: "mail", Key: "k"}},
			{Name: "docs_key", Hosts: []v1alpha1.Domain{"docs.dev"}, SecretRef: &v1alpha1.SecretKeyRef{Name: "docs", Key: "k"}},
		},
		Inputs:   []v1alpha1.SkillInput{{Name: "to", Required: true}, {Name: "count", Type: v1alpha1.InputInteger, Default: new("3")}},
		Approval: &v1alpha1.RunApproval{Required: v1alpha1.ApprovalIrreversible, Tools: []v1alpha1.ToolName{"fetch"}},
	}
}

func newSkillWorld() *skillWorld {
	w := &skillWorld{run: testRun(), now: after(time.Minute), revisions: []v1alpha1.SkillRevision{skillRevision("b", time.Second), skillRevision("a", 0)}}
	w.run.Spec.SkillRef, w.run.Spec.Inputs = &v1alpha1.SkillRef{Name: "mail"}, []v1alpha1.RunInput{{Name: "to", Value: "ann"}}
	w.skill = &v1alpha1.Skill{
		ObjectMeta: metav1.ObjectMeta{Name: "mail", Namespace: "ns", Generation: 3}, Spec: v1alpha1.SkillSpec{Policy: skillPolicy()},
		Status: v1alpha1.SkillStatus{ObservedGeneration: 3, State: v1alpha1.SkillApproved},
	}
	w.approve()
	return w
}

func (w *skillWorld) approve() {
	w.skill.Spec.Approval = &v1alpha1.SkillApproval{ContentHash: w.revisions[1].Spec.ContentHash, PolicyHash: skill.PolicyHash(&w.skill.Spec.Policy)}
}

// policy changes the policy and approves that.
func (w *skillWorld) policy(change func(*v1alpha1.SkillPolicy)) {
	change(&w.skill.Spec.Policy)
	w.approve()
}

func (w *skillWorld) pin() (*v1alpha1.RunSkill, *Refusal) {
	return PinSkill(w.run, w.skill, w.revisions, w.now)
}

func TestPinSkill(t *testing.T) {
	t.Parallel()
	policy := skillPolicy()
	inputs := &v1alpha1.SkillPolicy{Inputs: policy.Inputs}
	deps := &v1alpha1.SkillDependencies{Pip: []string{"requests==2.32.3"}}
	archive := &v1alpha1.PackageArchive{ConfigMapNames: []string{"p-0"}, SHA256: strings.Repeat("0", 64)}
	approved := v1alpha1.RunSkill{RevisionName: "mail-a", PolicyHash: skill.PolicyHash(&policy), Approved: true, Policy: &policy}
	for name, tt := range map[string]struct {
		change func(*skillWorld)
		want   v1alpha1.RunSkill
	}{
		"approved":              {func(*skillWorld) {}, approved},
		"approved by name":      {func(w *skillWorld) { w.run.Spec.SkillRef.RevisionName = "mail-a" }, approved},
		"approved and narrowed": {func(w *skillWorld) { w.run.Spec.Tools = []v1alpha1.ToolName{"read", "ask_user"} }, approved},
		"another revision, with tools": {func(w *skillWorld) {
			w.run.Spec.SkillRef.RevisionName, w.run.Spec.Tools = "mail-b", []v1alpha1.ToolName{"write"}
		}, v1alpha1.RunSkill{RevisionName: "mail-b", Policy: inputs}},
		"not approved, with tools": {func(w *skillWorld) {
			w.skill.Spec.Approval, w.run.Spec.Tools = nil, []v1alpha1.ToolName{"write"}
		}, v1alpha1.RunSkill{RevisionName: "mail-b", Policy: inputs}},
		"policy changed, with tools and more": {func(w *skillWorld) {
			w.skill.Spec.Policy.Tools, w.run.Spec.Tools, w.run.Spec.Domains = nil, []v1alpha1.ToolName{"write"}, []v1alpha1.Domain{"other.dev"}
			w.run.Spec.SkillRef.RevisionName = "mail-b"
		}, v1alpha1.RunSkill{RevisionName: "mail-b", Policy: inputs}},
		"not approved, no inputs": {func(w *skillWorld) {
			w.skill.Spec, w.run.Spec.Inputs, w.run.Spec.Tools = v1alpha1.SkillSpec{}, nil, []v1alpha1.ToolName{"write"}
		}, v1alpha1.RunSkill{RevisionName: "mail-b"}},
		"a review": {func(w *skillWorld) { w.run.Spec.SkillReview, w.run.Spec.Inputs = true, nil }, v1alpha1.RunSkill{RevisionName: "mail-b"}},
		"a review of what is revoked": {func(w *skillWorld) {
			w.run.Spec.SkillReview, w.run.Spec.SkillRef.RevisionName, w.skill.Spec.Approval.Decision = true, "mail-a", v1alpha1.SkillDecisionRevoked
		}, v1alpha1.RunSkill{RevisionName: "mail-a"}},
		"with packages": {func(w *skillWorld) {
			w.policy(func(p *v1alpha1.SkillPolicy) { *p = v1alpha1.SkillPolicy{Inputs: policy.Inputs, Dependencies: deps} })
			w.skill.Status.Packages = &v1alpha1.SkillPackages{Archive: archive}
		}, v1alpha1.RunSkill{
			RevisionName: "mail-a", Approved: true, Packages: archive, Policy: &v1alpha1.SkillPolicy{Inputs: policy.Inputs, Dependencies: deps},
			PolicyHash: skill.PolicyHash(&v1alpha1.SkillPolicy{Inputs: policy.Inputs, Dependencies: deps}),
		}},
		"an empty policy": {func(w *skillWorld) {
			w.run.Spec.Inputs = nil
			w.policy(func(p *v1alpha1.SkillPolicy) { *p = v1alpha1.SkillPolicy{} })
		}, v1alpha1.RunSkill{RevisionName: "mail-a", Approved: true, Policy: &v1alpha1.SkillPolicy{}, PolicyHash: skill.PolicyHash(nil)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSkillWorld()
			tt.change(w)
			got, refusal := w.pin()
			tt.want.Name = "mail"
			for _, r := range w.revisions {
				if r.Name == tt.want.RevisionName {
					tt.want.ContentHash = r.Spec.ContentHash
				}
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" || refusal != nil {
				t.Errorf("%+v (-want +got):\n%s", refusal, diff)
			}
			if got != nil && got.Policy != nil && len(got.Policy.Inputs) > 0 {
				if got.Policy.Inputs[0].Name = "changed"; w.skill.Spec.Policy.Inputs[0].Name != "to" {
					t.Error("what is pinned is the Skill's own")
				}
			}
		})
	}
}

func TestPinSkillRefuses(t *testing.T) {
	t.Parallel()
	const (
		notFound, notApproved, exceeded = v1alpha1.ReasonSkillNotFound, v1alpha1.ReasonSkillNotApproved, v1alpha1.ReasonSkillPolicyExceeded
		input                           = v1alpha1.ReasonSkillInputInvalid
	)
	credential := func(change func(*v1alpha1.Credential)) func(*skillWorld) {
		return func(w *skillWorld) {
			c := v1alpha1.Credential{Name: "mail_key", Hosts: []v1alpha1.Domain{"api.mail.dev"}, Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotBearer}, SecretRef: v1alpha1.SecretKeyRef{Name: "own", Key: "k"}}
			change(&c)
			w.run.Spec.Credentials = []v1alpha1.Credential{c}
		}
	}
	for name, tt := range map[string]struct {
		change  func(*skillWorld)
		reason  string
		final   bool
		message string
	}{
		"no Skill":         {func(w *skillWorld) { w.skill = nil }, notFound, false, "There is no Skill mail."},
		"it is deleted":    {func(w *skillWorld) { w.skill.DeletionTimestamp = new(metav1.NewTime(t0)) }, notFound, false, "There is no Skill mail."},
		"no revision":      {func(w *skillWorld) { w.revisions, w.skill.Spec.Approval = nil, nil }, notFound, false, "The Skill mail has no files yet."},
		"no such revision": {func(w *skillWorld) { w.run.Spec.SkillRef.RevisionName = "mail-c" }, notFound, false, "has no SkillRevision mail-c."},
		"another skill's": {func(w *skillWorld) {
			w.run.Spec.SkillRef.RevisionName, w.revisions[0].Spec.SkillName = "mail-b", "other"
		}, notFound, false, "has no SkillRevision mail-b."},
		"a revision that is not what it says": {func(w *skillWorld) {
			w.run.Spec.SkillRef.RevisionName, w.revisions[0].Spec.Files = "mail-b", w.revisions[1].Spec.Files
		}, notFound, false, "has no SkillRevision mail-b."},
		"the status is old":          {func(w *skillWorld) { w.skill.Generation++ }, notApproved, false, "has not looked at the Skill mail since it was changed."},
		"the status does not know":   {func(w *skillWorld) { w.skill.Status.State = v1alpha1.SkillAwaitingApproval }, notApproved, false, "the operator has not said so yet."},
		"nobody approved":            {func(w *skillWorld) { w.skill.Spec.Approval = nil }, notApproved, true, "The skill mail is not approved (PendingReview). Create another run when it is approved, or one with spec.tools"},
		"the status lies":            {func(w *skillWorld) { w.skill.Spec.Policy.Tools = nil }, notApproved, true, "The skill mail is not approved (NeedsReapproval). "},
		"approved for another skill": {func(w *skillWorld) { w.revisions[1].Spec.SkillName = "other" }, notApproved, true, "(NeedsReapproval)"},
		"approved what is forged":    {func(w *skillWorld) { w.revisions[1].Spec.Files = w.revisions[0].Spec.Files }, notApproved, true, "(NeedsReapproval)"},
		"revoked":                    {func(w *skillWorld) { w.skill.Spec.Approval.Decision = v1alpha1.SkillDecisionRevoked }, notApproved, true, "(Revoked)"},
		"narrowed, and revoked": {func(w *skillWorld) {
			w.run.Spec.Tools, w.skill.Spec.Approval.Decision = []v1alpha1.ToolName{"read"}, v1alpha1.SkillDecisionRevoked
		}, notApproved, true, "(Revoked)"},
		"narrowed, and the policy changed": {func(w *skillWorld) {
			w.run.Spec.Tools, w.skill.Spec.Policy.Tools = []v1alpha1.ToolName{"read"}, nil
		}, notApproved, true, "or one with spec.tools and skillRef.revisionName"},
		"its time is over": {func(w *skillWorld) { w.skill.Spec.Approval.ExpirationTime = new(metav1.NewTime(w.now)) }, notApproved, true, "The approval ended at"},
		"the source drifted": {func(w *skillWorld) {
			w.skill.Spec.Source = &v1alpha1.SkillSource{}
			w.skill.Status.Source = &v1alpha1.SkillSourceStatus{ContentHash: w.revisions[0].Spec.ContentHash}
			w.skill.Status.Approved = &v1alpha1.ApprovedRevision{
				RevisionName: "mail-a", ContentHash: w.skill.Spec.Approval.ContentHash, PolicyHash: w.skill.Spec.Approval.PolicyHash, SourceHash: w.skill.Spec.Approval.ContentHash,
			}
		}, notApproved, true, "(SKILL.md changed)"},
		"not the approved one": {func(w *skillWorld) { w.run.Spec.SkillRef.RevisionName = "mail-b" }, notApproved, true, "mail-b of the skill mail is not the one that was approved, which is mail-a."},
		"not read yet": {func(w *skillWorld) {
			w.skill.Spec.Source, w.skill.Spec.Approval.ContentHash = &v1alpha1.SkillSource{}, "sha256:x"
		}, notApproved, false, "was not read yet."},
		"a policy that cannot be": {func(w *skillWorld) {
			w.policy(func(p *v1alpha1.SkillPolicy) { p.Domains = nil })
		}, v1alpha1.ReasonPolicyInvalid, true, "spec.policy.credentials[0].hosts[0]: *.mail.dev is not within"},
		"another tool":   {func(w *skillWorld) { w.run.Spec.Tools = []v1alpha1.ToolName{"read", "write"} }, exceeded, true, "spec.tools[1] write is not one"},
		"another domain": {func(w *skillWorld) { w.run.Spec.Domains = []v1alpha1.Domain{"a.mail.dev", "mail.dev"} }, exceeded, true, "spec.domains[1] mail.dev is not within"},
		"a wider domain": {func(w *skillWorld) { w.run.Spec.Domains = []v1alpha1.Domain{"*.docs.dev"} }, exceeded, true, "spec.domains[0] *.docs.dev is not within"},
		"another port":   {func(w *skillWorld) { w.run.Spec.Domains = []v1alpha1.Domain{"docs.dev:8443"} }, exceeded, true, "spec.domains[0]"},
		"no domain":      {func(w *skillWorld) { w.run.Spec.Domains = []v1alpha1.Domain{"*"} }, exceeded, true, "spec.domains[0]"},
		"an MCP server":  {func(w *skillWorld) { w.run.Spec.MCPServers = []v1alpha1.MCPServer{{Name: "x"}} }, exceeded, true, "spec.mcpServers"},
		"other commands": {func(w *skillWorld) {
			w.run.Spec.Bash = &v1alpha1.BashRules{AllowedCommands: []v1alpha1.CommandPattern{"ls"}}
			w.policy(func(p *v1alpha1.SkillPolicy) {
				p.Bash = &v1alpha1.BashRules{AllowedCommands: []v1alpha1.CommandPattern{}}
			})
		}, exceeded, true, "spec.bash is not that"},
		"another credential": {credential(func(c *v1alpha1.Credential) { c.Name = "other" }), exceeded, true, "spec.credentials[0] other is not one"},
		"an exposed one":     {credential(func(c *v1alpha1.Credential) { c.Hosts, c.ExposeToSandbox = nil, true }), exceeded, true, "leave out exposeToSandbox"},
		"another host":       {credential(func(c *v1alpha1.Credential) { c.Hosts[0] = "docs.dev" }), exceeded, true, "spec.credentials[0].hosts[0] docs.dev is not within"},
		"another slot":       {credential(func(c *v1alpha1.Credential) { c.Slot = v1alpha1.CredentialSlot{Type: v1alpha1.SlotQuery, Name: "key"} }), exceeded, true, `spec.credentials[0].slot: in the skill's policy it is Header X-Key`},
		"an input missing":   {func(w *skillWorld) { w.run.Spec.Inputs = nil }, input, true, "the input to is missing"},
		"an input of another type, not approved": {func(w *skillWorld) {
			w.skill.Spec.Approval, w.run.Spec.Tools = nil, []v1alpha1.ToolName{"read"}
			w.run.Spec.Inputs = append(w.run.Spec.Inputs, v1alpha1.RunInput{Name: "count", Value: "x"})
		}, input, true, `spec.inputs[1] (count): "x" is no integer`},
		"packages missing": {func(w *skillWorld) {
			w.policy(func(p *v1alpha1.SkillPolicy) { p.Dependencies = &v1alpha1.SkillDependencies{Apt: []string{"jq=1.7"}} })
			w.skill.Status.Packages = &v1alpha1.SkillPackages{Hash: "sha256:x", RunName: "r"}
		}, v1alpha1.ReasonSkillPackagesMissing, false, "The packages of the skill mail are not installed yet."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newSkillWorld()
			tt.change(w)
			got, r := w.pin()
			if got != nil || r == nil || r.Reason != tt.reason || r.Final != tt.final || !strings.Contains(r.Message, tt.message) || len(r.Message) > 1100 {
				t.Errorf("%+v, %+v\nwant %s: %s", got, r, tt.reason, tt.message)
			}
		})
	}
}

func TestSkillInputs(t *testing.T) {
	t.Parallel()
	w := newSkillWorld()
	if got := SkillInputs(w.run); got != nil {
		t.Errorf("before it is pinned: %v", got)
	}
	w.run.Status.Skill, _ = w.pin()
	if diff := cmp.Diff([]skill.Input{{Name: "to", Value: "ann"}, {Name: "count", Value: int64(3)}}, SkillInputs(w.run)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
