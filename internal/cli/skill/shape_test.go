// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestLintRefusesNamesThatTheAPIRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	parent := t.TempDir()
	fill(t, parent, map[string]string{"weather/SKILL.md": manifest, "weather.yaml": "tools: [bash, bsah]\ndependencies:\n  pip: [requests, requests==2.32.3]\n  npm: [left-pad@latest]\n  apt: [jq=1.7.1-3, jq]\n"})
	r.want(1, []string{"lint", filepath.Join(parent, "weather")}, `weather.yaml:1: error: spec.policy.tools[1]: there is no tool "bsah"`, `weather.yaml:3: error: spec.policy.dependencies.pip[0]: "requests" is no package`,
		`weather.yaml:4: error: spec.policy.dependencies.npm[0]`, `weather.yaml:5: error: spec.policy.dependencies.apt[1]`, "4 errors")
}

// The names that lint knows are those of the API.
func TestTheNamesAreThoseOfTheAPI(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		content, err := os.ReadFile(filepath.Join("..", "..", "..", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	here := read("internal/cli/skill/shape.go")
	tools := regexp.MustCompile(`Enum=(\S+)\ntype ToolName string`).FindStringSubmatch(read("api/v1alpha1/motorrun_types.go"))
	if tools == nil || !strings.Contains(strings.Join(strings.Fields(here), " "), `"`+strings.ReplaceAll(tools[1], ";", `", "`)+`", }`) {
		t.Errorf("the tools of the API are %v", tools)
	}
	patterns := regexp.MustCompile("items:Pattern=(`[^`]+`)\n\t// \\+listType=set\n\t// \\+optional\n\t(?:NPM|Pip|Apt) ").FindAllStringSubmatch(read("api/v1alpha1/skill_types.go"), -1)
	if len(patterns) != 3 {
		t.Fatalf("the API has %d patterns", len(patterns))
	}
	for _, p := range patterns {
		if !strings.Contains(here, p[1]) {
			t.Errorf("%s is not among the patterns", p[1])
		}
	}
}
