// SPDX-License-Identifier: Apache-2.0

package skill_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestImportOfAFolder(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(s *v1alpha1.Skill) {
		s.Spec.Approval = &v1alpha1.SkillApproval{ContentHash: "sha256:0", PolicyHash: "sha256:1", ApprovedBy: "bob"}
	})
	parent := t.TempDir()
	fill(t, parent, map[string]string{"weather/SKILL.md": manifest, "weather/scripts/send.sh": "#!/bin/sh\n", "weather/run.log": "x"})
	dir := filepath.Join(parent, "weather")
	before := r.skill()
	r.want(0, []string{"import", dir}, "skill.motorcortex.dev/weather configured", "state:")
	got := r.skill()
	want := before.Spec.DeepCopy()
	want.Source = &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{{Path: "SKILL.md", Content: manifest}, {Path: "scripts/send.sh", Content: "#!/bin/sh\n", Executable: true}}}
	if diff := cmp.Diff(*want, got.Spec); diff != "" {
		t.Errorf("the policy and the approval are as they were (-want +got):\n%s", diff)
	}
	r.want(0, []string{"import", dir}, "skill.motorcortex.dev/weather unchanged")
	fill(t, parent, map[string]string{"weather.yaml": policyHead + "    tools: [read]\n  approval: {contentHash: a, policyHash: b}\n"})
	r.want(0, []string{"import", dir}, "skill.motorcortex.dev/weather configured")
	if got := r.skill().Spec; len(got.Policy.Domains) != 0 || got.Policy.Tools[0] != "read" || got.Approval.ContentHash != "sha256:0" {
		t.Errorf("with a policy: %+v", got)
	}
	if len(r.patches) != 2 || strings.Contains(strings.Join(r.patches, ""), "/spec/approval") {
		t.Errorf("sent are %s", r.patches)
	}
}

func TestImportMakesASkillThatIsNotApproved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := filepath.Join(t.TempDir(), "wind")
	fill(t, dir, map[string]string{"SKILL.md": strings.Replace(manifest, "weather", "wind", 1)})
	fill(t, filepath.Dir(dir), map[string]string{"wind.yaml": strings.Replace(policyHead, "weather", "wind", 1) + "    domains: [a.example.org]\n  approval: {contentHash: a, policyHash: b}\n"})
	r.want(0, []string{"import", dir, "-o", "yaml"}, "kind: Skill", "namespace: ns", "- a.example.org", "path: SKILL.md", "note: the policy is that of ")
	r.want(4, []string{"import", dir, "-o", "name"}, "nothing is sent")
	s := &v1alpha1.Skill{}
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "wind"}, s); err == nil {
		t.Fatal("a dry run made a Skill")
	}
	other := filepath.Join(filepath.Dir(dir), "other.yaml")
	for key, value := range map[string]string{"name": "weather", "namespace": "prod"} {
		fill(t, filepath.Dir(other), map[string]string{"other.yaml": "apiVersion: motorcortex.dev/v1alpha1\nkind: Skill\nmetadata: {" + key + ": " + value + "}\nspec: {policy: {tools: [read]}}\n"})
		r.want(1, []string{"import", dir, "--policy", other}, "metadata."+key+" is "+value)
	}
	r.want(0, []string{"import", dir}, "skill.motorcortex.dev/wind created", "the operator has not looked at it yet")
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "wind"}, s); err != nil || s.Spec.Approval != nil || s.Spec.Policy.Domains[0] != "a.example.org" {
		t.Errorf("%v, %+v", err, s.Spec)
	}
}

