// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/internal/egress/grant"
)

func TestVariable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"A": true, "SERVICE_API_KEY": true, "A1_": true, "PATHS": true, "PROXY": true, "BASHFUL": true, "GITHUB_TOKEN": true,
		strings.Repeat("A", 128): true, strings.Repeat("A", 129): false,
		"": false, "a": false, "_A": false, "1A": false, "A-B": false, "A=B": false, "A B": false, "Ä": false, "A\n": false, "A\x00": false,
		"PATH": false, "HTTPS_PROXY": false, "SSL_CERT_FILE": false, "LD_PRELOAD": false, "NODE_OPTIONS": false, "PYTHONPATH": false,
		"GIT_SSL_CAINFO": false, "BASH_ENV": false, "ENV": false, "LC_ALL": false, "MOTOR_STATE": false,
	} {
		if got := Variable(name); got != want {
			t.Errorf("%.40q: %v", name, got)
		}
	}
}

// A credential's name that the API accepts must yield a variable that the tool server accepts, or the run would fail with it;
// and a name that the API refuses is refused for the variable.
func TestReservedNamesAreTheAPIs(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../api/v1alpha1/motorrun_inputs.go")
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile(`!\(self in \[([^]]+)\]\) && !\[([^]]+)\]\.exists\(p, self\.startsWith\(p\)\)`).FindSubmatch(source)
	if rule == nil {
		t.Fatal("the rule for names of credentials was not found")
	}
	names := func(list []byte) []string {
		quoted := regexp.MustCompile(`'([^']+)'`).FindAllStringSubmatch(strings.ToUpper(string(list)), -1)
		all := make([]string, 0, len(quoted))
		for _, q := range quoted {
			all = append(all, q[1])
		}
		slices.Sort(all)
		return all
	}
	for what, pair := range map[string][2][]string{
		"names": {names(rule[1]), reservedVariables}, "prefixes": {names(rule[2]), reservedPrefixes},
	} {
		if ours := slices.Sorted(slices.Values(pair[1])); !slices.Equal(pair[0], ours) {
			t.Errorf("%s: the API has %v, the tool server %v", what, pair[0], ours)
		}
	}
}

// The tool server requests the path that the proxy answers.
func TestTheProxysNamesAreItsOwn(t *testing.T) {
	t.Parallel()
	if EgressCheckPath != grant.CheckPath || EgressUser != grant.User {
		t.Errorf("%s as %s, but the proxy knows %s and %s", EgressCheckPath, EgressUser, grant.CheckPath, grant.User)
	}
	if token := grant.Token([]byte("key"), "run", "pod", 10); len(token) > MaxEgressToken || !regexp.MustCompile(`^[A-Za-z0-9._~-]+$`).MatchString(token) {
		t.Errorf("the tool server does not take the token %q", token)
	}
}

func TestKindsOfTools(t *testing.T) {
	t.Parallel()
	tools := []string{ToolBash, ToolCode, ToolRead, ToolWrite, ToolList, ToolAskUser, ToolRequestDomain, ToolSaveCredential, ToolInstall, "nonsense", ""}
	for name, tt := range map[string]struct {
		is   func(string) bool
		want []string
	}{
		"repeatable":         {Repeatable, []string{ToolRead, ToolList, ToolRequestDomain, ToolSaveCredential, ToolInstall}},
		"has effects":        {HasEffects, []string{ToolBash, ToolCode, ToolWrite}},
		"waits for a person": {WaitsForPerson, []string{ToolAskUser, ToolRequestDomain}},
		"web":                {func(tool string) bool { return CarriesWeb(tool, true) }, []string{ToolBash, ToolCode, ToolRead, ToolList, ToolInstall}},
		"web, failed":        {func(tool string) bool { return CarriesWeb(tool, false) }, []string{ToolBash, ToolCode, ToolInstall}},
	} {
		var got []string
		for _, tool := range tools {
			if tt.is(tool) {
				got = append(got, tool)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
