// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"slices"
	"strings"
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// A run that installs packages reaches the registries of what it installs, and the further hosts that the namespace names, and no others.
func TestPackageHosts(t *testing.T) {
	t.Parallel()
	npm, pip := &v1alpha1.SkillDependencies{NPM: []string{"left-pad@1.3.0"}}, &v1alpha1.SkillDependencies{Pip: []string{"requests==2.32.3"}}
	apt := &v1alpha1.SkillDependencies{Apt: []string{"jq=1.7.1-3"}, Pip: pip.Pip}
	sources := &v1alpha1.PackageSources{
		NPM: "https://Registry.example.org/npm/", Pip: "https://pypi.example.org:8443/simple", Hosts: []v1alpha1.Domain{"files.example.org", "pypi.example.org:8443"},
		Apt: &v1alpha1.AptSource{URL: "https://deb.example.org/debian", Suite: "trixie", Components: []string{"main"}},
	}
	for name, tt := range map[string]struct {
		deps    *v1alpha1.SkillDependencies
		sources *v1alpha1.PackageSources
		want    []v1alpha1.Domain
		missing string
	}{
		"npm":                      {npm, sources, []v1alpha1.Domain{"files.example.org", "pypi.example.org:8443", "registry.example.org"}, ""},
		"pip":                      {pip, sources, []v1alpha1.Domain{"files.example.org", "pypi.example.org:8443"}, ""},
		"apt and pip":              {apt, sources, []v1alpha1.Domain{"deb.example.org", "files.example.org", "pypi.example.org:8443"}, ""},
		"the hosts of one address": {npm, &v1alpha1.PackageSources{NPM: "https://a.example.org"}, []v1alpha1.Domain{"a.example.org"}, ""},
		"no address for pip":       {pip, &v1alpha1.PackageSources{NPM: "https://a.example.org"}, nil, "spec.packages.pip"},
		"no source for apt":        {&v1alpha1.SkillDependencies{Apt: apt.Apt}, &v1alpha1.PackageSources{}, nil, "spec.packages.apt"},
	} {
		got, missing := packageHosts(tt.deps, tt.sources)
		if !slices.Equal(got, tt.want) || !strings.Contains(missing, tt.missing) || (missing == "") != (tt.missing == "") {
			t.Errorf("%s: %q, %s", name, got, missing)
		}
	}
}
