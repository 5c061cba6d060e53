// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/skill"
)

func TestHash(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := t.TempDir()
	fill(t, dir, map[string]string{"SKILL.md": manifest, "scripts/send.sh": "#!/bin/sh\necho one\n", "references/old.md": "old\n"})
	code, out, errs := r.run("hash", dir)
	if want := "contentHash: " + r.first.Spec.ContentHash + "\n"; code != 0 || out != want || errs != "" {
		t.Errorf("code %d, prints %q, complains %q, want %q", code, out, errs, want)
	}
	// A mode that ConfigMaps cannot have makes another hash.
	if err := os.Chmod(filepath.Join(dir, "references", "old.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	code, out, errs = r.run("hash", dir)
	if code != 0 || strings.Contains(out, r.first.Spec.ContentHash) || !strings.Contains(errs, "out of ConfigMaps, which have no file modes, the contentHash is "+r.first.Spec.ContentHash) {
		t.Errorf("code %d, prints %q, complains %q", code, out, errs)
	}
}

func TestHashRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, tt := range map[string]struct {
		files map[string]string
		link  string
		code  int
		says  string
	}{
		"no SKILL.md":          {files: map[string]string{"scripts/a": ""}, code: 1, says: "SKILL.md"},
		"a file too large":     {files: map[string]string{"SKILL.md": manifest, "assets/a": strings.Repeat("x", 1<<20+1)}, code: 1, says: "assets/a"},
		"a link to a folder":   {files: map[string]string{"SKILL.md": manifest}, link: "scripts", code: 1, says: "scripts: it is a link"},
		"a link elsewhere":     {files: map[string]string{"SKILL.md": manifest}, link: "docs", code: 1, says: "docs: it is a link"},
		"a link to a file":     {files: map[string]string{"SKILL.md": manifest, "scripts/a": ""}, link: "scripts/b", code: 1, says: "scripts/b: it is a link"},
		"what is not standard": {files: map[string]string{"SKILL.md": strings.Replace(manifest, "---\nAsk", "color: red\n---\nAsk", 1)}, code: 0, says: "note: the standard has no key"},
		"what tools leave behind": {
			files: map[string]string{"SKILL.md": manifest, "node_modules/x/index.js": "", "scripts/a.pyc": ""}, code: 0, says: "note: node_modules is no part of the skill: tools leave it behind",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			fill(t, dir, tt.files)
			if tt.link != "" {
				if err := os.Symlink("/etc/passwd", filepath.Join(dir, tt.link)); err != nil {
					t.Fatal(err)
				}
			}
			r.want(tt.code, []string{"hash", dir}, tt.says)
		})
	}
}

func TestHashOfAPolicy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := t.TempDir()
	fill(t, dir, map[string]string{"SKILL.md": manifest})
	const policy = "domains: [api.example.org]\ncredentials: [{name: weather_key, hosts: [api.example.org]}]\ninputs: [{name: city}]\napproval: {tools: [bash]}\n"
	hash := skill.PolicyHash(&v1alpha1.SkillPolicy{
		Domains:     []v1alpha1.Domain{"api.example.org"},
		Credentials: []v1alpha1.SkillCredential{{Name: "weather_key", Hosts: []v1alpha1.Domain{"api.example.org"}, Slot: v1alpha1.CredentialSlot{Type: v1alpha1.SlotBearer}}},
		Inputs:      []v1alpha1.SkillInput{{Name: "city", Type: "string"}},
		Approval:    &v1alpha1.RunApproval{Required: "Never", OnUnknown: "Person", Tools: []v1alpha1.ToolName{"bash"}},
	})
	indented := "    " + strings.ReplaceAll(strings.TrimSpace(policy), "\n", "\n    ")
	object := "apiVersion: motorcortex.dev/v1alpha1\nkind: Skill\nmetadata: {name: weather}\nspec:\n  policy:\n" + indented + "\n"
	for name, tt := range map[string]struct {
		file string
		code int
		says string
	}{
		"a policy":              {policy, 0, "policyHash:  " + hash},
		"a skill":               {object, 0, "policyHash:  " + hash},
		"a skill among others":  {"kind: ConfigMap\n---\n" + object + "---\nkind: Secret\n", 0, "policyHash:  " + hash},
		"no policy":             {"kind: Skill\n", 0, "policyHash:  " + skill.PolicyHash(nil)},
		"no skill":              {"kind: ConfigMap\n", 1, "there is no Skill in it"},
		"an unknown field":      {"domain: [api.example.org]\n", 1, "unknown field"},
		"something else":        {"{", 1, "policy.yaml: "},
		"what nobody can grant": {"credentials: [{name: weather_key, hosts: [api.example.org]}]\n", 1, "the policy cannot be granted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "policy.yaml")
			fill(t, filepath.Dir(file), map[string]string{"policy.yaml": tt.file})
			r.want(tt.code, []string{"hash", dir, "--policy", file}, tt.says)
		})
	}
	r.want(1, []string{"hash", dir, "--policy", dir + "/missing.yaml"}, "no such file")
}

// defaults of a schema by the path of their field.
func defaults(schema map[string]any, path string, found map[string]any) {
	if value, ok := schema["default"]; ok {
		found[path] = value
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, field := range properties {
		defaults(field.(map[string]any), path+"."+name, found)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		defaults(items, path+"[]", found)
	}
}

// The hash of a policy in a file is that of the policy in a cluster as long as these are the defaults of the API.
func TestDefaultsOfTheAPI(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../../config/crd/bases/motorcortex.dev_skills.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd map[string]any
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(crd, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	policy, ok, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties", "policy")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	found := map[string]any{}
	defaults(policy, "", found)
	want := map[string]any{".credentials[].slot": map[string]any{"type": "Bearer"}, ".credentials[].slot.type": "Bearer", ".inputs[].type": "string", ".approval.required": "Never", ".approval.onUnknown": "Person",
		".accept.commands[].timeoutSeconds": float64(60)}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("withDefaults does not fill in what the API does:\n%s", diff)
	}
}

// Every file in the folder counts, wherever it is.
func TestHashIsOfEveryFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := t.TempDir()
	fill(t, dir, map[string]string{"SKILL.md": manifest})
	_, without, _ := r.run("hash", dir)
	fill(t, dir, map[string]string{"examples/console.py": "print(1)\n"})
	code, with, errs := r.run("hash", dir)
	if code != 0 || errs != "" || with == without || !strings.Contains(with, "contentHash: sha256:") {
		t.Errorf("code %d, %q with a file more, %q without, complains %q", code, with, without, errs)
	}
}
