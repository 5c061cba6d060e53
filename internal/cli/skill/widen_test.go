// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

// Tools, domains, packages and credentials, and the approval of all of them, are one change.
func TestApproveWithMore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	args := []string{
		"approve", "weather", "--add-tool", "read,bash", "--add-domain", "b.example.org,*.example.com", "--add-package", "pip:requests[socks]==2.32.3",
		"--add-package", "npm:left-pad@1.3.0", "--add-package", "apt:jq=1.7.1-3", "--add-package", "pip:requests[socks]==2.32.3",
		"--add-credential", "weather_key=api.example.org,b.example.org", "--add-credential", "cdn_key=cdn.example.com",
	}
	want := v1alpha1.SkillPolicy{
		Tools: []v1alpha1.ToolName{"bash", "read"}, Domains: []v1alpha1.Domain{"api.example.org", "b.example.org", "*.example.com"},
		Dependencies: &v1alpha1.SkillDependencies{NPM: []string{"left-pad@1.3.0"}, Pip: []string{"requests[socks]==2.32.3"}, Apt: []string{"jq=1.7.1-3"}},
		Credentials: []v1alpha1.SkillCredential{
			{Name: "weather_key", Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotBearer}, Hosts: []v1alpha1.Domain{"api.example.org", "b.example.org"}},
			{Name: "cdn_key", Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotBearer}, Hosts: []v1alpha1.Domain{"cdn.example.com"}},
		},
	}
	wantPolicy := func(what string) {
		t.Helper()
		spec := r.skill().Spec
		if diff := cmp.Diff(want, spec.Policy); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if got := skill.PolicyHash(&want); spec.Approval.PolicyHash != got || spec.Approval.ContentHash != r.first.Spec.ContentHash {
			t.Errorf("%s: approved are %s and %s, want %s and the content that was approved", what, spec.Approval.ContentHash, spec.Approval.PolicyHash, got)
		}
	}
	r.want(0, args)
	wantPolicy("all at once")
	if len(r.patches) != 1 {
		t.Errorf("sent are %s", r.patches)
	}
	r.want(0, append(args, "--note", "again"))
	wantPolicy("what is there already")
	r.want(0, []string{"approve", "weather", "--add-credential", "weather_key=c.example.com"})
	want.Credentials[0].Hosts = append(want.Credentials[0].Hosts, "c.example.com")
	wantPolicy("another host of a credential")
}

// A file can have what no flag can, such as the slot of a credential and inputs.
func TestApproveWithAPolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	file := filepath.Join(t.TempDir(), "policy.yaml")
	text := "tools: [code]\ndomains: [api.example.org]\ncredentials:\n- {name: weather_key, hosts: [api.example.org], slot: {type: Header, name: X-Key}}\ninputs:\n- {name: city}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r.want(0, []string{"approve", "weather", "--policy", file, "--add-tool", "read"})
	want := v1alpha1.SkillPolicy{
		Tools: []v1alpha1.ToolName{"code", "read"}, Domains: []v1alpha1.Domain{"api.example.org"},
		Credentials: []v1alpha1.SkillCredential{{Name: "weather_key", Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotHeader, Name: "X-Key"}, Hosts: []v1alpha1.Domain{"api.example.org"}}},
		Inputs:      []v1alpha1.SkillInput{{Name: "city", Type: v1alpha1.InputString}},
	}
	spec := r.skill().Spec
	if diff := cmp.Diff(want, spec.Policy); diff != "" || spec.Approval.PolicyHash != skill.PolicyHash(&want) {
		t.Errorf("the policy (-want +got):\n%s", diff)
	}
	if err := os.WriteFile(file, []byte("tool: [code]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.want(1, []string{"approve", "weather", "--policy", file}, file, "tool")
}
