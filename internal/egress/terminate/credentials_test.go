// SPDX-License-Identifier: Apache-2.0

package terminate

import (
	"encoding/base64"
	"testing"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret"
)

// A credential is for the hosts and ports that it names, if its slot is one that the proxy knows.
func TestBindings(t *testing.T) {
	t.Parallel()
	api, err := allowlist.ParseHost("api.example.org")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		slot, host, handle string
		want               bool
	}{
		"bearer":              {"Bearer", "api.example.org", "mch-a", true},
		"basic":               {"Basic", "*.example.org", "mch-a", true},
		"a header":            {"Header X-Key", "api.example.org", "mch-a", true},
		"a parameter":         {"Query key", "api.example.org", "mch-a", true},
		"a header of no name": {"Header", "api.example.org", "mch-a", false},
		"a query of no name":  {"Query ", "api.example.org", "mch-a", false},
		"a bearer of a name":  {"Bearer X-Key", "api.example.org", "mch-a", false},
		"an unknown slot":     {"Cookie", "api.example.org", "mch-a", false},
		"one with a name":     {"Cookie a", "api.example.org", "mch-a", false},
		"no slot":             {"", "api.example.org", "mch-a", false},
		"another host":        {"Bearer", "example.org", "mch-a", false},
		"another port":        {"Bearer", "api.example.org:8443", "mch-a", false},
		"no rule":             {"Bearer", "*", "mch-a", false},
		"no handle":           {"Bearer", "api.example.org", "", false},
	} {
		g := &grant.Grant{Credentials: []grant.Credential{{Name: "a", Handle: tt.handle, Hosts: []string{tt.host}, Slot: tt.slot, Value: secret.New("a value")}}}
		if got := bindings(g, egress.Target{Host: api, Port: 443}); (len(got) == 1) != tt.want {
			t.Errorf("%s: %d bindings", name, len(got))
		}
	}
}

// A handle stands for the whole of user:password. Beside it there is no handle of another credential, which would be lost.
func TestHandleInBasic(t *testing.T) {
	t.Parallel()
	own, other := grant.Handle([]byte("key"), "run", "pod", "a"), grant.Handle([]byte("key"), "run", "pod", "b")
	for text, want := range map[string]bool{
		own: true, own + ":": true, own + ":x": true, "x:" + own: true, own + ":" + own: true,
		own + ":" + other: false, other + ":" + own: false, "x:" + other: false, "x:" + own + "x": false, "x" + own + ":x": false, "x:y": false, "": false,
	} {
		if got := (binding{handle: own, kind: slotBasic}).inBasic(base64.StdEncoding.EncodeToString([]byte(text))); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// A value that is too short to be found in an answer, or that would end a line, is not sent.
func TestSendable(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"12345678": true, "1234567": false, " 12345678 ": true, " 1234567 ": false, "1234\t678": false, "1234\x7f678": false, "1234\n5678": false, "äöüß": true,
	} {
		if got := sendable(value); got != want {
			t.Errorf("%q: %t", value, got)
		}
	}
}
