// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/verb"
)

// widening is what an approval changes in the policy that it is for.
type widening struct {
	file                                     string
	tools, domains, packages, credentialArgs []string
}

func (w *widening) bind(fs *pflag.FlagSet) {
	fs.StringVar(&w.file, "policy", "", "file with the policy, or with the Skill that has it, in place of the one that there is")
	fs.StringSliceVar(&w.tools, "add-tool", nil, "tool that the policy grants from now on")
	fs.StringSliceVar(&w.domains, "add-domain", nil, "host that the policy grants from now on")
	fs.StringArrayVar(&w.packages, "add-package", nil, "package that is installed from now on, as in pip:requests==2.32.3, npm:left-pad@1.3.0 or apt:jq=1.7.1-3")
	fs.StringArrayVar(&w.credentialArgs, "add-credential", nil, "credential that the skill needs from now on, and the hosts that it goes to, as in NAME=api.example.com,cdn.example.com")
}

// any reports whether anything changes.
func (w *widening) any() bool {
	return w.file != "" || len(w.tools)+len(w.domains)+len(w.packages)+len(w.credentialArgs) > 0
}

// apply changes the policy. Existing entries stay where they are.
func (w *widening) apply(p *v1alpha1.SkillPolicy) error {
	if w.file != "" {
		read, err := readPolicy(w.file)
		if err != nil {
			return err
		}
		*p = *read
	}
	for _, t := range w.tools {
		p.Tools = with(p.Tools, v1alpha1.ToolName(t))
	}
	for _, d := range w.domains {
		p.Domains = with(p.Domains, v1alpha1.Domain(d))
	}
	for _, arg := range w.packages {
		if err := addPackage(p, arg); err != nil {
			return err
		}
	}
	for _, arg := range w.credentialArgs {
		if err := addCredential(p, arg); err != nil {
			return err
		}
	}
	withDefaults(p)
	return nil
}

func addPackage(p *v1alpha1.SkillPolicy, arg string) error {
	if p.Dependencies == nil {
		p.Dependencies = &v1alpha1.SkillDependencies{}
	}
	from, name, _ := strings.Cut(arg, ":")
	var list *[]string
	switch from {
	case "npm":
		list = &p.Dependencies.NPM
	case "pip":
		list = &p.Dependencies.Pip
	case "apt":
		list = &p.Dependencies.Apt
	}
	if list == nil || name == "" {
		return verb.Misused(fmt.Errorf("--add-package %q does not say where the package is from: pip:NAME==VERSION, npm:NAME@VERSION or apt:NAME=VERSION", arg))
	}
	*list = with(*list, name)
	return nil
}

// addCredential declares a credential, or has one that is declared go to more hosts.
func addCredential(p *v1alpha1.SkillPolicy, arg string) error {
	name, hosts, _ := strings.Cut(arg, "=")
	if name == "" || hosts == "" {
		return verb.Misused(fmt.Errorf("--add-credential %q does not say which hosts the value goes to: NAME=HOST,HOST", arg))
	}
	i := slices.IndexFunc(p.Credentials, func(c v1alpha1.SkillCredential) bool { return c.Name == name })
	if i < 0 {
		i = len(p.Credentials)
		p.Credentials = append(p.Credentials, v1alpha1.SkillCredential{Name: name})
	}
	for h := range strings.SplitSeq(hosts, ",") {
		p.Credentials[i].Hosts = with(p.Credentials[i].Hosts, v1alpha1.Domain(h))
	}
	return nil
}

// with is a list that has v.
func with[T comparable](list []T, v T) []T {
	if slices.Contains(list, v) {
		return list
	}
	return append(list, v)
}
