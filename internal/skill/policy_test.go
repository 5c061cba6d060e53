// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func fullPolicy() *v1alpha1.SkillPolicy {
	return &v1alpha1.SkillPolicy{
		Tools:   []v1alpha1.ToolName{"read", "bash"},
		Domains: []v1alpha1.Domain{"api.service.dev", "*.service.dev:8443"},
		Credentials: []v1alpha1.SkillCredential{{
			Name: "service_api_key", Hosts: []v1alpha1.Domain{"api.service.dev"}, Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotHeader, Name: "X-Key"}, SecretRef: &v1alpha1.SecretKeyRef{Name: "service", Key: "token"},
		}},
		Dependencies: &v1alpha1.SkillDependencies{NPM: []string{"left-pad@1.3.0"}, Pip: []string{"requests==2.32.3"}, Apt: []string{"jq=1.7.1-3"}},
		Inputs: []v1alpha1.SkillInput{
			{Name: "to", Type: v1alpha1.InputString, Description: "who gets it: <a@b> & \"c\" \u2028 漢 \\u2028", Required: true},
			{Name: "count", Type: v1alpha1.InputInteger, Default: new("3"), Options: []string{"1", "3"}},
		},
		Approval: &v1alpha1.RunApproval{Required: v1alpha1.ApprovalIrreversible, Bash: &v1alpha1.BashApproval{Commands: []v1alpha1.CommandPattern{"git push *"}}},
		Bash:     &v1alpha1.BashRules{AllowedCommands: []v1alpha1.CommandPattern{}},
	}
}

// People compute the hash and store it in Git: it never changes for a policy.
func TestPolicyHashGolden(t *testing.T) {
	t.Parallel()
	const full = `{"approval":{"bash":{"commands":["git push *"]},"required":"Irreversible"},"bash":{"allowedCommands":[]},` +
		`"credentials":[{"hosts":["api.service.dev"],"name":"service_api_key","secretRef":{"key":"token","name":"service"},"slot":{"name":"X-Key","type":"Header"}}],` +
		`"dependencies":{"apt":["jq=1.7.1-3"],"npm":["left-pad@1.3.0"],"pip":["requests==2.32.3"]},"domains":["api.service.dev","*.service.dev:8443"],` +
		`"inputs":[{"description":"who gets it: <a@b> & \"c\" ` + "\u2028" + ` 漢 \\u2028","name":"to","required":true,"type":"string"},` +
		`{"default":"3","name":"count","options":["1","3"],"type":"integer"}],"tools":["read","bash"]}`
	for canonical, p := range map[string]*v1alpha1.SkillPolicy{full: fullPolicy(), "{}": {}} {
		if got := canonicalJSON(p); got != canonical {
			t.Errorf("canonical form:\n%s\nwant:\n%s", got, canonical)
		}
		sum := sha256.Sum256([]byte(canonical))
		if got := PolicyHash(p); got != "sha256:"+hex.EncodeToString(sum[:]) {
			t.Errorf("the hash of %s is %s", canonical, got)
		}
	}
	const empty = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
	if got := PolicyHash(nil); got != empty || PolicyHash(&v1alpha1.SkillPolicy{Tools: []v1alpha1.ToolName{}}) != empty {
		t.Errorf("the hash of no policy is %s", got)
	}
	const golden = "sha256:cc6d60cd8cb6fef158c2cd002fd7a722282c8b245b2fa196a04d6d28caf5db4c"
	if got := PolicyHash(fullPolicy()); got != golden {
		t.Errorf("the hash is %s, want %s", got, golden)
	}
}

