// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/acceptance"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// MaxPolicyBytes is the most that a policy has as JSON: it is kept in the status of every run of the skill.
	MaxPolicyBytes = 6 << 10
	// MaxDomainBytes is the most that the domains of a policy have as a list in JSON: no run may have more.
	MaxDomainBytes = 4 << 10
)

// CheckPolicy returns an error if a policy cannot be granted. The error names the field.
func CheckPolicy(p *v1alpha1.SkillPolicy) error {
	encoded, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("spec.policy: %w", err)
	}
	if len(encoded) > MaxPolicyBytes {
		return fmt.Errorf("spec.policy takes %d bytes as JSON and may take %d: shorten what it describes, or name the domains above those it has",
			len(encoded), MaxPolicyBytes)
	}
	domains, err := checkDomains(p.Domains)
	if err != nil {
		return err
	}
	for i := range p.Credentials {
		if err := checkCredential(&p.Credentials[i], domains); err != nil {
			return fmt.Errorf("spec.policy.credentials[%d].%w", i, err)
		}
	}
	for i := range p.Inputs {
		if err := checkInput(&p.Inputs[i]); err != nil {
			return fmt.Errorf("spec.policy.inputs[%d].%w", i, err)
		}
	}
	if p.Accept != nil && len(p.Accept.Commands) > 0 && !slices.Contains(p.Tools, toolapi.ToolBash) {
		return errors.New("spec.policy.accept.commands run in bash, and spec.policy.tools does not have it")
	}
	if err := acceptance.Check(p.Accept); err != nil {
		return fmt.Errorf("spec.policy.accept.%w", err)
	}
	return nil
}

func checkDomains(domains []v1alpha1.Domain) (list allowlist.List, err error) {
	size := 0
	for i, d := range domains {
		r, err := allowlist.ParseRule(string(d))
		if err != nil {
			return nil, fmt.Errorf("spec.policy.domains[%d]: %w", i, err)
		}
		list, size = append(list, r), size+len(r.String())+len(`"",`)
	}
	if size > MaxDomainBytes {
		return nil, fmt.Errorf("spec.policy.domains take %d bytes together and may take %d: name the domains above them, as in *.example.org",
			size, MaxDomainBytes)
	}
	return list, nil
}

// checkCredential returns an error that begins with the field of the credential.
func checkCredential(c *v1alpha1.SkillCredential, domains allowlist.List) error {
	if reservedName(c.Name) {
		return fmt.Errorf("name: programs give the environment variable %s a meaning of its own: choose another name, such as service_api_key",
			strings.ToUpper(c.Name))
	}
	if c.Slot.Type == v1alpha1.SlotHeader && slices.Contains(connectionHeaders, strings.ToLower(c.Slot.Name)) {
		return fmt.Errorf("slot: the header %s belongs to the connection, not to a credential", c.Slot.Name)
	}
	if len(c.Hosts) == 0 {
		return errors.New("hosts: a credential is bound to at least one host")
	}
	for i, h := range c.Hosts {
		r, err := allowlist.ParseRule(string(h))
		switch {
		case err != nil:
			return fmt.Errorf("hosts[%d]: %w", i, err)
		case !domains.Covers(r):
			return fmt.Errorf("hosts[%d]: %s is not within spec.policy.domains: add it there, or bind the credential to a host that is", i, r)
		}
	}
	return nil
}

// Names that a run's own credentials must not have, and slots that they must not use: the schema of MotorRuns has the same rules.
var (
	reservedNames = []string{
		"path", "home", "user", "logname", "shell", "pwd", "oldpwd", "lang", "language", "term", "tmpdir", "temp", "tmp", "ifs", "env", "bash_env",
		"hostname", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy", "ssl_cert_file", "ssl_cert_dir", "curl_ca_bundle",
		"requests_ca_bundle", "aws_ca_bundle", "pip_cert",
	}
	reservedPrefixes = []string{
		"ld_", "motor_", "node_", "python", "git_", "lc_", "bash_", "npm_config_", "dyld_", "openssl_",
	}
	connectionHeaders = []string{
		"host", "connection", "content-length", "content-type", "content-encoding", "transfer-encoding", "te", "trailer", "upgrade", "expect",
		"accept-encoding", "proxy-authorization", "proxy-connection", "keep-alive", "cookie", "range", "via", "forwarded",
	}
)

func reservedName(name string) bool {
	return slices.Contains(reservedNames, name) ||
		slices.ContainsFunc(reservedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// checkInput returns an error that begins with the field of the input.
func checkInput(in *v1alpha1.SkillInput) error {
	for i, o := range in.Options {
		if _, err := inputValue(in.Type, o); err != nil {
			return fmt.Errorf("options[%d]: %w", i, err)
		}
	}
	if in.Default == nil {
		return nil
	}
	if _, err := allowedValue(in, *in.Default); err != nil {
		return fmt.Errorf("default: %w", err)
	}
	return nil
}
