// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"
	"slices"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
)

// maxReviewStarts is how often a review is started. Files that crash the reviewing process would otherwise crash it for ever.
const maxReviewStarts = 2

// IsSetAside reports whether a revision is not to be looked at, because that ended the process as often as may be.
func IsSetAside(rev *v1alpha1.SkillRevision) bool {
	return rev.Status.ReviewTime == nil && rev.Status.ReviewStarts >= maxReviewStarts
}

// SetAside describes, for such a revision, the problem and what to do.
func SetAside(rev *v1alpha1.SkillRevision) string {
	return fmt.Sprintf("The operator's process ended %d times while it looked through the files of %s, so that nothing is known of them: take them for dangerous. "+
		"Read them yourself, change them, or delete the SkillRevision to have them looked at once more.", rev.Status.ReviewStarts, rev.Name)
}

// maxMissing is the most names of a kind that a review lists as missing.
const maxMissing = 32

// ReviewPolicy compares the mentions in the files of a revision, as its status has them, with the grants of a policy.
func ReviewPolicy(rev *v1alpha1.SkillRevision, p *v1alpha1.SkillPolicy) *v1alpha1.PolicyReview {
	r := &v1alpha1.PolicyReview{RevisionName: rev.Name, Findings: int32(len(rev.Status.Findings))}
	r.MissingDomains, r.UnusedDomains = reviewDomains(rev.Status.Domains, p.Domains)
	r.MissingCredentials, r.UnusedCredentials = reviewCredentials(rev.Status.Variables, p.Credentials)
	r.MissingTools, r.MissingPackages = reviewTools(&rev.Status, p.Tools), reviewPackages(rev.Status.Packages, p.Dependencies)
	return r
}

// reviewDomains finds the hosts that no domain covers, because none does or because they cannot be granted, and the domains that
// cover no host.
func reviewDomains(mentioned []v1alpha1.Mention, granted []v1alpha1.Domain) (missing, unused []string) {
	var hosts, rules allowlist.List
	for _, d := range granted {
		if r, err := allowlist.ParseRule(string(d)); err == nil {
			rules = append(rules, r)
		}
	}
	for _, m := range mentioned {
		host, err := allowlist.ParseRule(m.Name)
		if err == nil && rules.Covers(host) {
			hosts = append(hosts, host)
		} else if len(missing) < maxMissing {
			missing = append(missing, m.Name)
		}
	}
	for _, d := range granted {
		r, err := allowlist.ParseRule(string(d))
		if err != nil || !slices.ContainsFunc(hosts, func(h allowlist.Rule) bool { return h.Within(r) }) {
			unused = append(unused, string(d))
		}
	}
	return missing, unused
}

// reviewCredentials finds the variables that no credential fills, and the credentials that no file mentions. A credential fills
// the variable of its name in upper case; files may put VAULT_ before it.
func reviewCredentials(mentioned []v1alpha1.Mention, granted []v1alpha1.SkillCredential) (missing, unused []string) {
	used := make(map[string]bool)
	for _, m := range mentioned {
		name := strings.ToLower(m.Name)
		i := slices.IndexFunc(granted, func(c v1alpha1.SkillCredential) bool {
			return c.Name == name || c.Name == strings.TrimPrefix(name, "vault_")
		})
		if i >= 0 {
			used[granted[i].Name] = true
		} else if len(missing) < maxMissing {
			missing = append(missing, m.Name)
		}
	}
	for i := range granted {
		if !used[granted[i].Name] {
			unused = append(unused, granted[i].Name)
		}
	}
	return missing, unused
}