// Every change of a policy changes its hash.
func TestPolicyHashTellsPoliciesApart(t *testing.T) {
	t.Parallel()
	seen := map[string]string{PolicyHash(fullPolicy()): "nothing"}
	for name, change := range map[string]func(*v1alpha1.SkillPolicy){
		"tools":          func(p *v1alpha1.SkillPolicy) { p.Tools = p.Tools[:1] },
		"order of tools": func(p *v1alpha1.SkillPolicy) { p.Tools = []v1alpha1.ToolName{"bash", "read"} },
		"domain":         func(p *v1alpha1.SkillPolicy) { p.Domains[1] = "*.service.dev" },
		"host":           func(p *v1alpha1.SkillPolicy) { p.Credentials[0].Hosts[0] = "x.service.dev:8443" },
		"slot": func(p *v1alpha1.SkillPolicy) {
			p.Credentials[0].Slot = v1alpha1.CredentialSlot{Type: v1alpha1.SlotBearer}
		},
		"secret":             func(p *v1alpha1.SkillPolicy) { p.Credentials[0].SecretRef.Name = "other" },
		"no secret":          func(p *v1alpha1.SkillPolicy) { p.Credentials[0].SecretRef = nil },
		"dependency":         func(p *v1alpha1.SkillPolicy) { p.Dependencies.Pip[0] = "requests==2.32.4" },
		"moved dependency":   func(p *v1alpha1.SkillPolicy) { p.Dependencies.Apt, p.Dependencies.Pip = nil, nil },
		"default":            func(p *v1alpha1.SkillPolicy) { p.Inputs[1].Default = new("1") },
		"no default":         func(p *v1alpha1.SkillPolicy) { p.Inputs[1].Default = nil },
		"empty default":      func(p *v1alpha1.SkillPolicy) { p.Inputs[1].Default = new("") },
		"required":           func(p *v1alpha1.SkillPolicy) { p.Inputs[0].Required = false },
		"approval":           func(p *v1alpha1.SkillPolicy) { p.Approval.Required = v1alpha1.ApprovalNever },
		"any command":        func(p *v1alpha1.SkillPolicy) { p.Bash.AllowedCommands = nil },
		"commands":           func(p *v1alpha1.SkillPolicy) { p.Bash.AllowedCommands = []v1alpha1.CommandPattern{"ls"} },
		"no rules for bash":  func(p *v1alpha1.SkillPolicy) { p.Bash = nil },
		"escape in the text": func(p *v1alpha1.SkillPolicy) { p.Inputs[0].Description = `\\u2028` },
		"the character":      func(p *v1alpha1.SkillPolicy) { p.Inputs[0].Description = "\\\u2028" },
	} {
		p := fullPolicy()
		change(p)
		hash := PolicyHash(p)
		if other, double := seen[hash]; double {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[hash] = name
		encoded, err := json.Marshal(p)
		var read v1alpha1.SkillPolicy
		if err == nil {
			err = json.Unmarshal(encoded, &read)
		}
		if err != nil || PolicyHash(&read) != hash {
			t.Errorf("%s: the policy that was stored has another hash (%v)", name, err)
		}
	}
}

func TestPackagesHash(t *testing.T) {
	t.Parallel()
	deps := &v1alpha1.SkillDependencies{NPM: []string{"left-pad@1.3.0"}}
	seen := map[string]bool{}
	for _, h := range []string{
		PackagesHash(nil, nil), PackagesHash(deps, nil), PackagesHash(nil, &v1alpha1.PackageSources{NPM: "https://npm.example.org"}),
		PackagesHash(deps, &v1alpha1.PackageSources{NPM: "https://npm.example.org"}), PackagesHash(deps, &v1alpha1.PackageSources{NPM: "https://other.example.org"}),
	} {
		if seen[h] || !strings.HasPrefix(h, "sha256:") || len(h) != 71 {
			t.Errorf("%s", h)
		}
		seen[h] = true
	}
}

// The keys of apt's source change nothing of packages that do not come from there.
func TestPackagesHashOfAKeyring(t *testing.T) {
	t.Parallel()
	npm, apt := []string{"left-pad@1.3.0"}, []string{"jq=1.7.1-3"}
	for name, tt := range map[string]struct {
		deps          *v1alpha1.SkillDependencies
		before, after string
		want          bool
	}{
		"npm":               {&v1alpha1.SkillDependencies{NPM: npm}, "a key", "another key", true},
		"npm, a first key":  {&v1alpha1.SkillDependencies{NPM: npm}, "", "a key", true},
		"nothing":           {nil, "a key", "another key", true},
		"apt":               {&v1alpha1.SkillDependencies{Apt: apt}, "a key", "another key", false},
		"apt beside npm":    {&v1alpha1.SkillDependencies{NPM: npm, Apt: apt}, "a key", "another key", false},
		"apt, a first key":  {&v1alpha1.SkillDependencies{Apt: apt}, "", "a key", false},
		"apt, white space":  {&v1alpha1.SkillDependencies{Apt: apt}, "a key", "\r\n a key\t\n", true},
		"apt, inside a key": {&v1alpha1.SkillDependencies{Apt: apt}, "a key", "a  key", false},
	} {
		sources := v1alpha1.PackageSources{NPM: "https://npm.example.org", Apt: &v1alpha1.AptSource{URL: "https://deb.example.org", Suite: "stable", Keyring: tt.before}}
		before := PackagesHash(tt.deps, &sources)
		if sources.Apt.Keyring != tt.before {
			t.Errorf("%s: the sources were changed", name)
		}
		sources.Apt.Keyring = tt.after
		if got := PackagesHash(tt.deps, &sources) == before; got != tt.want {
			t.Errorf("%s: the hash is the same: %v", name, got)
		}
	}
}

func TestCheckPolicy(t *testing.T) {
	t.Parallel()
	if err := CheckPolicy(fullPolicy()); err != nil {
		t.Errorf("a policy is refused: %v", err)
	}
	if err := CheckPolicy(&v1alpha1.SkillPolicy{}); err != nil {
		t.Errorf("an empty policy is refused: %v", err)
	}
	input := func(typ v1alpha1.InputType, value *string, options ...string) func(*v1alpha1.SkillPolicy) {
		return func(p *v1alpha1.SkillPolicy) {
			p.Inputs[1] = v1alpha1.SkillInput{Name: "x", Type: typ, Default: value, Options: options, Required: true}
		}
	}
	for want, change := range map[string]func(*v1alpha1.SkillPolicy){
		"": input(v1alpha1.InputNumber, new("1.0"), "1", "2.5"),
		`spec.policy.domains[1]: domain "github.io": anybody can register names below it`: func(p *v1alpha1.SkillPolicy) { p.Domains[1] = "github.io" },
		`spec.policy.domains[0]: domain "10.0.0.1": it is an IP address`:                  func(p *v1alpha1.SkillPolicy) { p.Domains[0] = "10.0.0.1" },
		"spec.policy.credentials[0].hosts[1]: service.dev is not within spec.policy.domains": func(p *v1alpha1.SkillPolicy) {
			p.Credentials[0].Hosts = append(p.Credentials[0].Hosts, "service.dev")
		},
		"spec.policy.credentials[0].hosts[0]: *.service.dev is not within": func(p *v1alpha1.SkillPolicy) { p.Credentials[0].Hosts[0] = "*.service.dev" },
		"spec.policy.credentials[0].hosts[0]: domain":                      func(p *v1alpha1.SkillPolicy) { p.Credentials[0].Hosts[0] = "Service.dev" },
		"spec.policy.credentials[0].hosts: a credential is bound":          func(p *v1alpha1.SkillPolicy) { p.Credentials[0].Hosts = nil },
		"spec.policy.credentials[0].name: programs give the environment variable GIT_SSH": func(p *v1alpha1.SkillPolicy) {
			p.Credentials[0].Name = "git_ssh"
		},
		"spec.policy.credentials[0].name: programs give the environment variable PATH": func(p *v1alpha1.SkillPolicy) { p.Credentials[0].Name = "path" },
		"spec.policy.credentials[0].slot: the header Content-Length belongs": func(p *v1alpha1.SkillPolicy) {
			p.Credentials[0].Slot = v1alpha1.CredentialSlot{Type: v1alpha1.SlotHeader, Name: "Content-Length"}
		},
		`spec.policy.inputs[1].default: "three" is no integer`:              input(v1alpha1.InputInteger, new("three")),
		`spec.policy.inputs[1].default: "2" is none of the options 1, 3`:    input(v1alpha1.InputInteger, new("2"), "1", "3"),
		`spec.policy.inputs[1].options[1]: "yes" is neither true nor false`: input(v1alpha1.InputBoolean, nil, "true", "yes"),
		`spec.policy.inputs[1].default: "1e999" is too large`:               input(v1alpha1.InputNumber, new("1e999")),
		"spec.policy.accept.files[0] leads out of the workspace":            func(p *v1alpha1.SkillPolicy) { p.Accept = &v1alpha1.RunAcceptance{Files: []string{"../a"}} },
		"spec.policy.accept.valueSchema is no JSON schema":                  func(p *v1alpha1.SkillPolicy) { p.Accept = &v1alpha1.RunAcceptance{ValueSchema: "[]"} },
		"spec.policy.accept.commands run in bash": func(p *v1alpha1.SkillPolicy) {
			p.Tools, p.Accept = []v1alpha1.ToolName{"read"}, &v1alpha1.RunAcceptance{Commands: []v1alpha1.AcceptCommand{{Command: "x"}}}
		},
		"spec.policy takes 6": func(p *v1alpha1.SkillPolicy) { p.Inputs[0].Description = strings.Repeat("d", 5600) },
		"spec.policy.domains take 4": func(p *v1alpha1.SkillPolicy) {
			for i := range 60 {
				p.Domains = append(p.Domains, v1alpha1.Domain(fmt.Sprintf("%s%02d.service.dev", strings.Repeat("d", 56), i)))
			}
		},
	} {
		p := fullPolicy()
		change(p)
		err := CheckPolicy(p)
		if want == "" {
			if err != nil {
				t.Errorf("a policy is refused: %v", err)
			}
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
