// SPDX-License-Identifier: Apache-2.0

package allowlist

import "fmt"

// Reason is why a text is not a host or not a rule. It is a label of metrics and logs.
type Reason string

// Reasons of a ParseError.
const (
	ReasonEmpty        Reason = "empty"
	ReasonTooLong      Reason = "too_long"
	ReasonLabelTooLong Reason = "label_too_long"
	ReasonEmptyLabel   Reason = "empty_label"
	ReasonTrailingDot  Reason = "trailing_dot"
	ReasonHyphen       Reason = "hyphen"
	ReasonBadCharacter Reason = "bad_character"
	ReasonUpperCase    Reason = "upper_case"
	ReasonNotASCII     Reason = "not_ascii"
	ReasonBadPunycode  Reason = "bad_punycode"
	ReasonIPLiteral    Reason = "ip_literal"
	ReasonSingleLabel  Reason = "single_label"
	ReasonNoTopLevel   Reason = "no_top_level"
	ReasonClusterName  Reason = "cluster_name"
	ReasonUserinfo     Reason = "userinfo"
	ReasonURL          Reason = "url"
	ReasonBadPort      Reason = "bad_port"
	ReasonBadWildcard  Reason = "bad_wildcard"
	ReasonPublicSuffix Reason = "public_suffix"
)

// explanations have the problem and the fix.
var explanations = map[Reason]string{
	ReasonEmpty:        "it is empty: write a host name such as example.org",
	ReasonTooLong:      "it is longer than 253 characters: no such host can exist",
	ReasonLabelTooLong: "a part between dots is longer than 63 characters: no such host can exist",
	ReasonEmptyLabel:   "there is nothing before or between its dots: remove the dot that is too many",
	ReasonTrailingDot:  "it ends with a dot: leave the dot out",
	ReasonHyphen:       "a part between dots begins or ends with a hyphen: no such host can exist",
	ReasonBadCharacter: "a host name has only letters, digits, hyphens and dots: remove every other character",
	ReasonUpperCase:    "it has upper-case letters: write it in lower case",
	ReasonNotASCII:     "it has characters outside of ASCII: write its xn-- form",
	ReasonBadPunycode:  "a part that begins with xn-- is not the encoding of a valid name: write the xn-- form of the host name",
	ReasonIPLiteral:    "it is an IP address or is read as one: only hosts with a name can be reached",
	ReasonSingleLabel:  "it has no dot: write a full host name such as example.org",
	ReasonNoTopLevel:   "its last part begins with a digit: write a full host name such as example.org",
	ReasonClusterName:  "it is a name of the cluster or the local network: only hosts of the Internet can be reached",
	ReasonUserinfo:     "it has a user name: write the host name only",
	ReasonURL:          "it is a URL: leave out the scheme and the path",
	ReasonBadPort:      "its port is not a number from 1 to 65535 without leading zeros: write it as in example.org:8443",
	ReasonBadWildcard:  "the only wildcard is *. at the beginning: write it as in *.example.org",
	ReasonPublicSuffix: "anybody can register names below it: write the domain of one owner, such as example.org",
}

// ParseError is why a text was refused.
type ParseError struct {
	Reason Reason
	// Input is the text, of which the error shows only the beginning.
	Input string
}

// Error describes the problem, its position, and the fix. It is one line for every text.
func (e *ParseError) Error() string {
	const most = 64
	shown, more := e.Input, ""
	if len(shown) > most {
		shown, more = shown[:most], "…"
	}
	return fmt.Sprintf("domain %+q%s: %s", shown, more, explanations[e.Reason])
}

func refuse(input string, r Reason) error { return &ParseError{Reason: r, Input: input} }
