// SPDX-License-Identifier: Apache-2.0

package toolapi

// PathChanges is for the changes in the workspace against its initial files: the input files and those of the skill, as they were
// before the first call.
const PathChanges = "/v1/changes"

const (
	// MaxChangesTimeoutMs is the maximum time to make a diff.
	MaxChangesTimeoutMs = 20_000
	// MaxLeftOut is how many files a Changes names that are not in its diff.
	MaxLeftOut = 8
)

// ChangesRequest asks for the changes.
type ChangesRequest struct {
	// Files are paths that the model named as its result, MaxFinishFiles at most: they are included even if they are build output.
	Files []string `json:"files"`
	// TimeoutMs bounds the making of the diff, 1 to MaxChangesTimeoutMs. Changes that do not fit into the time are omitted, and reported.
	TimeoutMs int32 `json:"timeoutMs"`
}

// Changes are the changes in the workspace.
type Changes struct {
	// Diff can be applied with "git apply" in a folder with the initial files, MaxDiffBytes at most. Omitted files are named before
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

// PathRepository is for a git repository of the initial files. A manager requests one when the files have been put and before the first call,
// and only if the run has a tool that can use git: without the request there is none.
const PathRepository = "/v1/repository"

// FirstCommit is the message of the commit. The prompt names it before it is known whether there is one.
const FirstCommit = "The files that were given"

// Repository reports whether the initial files are the first commit of a repository in the workspace. If git is missing or anything
// prevents it, there is none, which is no error.
type Repository struct {
	Made bool `json:"made"`
}
