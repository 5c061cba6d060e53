// SPDX-License-Identifier: Apache-2.0

package toolapi

// PathChanges is for what changed in the workspace against what was given: the input files and those of the skill, as they were put
// before the first call.
const PathChanges = "/v1/changes"

const (
	// MaxChangesTimeoutMs is the longest that the making of a diff may take.
	MaxChangesTimeoutMs = 20_000
	// MaxLeftOut is how many files a Changes names that are not in its diff.
	MaxLeftOut = 8
)

// ChangesRequest asks for the changes.
type ChangesRequest struct {
	// Files are paths that the model named as its result, MaxFinishFiles at most: they are looked at also where build output is.
	Files []string `json:"files"`
	// TimeoutMs bounds the making of the diff, 1 to MaxChangesTimeoutMs. What there is no time for is left out, and told of.
	TimeoutMs int32 `json:"timeoutMs"`
}

// Changes are what changed.
type Changes struct {
	// Diff is one that "git apply" takes in a folder with what was given, MaxDiffBytes at most. What is left out of it is named before
	// its first file. It is empty if there is nothing to apply.
	Diff       []byte     `json:"diff"`
	Provenance Provenance `json:"provenance,omitempty"`
	// LeftOut are files that changed and are not in the diff, MaxLeftOut at most, and Omitted is how many further ones there are.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	Omitted int32     `json:"omitted,omitempty"`
}

// LeftOut is a file or folder whose changes are not in a diff.
type LeftOut struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}
