// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
	"motorcortex.dev/motorcortex/internal/secret"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	const elsewhere = `{"data":[{"id":"other"}]}`
	tests := map[string]struct {
		status int
		body   string
		listed bool
		reason string
	}{
		"it lists the model":                {200, `{"object":"list","data":[{"id":"other"},{"id":"m"}]}`, true, ""},
		"it lists others":                   {200, elsewhere, false, ""},
		"it lists none":                     {200, `{"data":[]}`, true, ""},
		"a page":                            {200, "<html>", true, ""},
		"a list that is too deep to read":   {200, `{"data":[{"id":"other","x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}]}`, true, ""},
		"a list that is cut off":            {200, `{"data":[{"id":"other"},{"id":"` + strings.Repeat("x", maxResponseBytes) + `"}]}`, true, ""},
		"no list":                           {404, elsewhere, true, ""},
		"no list of this method":            {405, "", true, ""},
		"not implemented":                   {501, "", true, ""},
		"a key that may not list":           {403, "", true, ""},
		"a request that is not understood":  {400, `{"error":{"message":"maximum context length is 10 tokens"}}`, true, ""},
		"a wrong key":                       {401, `{"error":{"message":"wrong key ` + testKey + `"}}`, false, outcome.ReasonModelUnauthorized},
		"no credit":                         {402, "", false, outcome.ReasonModelQuota},
		"too many requests":                 {429, "", false, outcome.ReasonModelRateLimited},
		"a server error":                    {503, "down for a while", false, outcome.ReasonModelUnavailable},
		"a redirect, which is not followed": {302, "", false, outcome.ReasonModelNotFound},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			c, _ := serve(t, quick(), func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
				if tt.status == http.StatusFound {
					w.Header().Set("Location", "/elsewhere")
				}
				reply(w, tt.status, tt.body)
			})
			listed, err := c.Probe(t.Context())
			if listed != tt.listed {
				t.Errorf("listed is %t", listed)
			}
			f, failed := errors.AsType[*outcome.Failure](err)
			if failed != (tt.reason != "") || err != nil && !failed || failed && f.Reason != tt.reason {
				t.Errorf("error %v, want reason %q", err, tt.reason)
			}
			if failed && strings.Contains(f.Message, testKey) {
				t.Errorf("the message shows the key: %s", f.Message)
			}
			if len(asked) != 1 || asked[0] != "GET /v1/models Bearer "+testKey {
				t.Errorf("it was asked %q", asked)
			}
			if facts := c.shared.Facts(); facts.Window != 0 || facts.TakesKey {
				t.Errorf("other clients are told %+v", facts)
			}
		})
	}
}

func TestProbeUnreachable(t *testing.T) {
	t.Parallel()
	c, err := New(Endpoint{BaseURL: "http://127.0.0.1:1/v1", APIKey: secret.New(testKey), Model: "m"}, quick())
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Probe(t.Context())
	if f, ok := errors.AsType[*outcome.Failure](err); !ok || f.Reason != outcome.ReasonModelUnavailable || !strings.Contains(f.Message, "127.0.0.1:1") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = c.Probe(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a probe whose context ended says %v", err)
	}
}
