// SPDX-License-Identifier: Apache-2.0

package allowlist

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// DefaultPort is the port of a rule that names none.
const DefaultPort = 443

const wildcardPrefix = "*."

// Rule allows one port of one host, or of every host below a domain. Two Rules allow the same if and only if they are
// equal. The zero Rule allows nothing.
type Rule struct {
	wildcard bool
	host     Host
	port     uint16
}

// ParseRule reads a rule: a host name, or *. and a domain, and then a colon and a port if it is not 443. A wildcard allows the names below
// the domain, however deep, and never the domain itself. The error is a *ParseError.
//
// Beyond what ParseHost refuses, a rule must be in lower case and belong to one owner: public suffixes are refused by themselves and as a
// wildcard. That holds for those of registries (co.uk) and for those of companies that assign names to customers (github.io): foo.github.io
// and *.foo.github.io are rules, github.io and *.github.io are not. A wildcard of which every name is a public suffix (*.kawasaki.jp) is
// refused too. The list of suffixes is the one that was compiled in.
func ParseRule(s string) (Rule, error) {
	// Longer texts are no rule, whatever is in them: *. and a name, a colon and a port.
	if len(s) > maxHost+len(":65535") {
		return Rule{}, refuse(s, ReasonTooLong)
	}
	name, port, err := splitPort(s)
	if err != nil {
		return Rule{}, err
	}
	if lowerASCII(name) != name {
		return Rule{}, refuse(s, ReasonUpperCase)
	}
	// No name below a domain fits into 253 characters if *. and the domain do not.
	if len(name) > maxHost {
		return Rule{}, refuse(s, ReasonTooLong)
	}
	base, wildcard := strings.CutPrefix(name, wildcardPrefix)
	if strings.Contains(base, "*") || wildcard && base == "" {
		return Rule{}, refuse(s, ReasonBadWildcard)
	}
	host, err := parseName(s, base)
	if err != nil {
		return Rule{}, err
	}
	if publicSuffix(host.name) || wildcard && publicSuffix("a0."+host.name) {
		return Rule{}, refuse(s, ReasonPublicSuffix)
	}
	return Rule{wildcard: wildcard, host: host, port: port}, nil
}

func publicSuffix(name string) bool {
	suffix, _ := publicsuffix.PublicSuffix(name)
	return suffix == name
}

// splitPort cuts the port off. A text with more than one colon is an IPv6 address or a URL.
func splitPort(s string) (name string, port uint16, err error) {
	switch {
	case strings.Contains(s, "/"):
		return "", 0, refuse(s, ReasonURL)
	case strings.Contains(s, "@"):
		return "", 0, refuse(s, ReasonUserinfo)
	case strings.ContainsAny(s, "[]") || isAddress(s):
		return "", 0, refuse(s, ReasonIPLiteral)
	}
	name, digits, found := strings.Cut(s, ":")
	if !found {
		return name, DefaultPort, nil
	}
	// ParseUint takes no sign, but zeros before the number, which would make two spellings of one rule.
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || digits[0] == '0' {
		return "", 0, refuse(s, ReasonBadPort)
	}
	return name, uint16(n), nil
}

// String returns the rule as ParseRule reads it, without the port if it is 443.
func (r Rule) String() string {
	if r == (Rule{}) {
		return ""
	}
	s := r.host.name
	if r.wildcard {
		s = wildcardPrefix + s
	}
	if r.port != DefaultPort {
		s += ":" + strconv.Itoa(int(r.port))
	}
	return s
}

// Matches reports whether the rule allows that port of that host.
func (r Rule) Matches(h Host, port uint16) bool {
	if r.host == (Host{}) || port != r.port {
		return false
	}
	if r.wildcard {
		return below(h, r.host)
	}
	return h == r.host
}

// below reports whether a name is under a domain and not the domain itself.
func below(h, domain Host) bool {
	// A suffix with the dot in front of it would be made anew for each decision.
	labels, ok := strings.CutSuffix(h.name, domain.name)
	return ok && strings.HasSuffix(labels, ".")
}

// Within reports whether every host and port that r allows is allowed by outer.
func (r Rule) Within(outer Rule) bool {
	switch {
	case r.host == (Host{}) || r.port != outer.port:
		return false
	case !r.wildcard:
		return outer.Matches(r.host, r.port)
	case !outer.wildcard:
		return false
	}
	return r.host == outer.host || below(r.host, outer.host)
}

// List is the hosts that a run may reach: all that one of its rules allows.
type List []Rule

// ParseList reads rules. The error names the index of the first that is refused and wraps its *ParseError.
func ParseList(rules []string) (List, error) {
	list := make(List, 0, len(rules))
	for i, s := range rules {
		r, err := ParseRule(s)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// Match returns the first rule that allows that port of that host.
func (l List) Match(h Host, port uint16) (Rule, bool) {
	for _, r := range l {
		if r.Matches(h, port) {
			return r, true
		}
	}
	return Rule{}, false
}

// Covers reports whether one rule of the list allows all that r allows.
func (l List) Covers(r Rule) bool {
	return slices.ContainsFunc(l, r.Within)
}
