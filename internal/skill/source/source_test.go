// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	skillsource "motorcortex.dev/motorcortex/internal/skill/source"
)

func TestInlineFiles(t *testing.T) {
	t.Parallel()
	got, err := (&skillsource.Reader{}).Read(t.Context(), "ns", &v1alpha1.SkillSource{Files: []v1alpha1.SkillFile{
		{Path: "SKILL.md", Content: manifest}, {Path: "scripts/send", Content: "run", Executable: true}, {Path: "references/a.md"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, got.Files, map[string]string{"SKILL.md": manifest, "scripts/send": "x run", "references/a.md": ""})
	if got.Origin != "" {
		t.Errorf("origin %q", got.Origin)
	}
}

func TestConfigMaps(t *testing.T) {
	t.Parallel()
	binary := configMap("binary", map[string]string{"b.md": "b"})
	binary.BinaryData = map[string][]byte{"logo.png": {0x89, 0xff}}
	live := cluster(t, binary,
		configMap("files", map[string]string{"SKILL.md": manifest, "scripts__send.py": "send", "scripts___hidden.py": "hidden", "references__a__b.md": "deep"}),
		configMap("begins", map[string]string{"__init__.py": ""}), configMap("ends", map[string]string{"references__": ""}),
		configMap("package", map[string]string{"scripts___-_-init_-_-.py": "init", "scripts___-_-main_-_-.py": "main", "a_-__b_--c": "escapes"}),
		configMap("inner", map[string]string{"_-_-init_-_-.py": "inner"}),
		configMap("doubles", map[string]string{"references____a.md": ""}), configMap("again", map[string]string{"SKILL.md": manifest}))
	type maps = []v1alpha1.SkillConfigMap
	tests := map[string]struct {
		from    maps
		want    map[string]string
		reason  string
		message []string
	}{
		"keys are paths": {from: maps{{Name: "files"}}, want: map[string]string{
			"SKILL.md": manifest, "scripts/send.py": "send", "scripts/_hidden.py": "hidden", "references/a/b.md": "deep",
		}},
		"a folder, and bytes": {from: maps{{Name: "binary", Path: "assets"}}, want: map[string]string{"assets/b.md": "b", "assets/logo.png": "\x89\xff"}},
		"a folder that ends with /": {
			from: maps{{Name: "binary", Path: "assets/"}, {Name: "again"}},
			want: map[string]string{"assets/b.md": "b", "assets/logo.png": "\x89\xff", "SKILL.md": manifest},
		},
		"no such ConfigMap":   {from: maps{{Name: "files"}, {Name: "missing"}}, reason: v1alpha1.ReasonSourceNotFound, message: []string{"no ConfigMap missing"}},
		"the same file twice": {from: maps{{Name: "files"}, {Name: "again"}}, reason: v1alpha1.ReasonSkillInvalid, message: []string{`"SKILL.md" is there twice`}},
		"a Python package": {from: maps{{Name: "package"}, {Name: "inner", Path: "core"}}, want: map[string]string{
			"scripts/__init__.py": "init", "scripts/__main__.py": "main", "a_/b_-c": "escapes", "core/__init__.py": "inner",
		}},
		"all keys that are no paths": {
			from: maps{{Name: "begins"}, {Name: "doubles"}, {Name: "ends"}}, reason: v1alpha1.ReasonSkillInvalid,
			message: []string{`"__init__.py" of begins, "references____a.md" of doubles, "references__" of ends`, "scripts/__init__.py is scripts___-_-init_-_-.py"},
		},
		"a key that begins with /": {from: maps{{Name: "begins"}}, reason: v1alpha1.ReasonSkillInvalid, message: []string{`"__init__.py" of begins`}},
		"a key that ends with /":   {from: maps{{Name: "ends"}}, reason: v1alpha1.ReasonSkillInvalid, message: []string{`"references__"`}},
		"a key with an empty part": {from: maps{{Name: "doubles"}}, reason: v1alpha1.ReasonSkillInvalid, message: []string{`"references____a.md"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := (&skillsource.Reader{Live: live}).Read(t.Context(), "ns", &v1alpha1.SkillSource{ConfigMaps: tt.from})
			if tt.reason != "" {
				if p := problem(t, err, tt.reason, tt.message...); p.Transient {
					t.Error("it is said to go away by itself")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, got.Files, tt.want)
		})
	}
}

// An error of the API server is not a problem of the skill.
func TestTroubleWithTheServerIsNoProblem(t *testing.T) {
	t.Parallel()
	broken := errors.New("the server is not there")
	live := interceptor.NewClient(cluster(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		},
	})
	for name, s := range map[string]v1alpha1.SkillSource{
		"ConfigMap": {ConfigMaps: []v1alpha1.SkillConfigMap{{Name: "files"}}},
		"Secret":    {OCI: &v1alpha1.SkillOCI{Reference: "registry.example.org/skill:v1", PullSecretName: "pull"}},
		"Flux":      {Flux: &v1alpha1.SkillFlux{Kind: "GitRepository", Name: "skills"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := (&skillsource.Reader{Live: live}).Read(t.Context(), "ns", &s)
			if _, ok := errors.AsType[*skillsource.Problem](err); ok || !errors.Is(err, broken) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
