// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/internal/secret"
)

const (
	secretValue = "hunter22-of-the-test"
	secretKey   = "private-key-of-the-test"
)

func example() *Grant {
	return &Grant{
		RunUID: "run-1", Namespace: "team", Run: "count", PodName: "count-motor-sandbox", PodUID: "pod-1",
		PodIPs:    []netip.Addr{netip.MustParseAddr("10.1.2.3"), netip.MustParseAddr("fd00::3")},
		TokenHash: HashToken("token"), Attempt: 2, Domains: []string{"example.org", "*.example.com:8443"},
		Credentials: []Credential{
			{Name: "api", Handle: "mch-x", Hosts: []string{"example.org"}, Slot: "Bearer", Value: secret.New([]byte(secretValue))},
			{Name: "raw", Handle: "mch-y", Hosts: []string{"*.example.com:8443"}, Slot: "Header X-Key", Value: secret.New([]byte{0, 0xff, '\n'})},
		},
		ExpiresAt: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC),
		CA:        &CA{Cert: []byte("certificate"), Key: secret.New(secretKey)},
	}
}

func encoded(t *testing.T, g *Grant) map[string][]byte {
	t.Helper()
	data, err := g.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	compare := []cmp.Option{
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	}
	bare := example()
	bare.Credentials, bare.CA = nil, nil
	for name, want := range map[string]*Grant{"everything": example(), "no credential": bare} {
		got, err := Decode(encoded(t, want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, compare...); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEncodeKeepsValuesApart(t *testing.T) {
	t.Parallel()
	data := encoded(t, example())
	if got := string(data["credential.api"]); got != secretValue {
		t.Errorf("credential.api has %d bytes", len(got))
	}
	if s := string(data["grant.json"]); leaks(s) {
		t.Error("a value is in grant.json")
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(map[string][]byte)
		want   string
	}{
		"nothing":             {func(d map[string][]byte) { clear(d) }, "decode the grant"},
		"no grant.json":       {func(d map[string][]byte) { delete(d, "grant.json") }, "decode the grant"},
		"no JSON":             {func(d map[string][]byte) { d["grant.json"] = []byte("{") }, "decode the grant"},
		"no value":            {func(d map[string][]byte) { delete(d, "credential.raw") }, `the credential "raw" has no value`},
		"an empty value":      {func(d map[string][]byte) { d["credential.raw"] = nil }, `the credential "raw" has no value`},
		"no run":              {without("runUID"), "runUID"},
		"no Pod":              {without("podUID"), "podUID"},
		"no token":            {without("tokenHash"), "tokenHash"},
		"no end":              {without("expiresAt"), "expiresAt"},
		"an address of words": {func(d map[string][]byte) { replace(d, "10.1.2.3", "ten") }, "decode the grant"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			data := encoded(t, example())
			tt.change(data)
			g, err := Decode(data)
			if err == nil || g != nil {
				t.Fatal("it was accepted")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error does not say %q: %v", tt.want, err)
			}
			if leaks(err.Error()) {
				t.Error("a value is in the error")
			}
		})
	}
}

func without(field string) func(map[string][]byte) {
	return func(d map[string][]byte) { replace(d, `"`+field+`":`, `"other":`) }
}

func replace(d map[string][]byte, old, with string) {
	d["grant.json"] = bytes.ReplaceAll(d["grant.json"], []byte(old), []byte(with))
}

// leaks reports whether a text has one of the values, in letters or in the forms that fmt and encoding/json give bytes.
func leaks(s string) bool {
	for _, v := range []string{secretValue, secretKey} {
		j, _ := json.Marshal([]byte(v))
		for _, form := range []string{
			v, strings.Trim(string(j), `"=`), fmt.Sprintf("%x", v), fmt.Sprintf("%X", v),
			strings.Trim(fmt.Sprintf("%d", []byte(v)), "[]"), strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", []byte(v)), "[]byte{"), "}"),
		} {
			if strings.Contains(s, form) {
				return true
			}
		}
	}
	return false
}

func TestValuesAreNotPrinted(t *testing.T) {
	t.Parallel()
	g := example()
	for name, v := range map[string]any{
		"grant": *g, "pointer": g, "grants": []*Grant{g}, "credential": g.Credentials[0], "credentials": g.Credentials,
		"CA": *g.CA, "pointer to CA": g.CA, "value": g.Credentials[0].Value, "pointer to value": &g.Credentials[0].Value,
	} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			if leaks(fmt.Sprintf(verb, v)) {
				t.Errorf("%s: %s shows a value", name, verb)
			}
		}
		if j, err := json.Marshal(v); err != nil || leaks(string(j)) {
			t.Errorf("%s: encoding/json shows a value (%v)", name, err)
		}
		var log bytes.Buffer
		for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(h).Info("x", "it", v)
		}
		if leaks(log.String()) {
			t.Errorf("%s: log/slog shows a value", name)
		}
	}
	if leaks(fmt.Errorf("x: %v", g).Error()) || !leaks(string(g.Credentials[0].Value.Reveal())) {
		t.Error("an error shows a value, or leaks finds nothing")
	}
}

// TestDerived holds what is derived to the letter: another result would cut every sandbox off that is there when the
// manager is replaced by a newer one.
func TestDerived(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789abcdef")
	for what, tt := range map[string]struct{ got, want string }{
		"token":  {Token(key, "run", "pod", 1), "yrbN4IfEL5zavYdPwNKsNwlU2YG82htjc2R84BRjm7Y"},
		"hash":   {HashToken("token"), "PEaenWxYddN6Q_NT1PiOYfz4EsZu7jRXRlpAsNpBU-A"},
		"handle": {Handle(key, "run", "pod", "name"), "mch-4ftrc4a64fgfu66h77efx67fdnivebat"},
		"secret": {SecretName("run"), "egress-run"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %s, want %s", what, tt.got, tt.want)
		}
	}
	other := []byte("0123456789abcdef0123456789abcdeF")
	seen := map[string]string{}
	all := map[string]string{
		"token": Token(key, "run", "pod", 1), "key": Token(other, "run", "pod", 1), "run": Token(key, "run2", "pod", 1),
		"pod": Token(key, "run", "pod2", 1), "attempt": Token(key, "run", "pod", 2), "border": Token(key, "runp", "od", 1),
		"digits": Token(key, "run", "pod1", 1),
		"handle": Handle(key, "run", "pod", "1"), "handle, key": Handle(other, "run", "pod", "1"),
		"handle, run": Handle(key, "run2", "pod", "1"), "handle, pod": Handle(key, "run", "pod2", "1"),
		"handle, name": Handle(key, "run", "pod", "2"), "handle, border": Handle(key, "run", "po", "d1"),
	}
	for name, v := range all {
		if before, ok := seen[v]; ok {
			t.Errorf("%s and %s are the same", name, before)
		}
		seen[v] = name
		if strings.HasPrefix(name, "handle") != strings.HasPrefix(v, HandlePrefix) || len(v) < 36 || strings.Trim(v, tokenLetters) != "" {
			t.Errorf("%s: %s", name, v)
		}
	}
}

const tokenLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
