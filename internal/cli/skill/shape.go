// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"
	"regexp"
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// toolNames are the tools that the API knows.
var toolNames = []v1alpha1.ToolName{
	"bash", "code", "read", "write", "edit", "patch", "list", "glob", "grep", "fetch", "search_web", "save_artifact", "ask_user", "request_approval", "request_domain",
	"save_credential",
}

// Patterns of the API for packages with their versions.
var (
	npmPackage = regexp.MustCompile(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*@[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	pipPackage = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._,-]+\])?==[0-9][0-9A-Za-z.!+-]*$`)
	aptPackage = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+=[0-9][0-9A-Za-z.+~:-]*$`)
)

// misshapen are errors about names in a policy that the schema of the API refuses. Each begins with its field.
func misshapen(p *v1alpha1.SkillPolicy) []error {
	var all []error
	for i, t := range p.Tools {
		if !slices.Contains(toolNames, t) {
			all = append(all, fmt.Errorf("spec.policy.tools[%d]: there is no tool %q", i, t))
		}
	}
	if p.Dependencies == nil {
		return all
	}
	for _, of := range []struct {
		kind, example string
		pattern       *regexp.Regexp
		names         []string
	}{
		{"npm", "left-pad@1.3.0", npmPackage, p.Dependencies.NPM}, {"pip", "requests==2.32.3", pipPackage, p.Dependencies.Pip}, {"apt", "jq=1.7.1-3", aptPackage, p.Dependencies.Apt},
	} {
		for i, name := range of.names {
			if !of.pattern.MatchString(name) {
				all = append(all, fmt.Errorf("spec.policy.dependencies.%s[%d]: %q is no package with its exact version, as in %s", of.kind, i, name, of.example))
			}
		}
	}
	return all
}
