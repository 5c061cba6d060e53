// SPDX-License-Identifier: Apache-2.0

package allowlist

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// domainCase is a line of testdata/domains.yaml, which test/api reads too.
type domainCase struct {
	Domain    string `json:"domain"`
	Valid     bool   `json:"valid"`
	Admission string `json:"admission,omitempty"`
	Reason    Reason `json:"reason,omitempty"`
	As        string `json:"as,omitempty"`
}

var longName = strings.Repeat(strings.Repeat("a", 49)+".", 5) + "org"

func domainCases(t testing.TB) []domainCase {
	t.Helper()
	text, err := os.ReadFile("testdata/domains.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []domainCase
	if err := yaml.UnmarshalStrict(text, &cases); err != nil {
		t.Fatal(err)
	}
	expand := strings.NewReplacer("${a63}", strings.Repeat("a", 63), "${a64}", strings.Repeat("a", 64), "${n253}", longName)
	for i := range cases {
		cases[i].Domain = expand.Replace(cases[i].Domain)
	}
	return cases
}

func reasonOf(err error) Reason {
	if p, ok := errors.AsType[*ParseError](err); ok {
		return p.Reason
	}
	return ""
}

func TestDomains(t *testing.T) {
	t.Parallel()
	seen := map[Reason]bool{}
	for _, tt := range domainCases(t) {
		seen[tt.Reason] = true
		t.Run(fmt.Sprintf("%.40q", tt.Domain), func(t *testing.T) {
			r, err := ParseRule(tt.Domain)
			if !tt.Valid {
				if reasonOf(err) != tt.Reason {
					t.Errorf("got %v, %v; want the reason %s", r, err, tt.Reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := tt.As
			if want == "" {
				want = tt.Domain
			}
			if r.String() != want {
				t.Errorf("it became %q, want %q", r, want)
			}
			if again, err := ParseRule(r.String()); err != nil || again != r {
				t.Errorf("%q became %v, %v", r, again, err)
			}
		})
	}
	for _, r := range []Reason{
		ReasonEmpty, ReasonTooLong, ReasonLabelTooLong, ReasonEmptyLabel, ReasonTrailingDot, ReasonHyphen, ReasonBadCharacter,
		ReasonUpperCase, ReasonNotASCII, ReasonBadPunycode, ReasonIPLiteral, ReasonSingleLabel, ReasonNoTopLevel,
		ReasonClusterName, ReasonUserinfo, ReasonURL, ReasonBadPort, ReasonBadWildcard, ReasonPublicSuffix,
	} {
		if !seen[r] {
			t.Errorf("no case for %s", r)
		}
		if explanations[r] == "" {
			t.Errorf("%s is not explained", r)
		}
	}
}

// TestHosts takes the names of the rules, and spellings that only a client can use.
func TestHosts(t *testing.T) {
	t.Parallel()
	for _, tt := range domainCases(t) {
		if tt.Valid && !strings.ContainsAny(tt.Domain, ":*") {
			if h, err := ParseHost(tt.Domain); err != nil || h.String() != tt.Domain {
				t.Errorf("%q became %q, %v", tt.Domain, h, err)
			}
		}
		switch tt.Reason {
		case "", ReasonUpperCase, ReasonPublicSuffix: // these are hosts
		default:
			if h, err := ParseHost(tt.Domain); err == nil {
				t.Errorf("%q became %q", tt.Domain, h)
			}
		}
	}
	for in, want := range map[string]string{
		"Example.ORG": "example.org", "XN--BCHER-KVA.example": "xn--bcher-kva.example", "github.io": "github.io", longName: longName,
	} {
		if h, err := ParseHost(in); err != nil || h.String() != want {
			t.Errorf("%q became %q, %v", in, h, err)
		}
	}
	for in, want := range map[string]Reason{
		"example.org:443": ReasonBadCharacter, "*.example.org": ReasonBadCharacter, "a" + longName: ReasonTooLong,
		"example.org.": ReasonTrailingDot, "LOCALHOST": ReasonSingleLabel, "0X7F.1": ReasonIPLiteral, "a.0X7F": ReasonIPLiteral,
		"Foo.LOCAL": ReasonClusterName, "fe80::1%25eth0": ReasonIPLiteral, "\u212A.example.org": ReasonNotASCII,
		strings.Repeat("\xff", 10): ReasonNotASCII, strings.Repeat("a.", 1<<20): ReasonTooLong,
	} {
		if h, err := ParseHost(in); reasonOf(err) != want {
			t.Errorf("%.40q became %q, %v; want %s", in, h, err, want)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		rule, host string
		port       uint16
		want       bool
	}{
		{"example.org", "example.org", 443, true},
		{"example.org", "example.org", 80, false},
		{"example.org", "example.org", 8443, false},
		{"example.org:8443", "example.org", 8443, true},
		{"example.org:8443", "example.org", 443, false},
		{"example.org", "www.example.org", 443, false},
		{"example.org", "EXAMPLE.org", 443, true},
		{"example.com", "evil-example.com", 443, false},
		{"example.com", "evilexample.com", 443, false},
		{"example.com", "example.com.evil.org", 443, false},
		{"*.example.com", "evil-example.com", 443, false},
		{"*.example.com", "evilexample.com", 443, false},
		{"*.example.com", "example.com", 443, false},
		{"*.example.com", "www.example.com", 443, true},
		{"*.example.com", "a.b.c.example.com", 443, true},
		{"*.example.com", "www.example.com.evil.org", 443, false},
		{"*.example.com", "www.example.com", 80, false},
		{"*.example.com:80", "www.example.com", 80, true},
		{"xn--bcher-kva.example", "XN--bcher-kva.example", 443, true},
	}
	for _, tt := range tests {
		r, host := mustRule(t, tt.rule), mustHost(t, tt.host)
		if got := r.Matches(host, tt.port); got != tt.want {
			t.Errorf("%s and %s:%d: %t", tt.rule, tt.host, tt.port, got)
		}
		if found, got := (List{mustRule(t, "other.test"), r}).Match(host, tt.port); got != tt.want || got && found != r {
			t.Errorf("list with %s and %s:%d: %v, %t", tt.rule, tt.host, tt.port, found, got)
		}
	}
	var none Rule
	if none.Matches(Host{}, 0) || none.Within(none) || none.String() != "" {
		t.Error("the zero rule allows something")
	}
	if _, ok := List(nil).Match(mustHost(t, "example.org"), 443); ok {
		t.Error("the empty list allows something")
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		inner, outer string
		want         bool
	}{
		{"example.org", "example.org", true},
		{"example.org", "example.org:443", true},
		{"example.org:80", "example.org", false},
		{"example.org", "*.example.org", false},
		{"www.example.org", "*.example.org", true},
		{"*.example.org", "*.example.org", true},
		{"*.www.example.org", "*.example.org", true},
		{"*.example.org", "*.www.example.org", false},
		{"*.example.org", "example.org", false},
		{"*.example.org", "www.example.org", false},
		{"*.evil-example.org", "*.example.org", false},
		{"*.example.org:80", "*.example.org", false},
		{"evil-example.org", "*.example.org", false},
	}
	for _, tt := range tests {
		inner, outer := mustRule(t, tt.inner), mustRule(t, tt.outer)
		if got := inner.Within(outer); got != tt.want {
			t.Errorf("%s within %s: %t", tt.inner, tt.outer, got)
		}
		if got := (List{mustRule(t, "other.test"), outer}).Covers(inner); got != tt.want {
			t.Errorf("a list with %s covers %s: %t", tt.outer, tt.inner, got)
		}
	}
}

func TestParseList(t *testing.T) {
	t.Parallel()
	l, err := ParseList([]string{"example.org", "*.example.com:80"})
	if err != nil || len(l) != 2 || l[1].String() != "*.example.com:80" {
		t.Errorf("got %v, %v", l, err)
	}
	_, err = ParseList([]string{"example.org", "co.uk"})
	if reasonOf(err) != ReasonPublicSuffix || !strings.HasPrefix(err.Error(), "[1]: domain \"co.uk\": ") {
		t.Errorf("got %v", err)
	}
}

func TestErrorIsOneLine(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"a\nb.example.org", "\x00", "\u2028.example.org", strings.Repeat("\xff", 1000), strings.Repeat("é", 1000)} {
		_, err := ParseRule(s)
		if err == nil {
			t.Fatalf("%q was accepted", s)
		}
		if text := err.Error(); len(text) > 500 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == '\u2028' }) {
			t.Errorf("the error of %.20q is %q", s, text)
		}
	}
}

func mustRule(t testing.TB, s string) Rule {
	t.Helper()
	r, err := ParseRule(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustHost(t testing.TB, s string) Host {
	t.Helper()
	h, err := ParseHost(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func FuzzParseHost(f *testing.F) {
	for _, tt := range domainCases(f) {
		f.Add(tt.Domain)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHost(s)
		if err != nil {
			if reasonOf(err) == "" || h != (Host{}) {
				t.Fatalf("%q, %v", h, err)
			}
			return
		}
		name := h.String()
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" || len(name) > 253 || name != strings.ToLower(s) {
			t.Errorf("%q became %q", s, name)
		}
		if again, err := ParseHost(name); err != nil || again != h {
			t.Errorf("%q became %q, %v", name, again, err)
		}
		if net.ParseIP(name) != nil || numeric(name[strings.LastIndex(name, ".")+1:]) {
			t.Errorf("%q is an address", name)
		}
	})
}

func FuzzParseRule(f *testing.F) {
	for _, tt := range domainCases(f) {
		f.Add(tt.Domain, "www")
	}
	f.Fuzz(func(t *testing.T, s, label string) {
		r, err := ParseRule(s)
		if err != nil {
			if reasonOf(err) == "" || r != (Rule{}) {
				t.Fatalf("%q, %v", r, err)
			}
			return
		}
		if again, err := ParseRule(r.String()); err != nil || again != r {
			t.Errorf("%q became %q, %v", r, again, err)
		}
		if !r.Within(r) || r.Matches(r.host, r.port) == r.wildcard {
			t.Errorf("%q does not allow what it says", r)
		}
		if r.Matches(Host{label + r.host.name}, r.port) && label != "" && !strings.HasSuffix(label, ".") {
			t.Errorf("%q allows %q", r, label+r.host.name)
		}
		if sub, err := ParseHost(label + "." + r.host.name); err == nil && r.Matches(sub, r.port) != r.wildcard {
			t.Errorf("%q and %q", r, sub)
		}
	})
}
