// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxName is the most bytes of a name of a user or a group.
	maxName = 256
	// maxGroups is the most groups of a person.
	maxGroups = 200
	// reserved begins the names that Kubernetes gives to its own users and groups.
	reserved = "system:"
	// claimEmail is the claim that its issuer must have verified.
	claimEmail = "email"
)

// Names says how the claims of a token become the names of Kubernetes. The rules are those of the API server for its own OIDC.
type Names struct {
	// UserClaim and GroupsClaim are the claims with the name of the person and of their groups. No groups are read if GroupsClaim is "".
	UserClaim, GroupsClaim string
	// UserPrefix and GroupsPrefix come before each name, so that no issuer can give the name of a user from elsewhere.
	UserPrefix, GroupsPrefix string
	// OnlyGroups are the groups that count, with the prefix. All of them do if it is empty.
	OnlyGroups []string
}

func (n *Names) check() error {
	switch {
	case n.UserClaim == "":
		return errors.New("the claim with the name of the person is missing")
	case strings.HasPrefix(n.UserPrefix, reserved), strings.HasPrefix(n.GroupsPrefix, reserved):
		return fmt.Errorf("a prefix begins with %s, which is for users and groups of Kubernetes itself", reserved)
	}
	for _, prefix := range []string{n.UserPrefix, n.GroupsPrefix} {
		if prefix == "" {
			continue
		}
		if err := fit(prefix); err != nil {
			return fmt.Errorf("the prefix %q: %w", prefix, err)
		}
	}
	return nil
}

// of returns the names of the person in Kubernetes, the groups sorted and each once.
func (n *Names) of(claims map[string]json.RawMessage) (user string, groups []string, err error) {
	if err := json.Unmarshal(claims[n.UserClaim], &user); err != nil || user == "" {
		return "", nil, fmt.Errorf("the token has no text in the claim %s", n.UserClaim)
	}
	if n.UserClaim == claimEmail {
		var verified bool
		if err := json.Unmarshal(claims["email_verified"], &verified); err != nil || !verified {
			return "", nil, errors.New("the issuer has not verified the address in the claim email")
		}
	}
	if user, err = named(n.UserPrefix, user); err != nil {
		return "", nil, fmt.Errorf("the name in the claim %s: %w", n.UserClaim, err)
	}
	groups, err = n.groups(claims)
	if err != nil {
		return "", nil, fmt.Errorf("a group in the claim %s: %w", n.GroupsClaim, err)
	}
	return user, groups, nil
}

func (n *Names) groups(claims map[string]json.RawMessage) ([]string, error) {
	raw := claims[n.GroupsClaim]
	if n.GroupsClaim == "" || len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var list []string
	if json.Unmarshal(raw, &list) != nil {
		// Some issuers send one group as a text.
		var one string
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, errors.New("it is no list of texts")
		}
		list = []string{one}
	}
	groups := make([]string, 0, min(len(list), maxGroups))
	for _, g := range list {
		name, err := named(n.GroupsPrefix, g)
		if err != nil {
			return nil, err
		}
		if len(n.OnlyGroups) > 0 && !slices.Contains(n.OnlyGroups, name) {
			continue
		}
		if len(groups) == maxGroups {
			return nil, fmt.Errorf("there are over %d of them", maxGroups)
		}
		groups = append(groups, name)
	}
	slices.Sort(groups)
	return slices.Compact(groups), nil
}

// CheckName refuses names of users and groups that no person may have, or that a request does not carry as they are.
func CheckName(name string) error {
	_, err := named("", name)
	return err
}

// named returns the name with its prefix. Names of Kubernetes itself are refused with a prefix, too: no honest issuer sends one.
func named(prefix, name string) (string, error) {
	if err := fit(name); err != nil {
		return "", err
	}
	full := prefix + name
	if len(full) > maxName {
		return "", fmt.Errorf("it has over %d bytes", maxName)
	}
	if strings.HasPrefix(name, reserved) || strings.HasPrefix(full, reserved) {
		return "", fmt.Errorf("%q begins with %s, which is for users and groups of Kubernetes itself", name, reserved)
	}
	return full, nil
}

// fit refuses names that a header of a request does not carry as they are. The API server takes spaces around them away: " system:masters" is
// system:masters for it.
func fit(name string) error {
	switch {
	case name == "":
		return errors.New("it is empty")
	case !utf8.ValidString(name), strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%q has characters that cannot be shown", name)
	case strings.TrimSpace(name) != name:
		return fmt.Errorf("%q begins or ends with a space", name)
	}
	return nil
}
