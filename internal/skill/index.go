// SPDX-License-Identifier: Apache-2.0

package skill

import "motorcortex.dev/motorcortex/api/v1alpha1"

// Kinds of packages, as the fields of dependencies and of package sources are called.
const (
	KindNPM = "npm"
	KindPip = "pip"
	KindApt = "apt"
)

// Index is the package index that packages of a kind are installed from.
type Index struct {
	Kind string
	// URL of the index, "" if the sources have none.
	URL string
}

// Indexes returns the index of each kind that deps have packages of. Sources can be nil.
func Indexes(deps *v1alpha1.SkillDependencies, sources *v1alpha1.PackageSources) (indexes []Index) {
	if deps == nil {
		return nil
	}
	if sources == nil {
		sources = &v1alpha1.PackageSources{}
	}
	if len(deps.NPM) > 0 {
		indexes = append(indexes, Index{KindNPM, sources.NPM})
	}
	if len(deps.Pip) > 0 {
		indexes = append(indexes, Index{KindPip, sources.Pip})
	}
	if len(deps.Apt) > 0 {
		i := Index{Kind: KindApt}
		if sources.Apt != nil {
			i.URL = sources.Apt.URL
		}
		indexes = append(indexes, i)
	}
	return indexes
}
