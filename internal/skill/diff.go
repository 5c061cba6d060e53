// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Diff says by path what became of files. Each list is sorted, and nil if it has none.
type Diff struct {
	// Changed files have another content or mode.
	Changed []string
	// Added files were not there before.
	Added []string
	// Deleted files are not there any more.
	Deleted []string
}

// Compare says what became of the files of base in now. Of each, a path is there once.
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
