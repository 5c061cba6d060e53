// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"slices"
	"strings"
)

// SlotBasic is the slot of user:password.
const SlotBasic = "Basic"

// minUser is how long a user is that is taken for a secret although there is a password: names are shorter, keys are not.
const minUser = 16

// placeholders are what services want for a password beside a token that is the user. They are in every manual.
var placeholders = []string{"x-oauth-basic", "x-token-auth", "x-access-token", "api", "token", "x"}

// Parts returns the texts of a credential for a slot that must be hidden. The first is the value itself. Of user:password there are also
// the parts that a host shows alone: the password, and the user if it is 16 bytes or longer. The user is hidden as well if the password
// cannot be a secret, so that the user is the key. The parts are slices of value. Parts shorter than MinLength are returned too: New omits
// them.
func Parts(slot string, value []byte) [][]byte {
	parts := [][]byte{value}
	user, password, ok := bytes.Cut(value, []byte(":"))
	if slot != SlotBasic || !ok {
		return parts
	}
	placeholder := slices.ContainsFunc(placeholders, func(p string) bool { return strings.EqualFold(p, string(password)) })
	if !placeholder && len(password) > 0 {
		parts = append(parts, password)
	}
	if len(user) >= minUser || len(password) < MinLength || placeholder {
		parts = append(parts, user)
	}
	return parts
}
