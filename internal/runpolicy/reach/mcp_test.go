// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestRefuseServers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		url, credential string
		// want is a part of the message, "" if the server is allowed.
		want string
	}{
		"allowed":             {"https://example.org/mcp", "", ""},
		"with its port":       {"https://example.org:443/mcp", "", ""},
		"another port":        {"https://api.example.com:8443", "", ""},
		"a subdomain":         {"https://a.b.example.net/", "", ""},
		"with its credential": {"https://example.org/mcp", "key", ""},
		"a program":           {"", "", ""},
		"another host":        {"https://other.example.org/mcp", "", "the host other.example.org, port 443, is not within spec.domains"},
		"port not allowed":    {"https://example.org:8443/", "", "the host example.org, port 8443, is not within"},
		"the apex":            {"https://example.net/", "", "is not within spec.domains"},
		"an address":          {"https://192.0.2.1/", "", "spec.mcpServers[1].url"},
		"address 6":           {"https://[2001:db8::1]/", "", "spec.mcpServers[1].url"},
		"a star":              {"https://*.example.net/", "", "spec.mcpServers[1].url"},
		"odd spelling":        {"https://example.org./", "", "spec.mcpServers[1].url"},
		"no port":             {"https://example.org:99999/", "", "spec.mcpServers[1].url"},
		"no URL":              {"https://exa%mple.org/", "", "spec.mcpServers[1].url"},
		"no such credential":  {"https://example.org/", "none", "none is none of spec.credentials"},
		"another slot":        {"https://example.org/", "login", `the slot of login is Basic and must be Bearer`},
		"another host's":      {"https://a.example.net/", "key", "key is not bound to a.example.net, port 443"},
		"exposed":             {"https://example.org/", "open", "open is not bound to example.org"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := &v1alpha1.MotorRun{}
			run.Spec.Domains = []v1alpha1.Domain{"example.org", "api.example.com:8443", "*.example.net"}
			run.Spec.Credentials = []v1alpha1.Credential{
				{Name: "key", Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotBearer}, Hosts: []v1alpha1.Domain{"example.org"}}, {Name: "login", Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotBasic}, Hosts: []v1alpha1.Domain{"example.org"}},
				{Name: "open", ExposeToSandbox: true},
			}
			run.Spec.MCPServers = []v1alpha1.MCPServer{{Name: "first", Command: []string{"x"}}, {Name: "second", URL: tt.url, CredentialName: tt.credential}}
			got := RefuseDomains(run, nil)
			switch {
			case tt.want == "":
				if got != nil {
					t.Errorf("%+v", got)
				}
			case got == nil || got.Reason != v1alpha1.ReasonMCPServerNotAllowed || !got.Final || !strings.Contains(got.Message, tt.want):
				t.Errorf("%+v", got)
			}
		})
	}
}
