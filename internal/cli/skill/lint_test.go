// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const policyHead = "apiVersion: motorcortex.dev/v1alpha1\nkind: Skill\nmetadata:\n  name: weather\nspec:\n  policy:\n"

func TestLintNamesFilesAndLines(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files map[string]string
		args  []string
		code  int
		want  string
	}{
		"nothing to say": {
			files: map[string]string{"weather/SKILL.md": manifest, "weather.yaml": policyHead + "    tools: [read]\n"}, want: "",
		},
		"no policy": {
			files: map[string]string{"weather/SKILL.md": manifest}, want: "weather.yaml: note: there is no policy here: the skill is checked without one\n",
		},
		"a manifest": {
			files: map[string]string{"weather/SKILL.md": "---\nname: We\ndescription:\nodd: x\n---\n", "weather.yaml": policyHead},
			code:  1, want: `weather/SKILL.md:2: error: the name "We" has "W" in it: use a-z, 0-9 and hyphens alone` + "\n" + `weather/SKILL.md:3: error: "description" is empty: give it 1 to 1024 characters` + "\n",
		},
		"another name": {
			files: map[string]string{"weather/SKILL.md": strings.Replace(manifest, "name: weather", "name: wind", 1), "weather.yaml": strings.Replace(policyHead, "weather", "wind", 1)},
			code:  1, want: `weather.yaml:4: error: the name is wind, and that of the folder is weather: make them equal` + "\n" + `weather/SKILL.md: error: the name in it is "wind", and that of the skill is "weather": make them equal` + "\n",
		},
		"files that no skill has": {
			files: map[string]string{"weather/SKILL.md": manifest, "weather/a\x1b[31m": "x", "weather/skill.md": manifest, "weather/run.log": "x"},
			code:  1, want: "weather.yaml: note: there is no policy here: the skill is checked without one\n" +
				`weather/"a\x1b[31m": error: the path has a character that cannot be seen (U+001B): rename the file` + "\n" +
				"weather/run.log: note: it is no part of the skill: tools leave it behind\nweather/skill.md: error: its name is not SKILL.md: rename it\n",
		},
		"findings": {
			files: map[string]string{"weather/SKILL.md": manifest + "\u202e\n", "weather/scripts/send.sh": "#!/bin/sh\ncurl https://api.weather.test/ -H \"$API_TOKEN\"\n", "weather.yaml": policyHead + "    tools: [bash]\n    domains:\n    - b.example.org\n    credentials:\n    - {name: other_key, hosts: [b.example.org]}\n"},
			want: `weather.yaml:9: warning: no file mentions the domain b.example.org
weather.yaml:11: warning: no file mentions the credential other_key
weather/SKILL.md:6: warning: HiddenUnicode: `,
		},
		"findings, strictly": {
			files: map[string]string{"weather/SKILL.md": manifest, "weather.yaml": policyHead + "    domains: [b.example.org]\n"},
			args:  []string{"--strict"}, code: 1, want: "weather.yaml:7: warning: no file mentions the domain b.example.org\n",
		},
		"what the policy does not grant": {
			files: map[string]string{"weather/SKILL.md": manifest, "weather/scripts/send.sh": "#!/bin/sh\ncurl https://api.weather.test/ -H \"$API_TOKEN\"\n", "weather.yaml": policyHead + "    tools: [read]\n"},
			want: `weather/SKILL.md: warning: the policy does not grant the tool bash
weather/scripts/send.sh: note: Script: #!/bin/sh Runs curl.
weather/scripts/send.sh:2: warning: the policy does not grant the domain api.weather.test
weather/scripts/send.sh:2: warning: the policy does not grant the variable API_TOKEN
`,
		},
		"a policy that is refused": {
			files: map[string]string{"weather/SKILL.md": manifest, "weather.yaml": "# A comment.\n---\n" + policyHead + "    domains:\n    - a.example.org\n    - https://b.example.org/\n"},
			code:  1, want: "weather.yaml:11: error: the policy cannot be granted: spec.policy.domains[1]: ",
		},
		"a policy with a field that is none": {
			files: map[string]string{"weather/SKILL.md": manifest, "weather.yaml": policyHead + "    tools: [read]\n    domain: [a.example.org]\n"},
			code:  1, want: `weather.yaml:8: error: error unmarshaling JSON: while decoding JSON: json: unknown field "domain"` + "\n",
		},
		"a policy that is no YAML": {
			files: map[string]string{"weather/SKILL.md": manifest, "weather.yaml": policyHead + "    tools: [read\n"},
			code:  1, want: "weather.yaml:6: error: this is not valid YAML: ",
		},
		"a policy elsewhere": {
			files: map[string]string{"weather/SKILL.md": manifest, "p/policy.yaml": "tools: [read]\ndomains:\n- https://b.example.org/\n"},
			args:  []string{"--policy", "p/policy.yaml"}, code: 1, want: "p/policy.yaml:3: error: the policy cannot be granted: spec.policy.domains[0]: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			parent := t.TempDir()
			fill(t, parent, tt.files)
			args := []string{"lint", filepath.Join(parent, "weather")}
			for _, arg := range tt.args {
				if strings.Contains(arg, "/") {
					arg = filepath.Join(parent, arg)
				}
				args = append(args, arg)
			}
			code, out, errs := r.run(args...)
			got := strings.ReplaceAll(out, parent+"/", "")
			if strings.HasSuffix(tt.want, ": ") {
				// The rest is another's words.
				got = got[:min(len(got), len(tt.want))]
			}
			if diff := cmp.Diff(tt.want, got); code != tt.code || diff != "" {
				t.Errorf("code %d, %s%s", code, errs, diff)
			}
		})
	}
}

func TestLintOfLinks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := filepath.Join(t.TempDir(), "weather")
	fill(t, dir, map[string]string{"SKILL.md": manifest})
	if err := os.Symlink("SKILL.md", filepath.Join(dir, "again.md")); err != nil {
		t.Fatal(err)
	}
	r.want(1, []string{"lint", dir}, dir+"/again.md: error: it is a link", "1 errors, 0 warnings")
	r.want(5, []string{"lint", filepath.Join(dir, "none")}, "no such file")
	r.want(5, []string{"lint", dir, "--policy", filepath.Join(dir, "none.yaml")}, "no such file")
}

// The samples are what people copy.
func TestTheSamplesAreClean(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{"agentmail", "sales-report", "unit-tests"} {
		r.want(0, []string{"lint", "--strict", filepath.Join("..", "..", "..", "config", "samples", "skills", name)}, "0 errors, 0 warnings")
	}
}