func TestImportFromElsewhere(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, tt := range map[string]struct {
		args []string
		says []string
	}{
		"a tag":               {[]string{"oci://registry.example.org:5000/skills/wind:v1", "--pull-secret", "pull"}, []string{"name: wind\n", "reference: registry.example.org:5000/skills/wind:v1", "pullSecretName: pull"}},
		"a digest":            {[]string{"oci://registry.example.org/wind@sha256:abc"}, []string{"name: wind\n", "reference: registry.example.org/wind@sha256:abc"}},
		"another name":        {[]string{"oci://registry.example.org/skills/a:v1", "--name", "wind"}, []string{"name: wind\n"}},
		"Git, by Flux":        {[]string{"flux://GitRepository/all/skills/wind"}, []string{"name: wind\n", "kind: GitRepository", "name: all", "path: skills/wind"}},
		"a whole source":      {[]string{"flux://Bucket/wind"}, []string{"kind: Bucket", "name: wind"}},
		"with a policy of it": {[]string{"flux://Bucket/unit-tests", "--policy", "../../../config/samples/skills/unit-tests.yaml"}, []string{"tools:", "- bash"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.want(0, append([]string{"import", "-o", "yaml"}, tt.args...), tt.says...)
		})
	}
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	parent := t.TempDir()
	many := map[string]string{"many/SKILL.md": strings.Replace(manifest, "weather", "many", 1)}
	for i := range 64 {
		many[fmt.Sprintf("many/references/%d.md", i)] = "x"
	}
	fill(t, parent, many)
	fill(t, parent, map[string]string{
		"weather/SKILL.md": manifest, "picture/SKILL.md": strings.Replace(manifest, "weather", "picture", 1), "picture/logo.png": "\x89\xff",
		"big/SKILL.md": strings.Replace(manifest, "weather", "big", 1), "big/a.txt": strings.Repeat("a", 900<<10), "big/b.txt": strings.Repeat("b", 200<<10),
		"wind/SKILL.md": manifest, "refused/SKILL.md": strings.Replace(manifest, "weather", "refused", 1), "refused.yaml": "domains: [https://x/]\n",
	})
	for name, tt := range map[string]struct {
		args []string
		code int
		says string
	}{
		"many files":            {[]string{parent + "/many"}, 1, "there are 65 files, and a Skill can have 64 in it: push the files"},
		"large files":           {[]string{parent + "/big"}, 1, "a Skill has room for 1048576: push the files"},
		"no text":               {[]string{parent + "/picture"}, 1, "logo.png is no text"},
		"the name of another":   {[]string{parent + "/wind"}, 1, "make them equal"},
		"a name for a folder":   {[]string{parent + "/weather", "--name", "wind"}, 4, "its name is that of the folder"},
		"a secret for a folder": {[]string{parent + "/weather", "--pull-secret", "x"}, 4, "goes with an artifact"},
		"a policy":              {[]string{parent + "/refused"}, 1, "the policy cannot be granted"},
		"no folder":             {[]string{parent + "/none"}, 1, "no such file"},
		"Git":                   {[]string{"https://git.example.org/skills.git"}, 4, "a Git repository is read by Flux"},
		"Git over SSH":          {[]string{"git@git.example.org:skills.git"}, 4, "a Git repository is read by Flux"},
		"no source of Flux":     {[]string{"flux://Skill/x"}, 4, "a source of Flux is"},
		"no name":               {[]string{"oci://registry.example.org/a_b:v1"}, 4, "with --name"},
		"nothing":               {nil, 4, "is missing"},
		"no such policy":        {[]string{"oci://r.example.org/a:v1", "--policy", parent + "/none.yaml"}, 1, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.want(tt.code, append([]string{"import"}, tt.args...), tt.says)
		})
	}
	if len(r.patches) > 0 {
		t.Errorf("sent are %s", r.patches)
	}
}

func TestImportOfTheCurrentFolder(t *testing.T) {
	r := newRig(t)
	dir := filepath.Join(t.TempDir(), "weather")
	fill(t, dir, map[string]string{"SKILL.md": manifest, "../weather.yaml": "tools: [read]\n"})
	t.Chdir(dir)
	r.want(0, []string{"import", ".", "-o", "yaml"}, "name: weather\n", "- read")
}
