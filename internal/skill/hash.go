// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// ContentHash is "sha256:" and 64 hexadecimal digits. It is another one when a byte, a path or a mode of the files is another one, and
// it does not depend on their order. Their paths have no line breaks, as Check sees to.
func ContentHash(files []File) string { return HashOf(Listed(files)) }

// HashOf is the ContentHash of files of which only the list is at hand. It hashes a line "MODE SHA256 PATH" for each file, in the order of
// their paths, where MODE is 755 for a program and 644 for all others.
func HashOf(files []v1alpha1.RevisionFile) string {
	sum := sha256.New()
	for _, f := range sorted(files) {
		mode := "644"
		if f.Executable {
			mode = "755"
		}
		fmt.Fprintf(sum, "%s %s %s\n", mode, f.SHA256, f.Path)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// Listed are files as a SkillRevision lists them, in the order of their paths.
func Listed(files []File) []v1alpha1.RevisionFile {
	listed := make([]v1alpha1.RevisionFile, 0, len(files))
	for _, f := range files {
		sum := sha256.Sum256(f.Content)
		listed = append(listed, v1alpha1.RevisionFile{
			Path: f.Path, Size: int64(len(f.Content)), SHA256: hex.EncodeToString(sum[:]), Executable: f.Executable,
		})
	}
	return sorted(listed)
}

// sorted is a copy of the files in the order of their paths.
func sorted(files []v1alpha1.RevisionFile) []v1alpha1.RevisionFile {
	return slices.SortedFunc(slices.Values(files), func(a, b v1alpha1.RevisionFile) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.SHA256, b.SHA256))
	})
}
