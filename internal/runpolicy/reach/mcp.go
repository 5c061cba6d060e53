// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"net/url"
	"slices"
	"strconv"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
)

// refuseServers finds an MCP server that the run may not reach by its spec, or whose credential would not go there.
func refuseServers(run *v1alpha1.MotorRun, own allowlist.List) *Refusal {
	const reason = v1alpha1.ReasonMCPServerNotAllowed
	for i := range run.Spec.MCPServers {
		s := &run.Spec.MCPServers[i]
		if s.URL == "" {
			continue
		}
		host, port, err := hostOf(s.URL)
		if err != nil {
			return finalRefusal(reason, "spec.mcpServers[%d].url: %v.", i, err)
		}
		if _, ok := own.Match(host, port); !ok {
			return finalRefusal(reason, "spec.mcpServers[%d].url: the host %s, port %d, is not within spec.domains: add it there.", i, host, port)
		}
		if s.CredentialName == "" {
			continue
		}
		n := slices.IndexFunc(run.Spec.Credentials, func(c v1alpha1.Credential) bool { return c.Name == s.CredentialName })
		if n < 0 {
			return finalRefusal(reason, "spec.mcpServers[%d].credentialName: %s is none of spec.credentials.", i, s.CredentialName)
		}
		c := &run.Spec.Credentials[n]
		if c.Slot.Type != "" && c.Slot.Type != v1alpha1.SlotBearer {
			return finalRefusal(reason, "spec.mcpServers[%d].credentialName: the slot of %s is %s and must be Bearer.", i, c.Name, c.Slot)
		}
		if _, ok := RulesOf(c.Hosts).Match(host, port); !ok {
			return finalRefusal(reason, "spec.mcpServers[%d].credentialName: %s is not bound to %s, port %d: add that to its hosts.", i, c.Name, host, port)
		}
	}
	return nil
}

// hostOf returns where a URL leads.
func hostOf(text string) (host allowlist.Host, port uint16, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return host, 0, err
	}
	if host, err = allowlist.ParseHost(u.Hostname()); err != nil {
		return host, 0, err
	}
	if u.Port() == "" {
		return host, 443, nil
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return host, uint16(n), err
}
