// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/engine/redacting"
)

// testSecrets knows one value of each kind. A failing test shows where a value was, and not the value.
func testSecrets() (known *redacting.Secrets, values map[string]string) {
	values = map[string]string{
		"api_key": "sk-0123456789abcdefghijklmnop", "login": "maria:correct horse battery", "pem": "-----BEGIN KEY-----\nQUJDREVGR0hJSktMTU5P\n-----END KEY-----\n",
	}
	known = &redacting.Secrets{}
	known.AddGrant(&grant.Grant{Credentials: []grant.Credential{
		{Name: "api_key", Slot: "bearer", Handle: "mch-abcdefghijklmnopqrstuvwxyz234567", Value: grant.NewValue([]byte(values["api_key"]))},
		{Name: "login", Slot: "basic", Handle: "mch-bbcdefghijklmnopqrstuvwxyz234567", Value: grant.NewValue([]byte(values["login"]))},
		{Name: "billing", Slot: "basic", Handle: "mch-dbcdefghijklmnopqrstuvwxyz234567", Value: grant.NewValue([]byte("sk_live_0123:"))},
		{Name: "pem", Handle: "mch-cbcdefghijklmnopqrstuvwxyz234567", Value: grant.NewValue([]byte(values["pem"]))},
	}}, "the-token-of-the-sandbox")
	known.Add(redacting.ModelKeyName, []byte("model-key-0123456789"))
	return known, values
}
