// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"
)

// signed is a token with claims, whose signature is nothing.
func signed(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

// token is one of an agent for this server.
func token(name string) string {
	return signed(fmt.Sprintf(`{"aud":["mcp"],"sub":"system:serviceaccount:ns:%s"}`, name))
}

func TestGlance(t *testing.T) {
	t.Parallel()
	now := time.Unix(10_000, 0)
	for name, tt := range map[string]struct{ token, says string }{
		"an agent's":              {token("a"), ""},
		"with one audience":       {signed(`{"aud":"mcp","sub":"system:serviceaccount:ns:a","exp":10001}`), ""},
		"just over":               {signed(`{"aud":"mcp","sub":"system:serviceaccount:ns:a","exp":9950}`), ""},
		"long over":               {signed(`{"aud":"mcp","sub":"system:serviceaccount:ns:a","exp":9000}`), "no longer valid"},
		"for the API server":      {signed(`{"aud":["https://kubernetes.default.svc"],"sub":"system:serviceaccount:ns:a"}`), "not for the audience mcp"},
		"without an audience":     {signed(`{"sub":"system:serviceaccount:ns:a"}`), "not for the audience mcp"},
		"of a person":             {signed(`{"aud":"mcp","sub":"dana"}`), "not of a ServiceAccount"},
		"nothing":                 {"", "not the token"},
		"a word":                  {"secret", "not the token"},
		"three parts of anything": {"a.%%%.c", "not the token"},
		"no object":               {signed(`[]`), "not of a ServiceAccount"},
		"audiences of numbers":    {signed(`{"aud":[1],"sub":"system:serviceaccount:ns:a"}`), "not of a ServiceAccount"},
		"deep":                    {signed(strings.Repeat("[", 10_000)), "not of a ServiceAccount"},
	} {
		if err := glance(tt.token, "mcp", now); tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
