// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Diff lists, by path, how files changed. Each list is sorted, and nil if it has none.
type Diff struct {
	// Changed files have another content or mode.
	Changed []string
	// Added files were not there before.
	Added []string
	// Deleted files are not there any more.
	Deleted []string
}

// Compare returns how the files of now differ from those of base. A path must occur at most once in each of the two.
func Compare(base, now []v1alpha1.RevisionFile) Diff {
	before := make(map[string]v1alpha1.RevisionFile, len(base))
	for _, f := range base {
		before[f.Path] = f
	}
	var d Diff
	for _, f := range now {
		old, ok := before[f.Path]
		switch {
		case !ok:
			d.Added = append(d.Added, f.Path)
		case old.SHA256 != f.SHA256 || old.Executable != f.Executable:
			d.Changed = append(d.Changed, f.Path)
		}
		delete(before, f.Path)
	}
	for p := range before {
		d.Deleted = append(d.Deleted, p)
	}
	slices.Sort(d.Changed)
	slices.Sort(d.Added)
	slices.Sort(d.Deleted)
	return d
}
