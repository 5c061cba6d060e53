// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestIndexes(t *testing.T) {
	t.Parallel()
	one := []string{"one"}
	sources := &v1alpha1.PackageSources{
		NPM: "https://npm.example.org", Pip: "https://pip.example.org/simple",
		Apt: &v1alpha1.AptSource{URL: "https://deb.example.org/debian", Suite: "trixie", Components: []string{"main"}},
	}
	for name, tt := range map[string]struct {
		deps    *v1alpha1.SkillDependencies
		sources *v1alpha1.PackageSources
		want    []Index
	}{
		"nothing":       {nil, sources, nil},
		"no packages":   {&v1alpha1.SkillDependencies{}, sources, nil},
		"one kind":      {&v1alpha1.SkillDependencies{Pip: one}, sources, []Index{{KindPip, "https://pip.example.org/simple"}}},
		"no sources":    {&v1alpha1.SkillDependencies{NPM: one, Apt: one}, nil, []Index{{KindNPM, ""}, {KindApt, ""}}},
		"no repository": {&v1alpha1.SkillDependencies{Apt: one}, &v1alpha1.PackageSources{NPM: "https://npm.example.org"}, []Index{{KindApt, ""}}},
		"all": {&v1alpha1.SkillDependencies{NPM: one, Pip: one, Apt: one}, sources, []Index{
			{KindNPM, "https://npm.example.org"}, {KindPip, "https://pip.example.org/simple"}, {KindApt, "https://deb.example.org/debian"},
		}},
	} {
		if diff := cmp.Diff(tt.want, Indexes(tt.deps, tt.sources)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
