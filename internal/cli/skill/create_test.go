// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInitBeginsASkill(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	parent := t.TempDir()
	dir := filepath.Join(parent, "deep", "wind-speed")
	r.want(0, []string{"init", dir, "--description", "Tells: \"the wind\" & more.\nUse it daily."}, dir+"/SKILL.md\n"+dir+".yaml\n")
	want := map[string]string{
		"deep/wind-speed/SKILL.md": "---\nname: \"wind-speed\"\ndescription: \"Tells: \\\"the wind\\\" \\u0026 more.\\nUse it daily.\"\n---\n# wind-speed\n\n" +
			"Write here what to do, step by step. Name the files that are needed, such as scripts/NAME and references/NAME.md.\n",
		"deep/wind-speed.yaml": "apiVersion: motorcortex.dev/v1alpha1\nkind: Skill\nmetadata:\n  name: \"wind-speed\"\nspec:\n" +
			"  # What runs of the skill can use. \"kubectl motor skill import\" brings the files.\n  policy:\n    tools: [read]\n    domains: []\n",
	}
	if diff := cmp.Diff(want, folder(t, parent)); diff != "" {
		t.Error(diff)
	}
	r.want(0, []string{"lint", dir}, "0 errors, 0 warnings")
	r.want(0, []string{"import", dir, "-o", "yaml"}, "name: wind-speed\n")
	// YAML takes these for something else than a text.
	for _, name := range []string{"2024", "on", "1e3", "null"} {
		r.want(0, []string{"init", filepath.Join(parent, name), "--description", "Tells."})
		r.want(0, []string{"lint", filepath.Join(parent, name)}, "0 errors")
	}
	// What lint finds is that the description is not written yet.
	blank := filepath.Join(parent, "blank")
	r.want(0, []string{"init", blank})
	r.want(1, []string{"lint", blank}, blank+"/SKILL.md:3: error: the description is still a blank")
}

func TestInitOverwritesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	parent := t.TempDir()
	fill(t, parent, map[string]string{"a/SKILL.md": "mine", "b.yaml": "mine"})
	r.want(1, []string{"init", filepath.Join(parent, "a")}, "a/SKILL.md is there already")
	r.want(1, []string{"init", filepath.Join(parent, "b")}, "b.yaml is there already")
	if diff := cmp.Diff(map[string]string{"a/SKILL.md": "mine", "b.yaml": "mine"}, folder(t, parent)); diff != "" {
		t.Error(diff)
	}
	r.want(4, []string{"init", filepath.Join(parent, "No_Name")}, "the folder has the name of the skill", `"No_Name"`)
	r.want(4, []string{"init", filepath.Join(parent, "c"), "--description", " "}, "--description: ", "is empty")
	r.want(4, []string{"init"}, "the DIR for the skill is missing")
}
