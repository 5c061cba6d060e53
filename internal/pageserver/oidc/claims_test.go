// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

var names = Names{UserClaim: "sub", GroupsClaim: "groups", UserPrefix: "oidc:", GroupsPrefix: "oidc:"}

func TestNamesOfAPerson(t *testing.T) {
	t.Parallel()
	bare := Names{UserClaim: "sub", GroupsClaim: "groups"}
	email := Names{UserClaim: "email"}
	only := names
	only.OnlyGroups = []string{"oidc:b"}
	many := `{"sub":"dana","groups":["` + strings.Join(strings.Fields(fmt.Sprint(make([]int, maxGroups+1))[1:]), `","`) + `"]}`
	for name, tt := range map[string]struct {
		names        Names
		claims, user string
		groups       []string
		says         string
	}{
		"with prefixes":                  {names, `{"sub":"dana","groups":["b","a","b"]}`, "oidc:dana", []string{"oidc:a", "oidc:b"}, ""},
		"with one group as a text":       {names, `{"sub":"dana","groups":"a"}`, "oidc:dana", []string{"oidc:a"}, ""},
		"without groups":                 {names, `{"sub":"dana","groups":null}`, "oidc:dana", nil, ""},
		"only groups that count":         {only, `{"sub":"dana","groups":["b","a"]}`, "oidc:dana", []string{"oidc:b"}, ""},
		"no groups are read":             {email, `{"email":"d@example.org","email_verified":true,"groups":["a"]}`, "d@example.org", nil, ""},
		"an address not verified":        {email, `{"email":"d@example.org","email_verified":false}`, "", nil, "not verified"},
		"an address of unknown standing": {email, `{"email":"d@example.org"}`, "", nil, "not verified"},
		"no name":                        {names, `{}`, "", nil, "no text in the claim sub"},
		"an empty name":                  {names, `{"sub":""}`, "", nil, "no text in the claim sub"},
		"a number":                       {names, `{"sub":1}`, "", nil, "no text in the claim sub"},
		"a user of Kubernetes":           {bare, `{"sub":"system:admin"}`, "", nil, "begins with system:"},
		"such a user with a prefix":      {names, `{"sub":"system:admin"}`, "", nil, "begins with system:"},
		"a group of Kubernetes":          {bare, `{"sub":"dana","groups":["system:masters"]}`, "", nil, "begins with system:"},
		"a space before":                 {bare, `{"sub":"dana","groups":[" system:masters"]}`, "", nil, "begins or ends with a space"},
		"a tab before":                   {bare, `{"sub":"dana","groups":["\tsystem:masters"]}`, "", nil, "cannot be shown"},
		"a space before the name":        {bare, `{"sub":" system:admin"}`, "", nil, "begins or ends with a space"},
		"a line break":                   {bare, `{"sub":"a\nb"}`, "", nil, "cannot be shown"},
		"text that turns":                {bare, `{"sub":"a\u202eb"}`, "", nil, "cannot be shown"},
		"an empty group":                 {names, `{"sub":"dana","groups":[""]}`, "", nil, "it is empty"},
		"groups that are none":           {names, `{"sub":"dana","groups":{"a":1}}`, "", nil, "no list of texts"},
		"a long name":                    {names, `{"sub":"` + strings.Repeat("x", maxName) + `"}`, "", nil, "has over 256 bytes"},
		"very many groups":               {names, many, "", nil, ""},
	} {
		var claims map[string]json.RawMessage
		if err := json.Unmarshal([]byte(tt.claims), &claims); err != nil {
			t.Fatal(name, err)
		}
		user, groups, err := tt.names.of(claims)
		if name == "very many groups" {
			if len(groups) > maxGroups {
				t.Errorf("%s: %d", name, len(groups))
			}
			continue
		}
		if user != tt.user || !slices.Equal(groups, tt.groups) || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %q, %q, %v", name, user, groups, err)
		}
	}
}

func TestRulesForNamesThatAreRefused(t *testing.T) {
	t.Parallel()
	for says, n := range map[string]Names{
		"claim with the name":     {},
		"begins with system:":     {UserClaim: "sub", UserPrefix: "system:"},
		"prefix begins with":      {UserClaim: "sub", GroupsPrefix: "system:serviceaccounts:"},
		"begins or ends with a s": {UserClaim: "sub", UserPrefix: " system:"},
	} {
		if err := n.check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", n, err)
		}
	}
	if err := names.check(); err != nil {
		t.Error(err)
	}
}
