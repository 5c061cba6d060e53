// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A policy that is approved has no credential that the API refuses in the spec of a run.
func TestRulesForCredentialsAreTheAPIs(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../../api/v1alpha1/motorrun_inputs.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		rule string
		ours []string
	}{
		"names":    {`!\(self in \[([^]]+)\]\) && `, reservedNames},
		"prefixes": {`!\[([^]]+)\]\.exists\(p, self\.startsWith\(p\)\)`, reservedPrefixes},
		"headers":  {`!\(self\.name\.lowerAscii\(\) in \[([^]]+)\]\)`, connectionHeaders},
	} {
		rule := regexp.MustCompile(tt.rule).FindSubmatch(source)
		if rule == nil {
			t.Fatalf("%s: the rule of the API was not found", name)
		}
		api := strings.Split(strings.ReplaceAll(string(rule[1]), "'", ""), ", ")
		if !slices.Equal(slices.Sorted(slices.Values(api)), slices.Sorted(slices.Values(tt.ours))) {
			t.Errorf("%s: the API has %q, a policy %q", name, api, tt.ours)
		}
	}
}

// A policy may take as many bytes as its bound says, and not one more.
func TestLargestPolicy(t *testing.T) {
	t.Parallel()
	policy := func(description int) *v1alpha1.SkillPolicy {
		return &v1alpha1.SkillPolicy{Inputs: []v1alpha1.SkillInput{{Name: "a", Description: strings.Repeat("d", description)}}}
	}
	room := MaxPolicyBytes - len(canonicalJSON(policy(1))) + 1
	if err := CheckPolicy(policy(room)); err != nil {
		t.Error(err)
	}
	if err := CheckPolicy(policy(room + 1)); err == nil {
		t.Error("one byte more is accepted")
	}
}
