// SPDX-License-Identifier: Apache-2.0

// Package allowlist reads host names and the rules that allow them. There is one spelling of a name. Any other spelling is refused and
// never repaired, because two programs that repair a name differently reach two hosts. It is pure.
package allowlist

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

const (
	maxHost  = 253
	maxLabel = 63
)

// Host is the name of one host: lower-case ASCII, at least two labels, no trailing dot. Two Hosts are the same host if and
// only if they are equal. The zero Host is no host.
type Host struct{ name string }

// String returns the name.
func (h Host) String() string { return h.name }

// ParseHost reads the host name that a client wrote, without a port. Names are not case-sensitive in DNS, so ASCII letters
// are folded to lower case; nothing else is changed. Names outside of ASCII are accepted only as valid A-labels (xn--…).
// The error is a *ParseError.
func ParseHost(s string) (Host, error) {
	if len(s) > maxHost {
		return Host{}, refuse(s, ReasonTooLong)
	}
	return parseName(s, lowerASCII(s))
}

// parseName reads a name that is in lower case already; input is the text that the error shows.
func parseName(input, name string) (Host, error) {
	if r := checkShape(name); r != "" {
		return Host{}, refuse(input, r)
	}
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if r := checkLabel(l); r != "" {
			return Host{}, refuse(input, r)
		}
	}
	last := labels[len(labels)-1]
	switch {
	case numeric(last):
		return Host{}, refuse(input, ReasonIPLiteral)
	case last[0] < 'a':
		return Host{}, refuse(input, ReasonNoTopLevel)
	case len(labels) == 1:
		return Host{}, refuse(input, ReasonSingleLabel)
	case clusterName(last):
		return Host{}, refuse(input, ReasonClusterName)
	case strings.Contains(name, "xn--") && !validIDNA(name):
		return Host{}, refuse(input, ReasonBadPunycode)
	}
	return Host{name: name}, nil
}

// checkShape finds out why a text is something else than a host name. It runs first because its reasons are more helpful than the invalid
// character.
func checkShape(s string) Reason {
	switch {
	case s == "":
		return ReasonEmpty
	case len(s) > maxHost:
		return ReasonTooLong
	case strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 }):
		return ReasonNotASCII
	case strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return ReasonBadCharacter
	case strings.ContainsAny(s, "[]") || isAddress(s):
		return ReasonIPLiteral
	case strings.Contains(s, "/"):
		return ReasonURL
	case strings.Contains(s, "@"):
		return ReasonUserinfo
	case strings.HasSuffix(s, "."):
		return ReasonTrailingDot
	}
	return ""
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

func checkLabel(l string) Reason {
	switch {
	case l == "":
		return ReasonEmptyLabel
	case strings.ContainsFunc(l, func(r rune) bool { return !inHost(r) }):
		return ReasonBadCharacter
	case len(l) > maxLabel:
		return ReasonLabelTooLong
	case l[0] == '-' || l[len(l)-1] == '-':
		return ReasonHyphen
	}
	return ""
}

func inHost(r rune) bool { return r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' }

// numeric reports whether a last label makes resolvers take the whole name for an IPv4 address: 127.1, 0x7f000001 and
// 017700000001 are all read as 127.0.0.1 by inet_aton.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// clusterName reports whether names with that last label are answered by the cluster, its node or the local network. The names that RFC
// 2606 sets aside (.test, .example, .invalid) are not among them: they are answered only in tests.
func clusterName(last string) bool {
	switch last {
	case "local", "localhost", "localdomain", "internal", "svc", "arpa":
		return true
	}
	return false
}

// validIDNA reports whether every A-label of the name equals the encoding of its Unicode form. Then no two names look the same to a person,
// and no resolver changes a name. Other labels may have hyphens in the third and fourth position, as the names of some content networks do.
func validIDNA(name string) bool {
	strict := idna.New(idna.ValidateLabels(true), idna.CheckHyphens(false), idna.CheckJoiners(true), idna.BidiRule(),
		idna.StrictDomainName(true))
	unicode, err := strict.ToUnicode(name)
	if err != nil {
		return false
	}
	back, err := strict.ToASCII(unicode)
	return err == nil && back == name
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}
