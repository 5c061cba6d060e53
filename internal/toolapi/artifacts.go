// SPDX-License-Identifier: Apache-2.0

package toolapi

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	// ArtifactDir is the folder in the workspace whose files belong to the result.
	ArtifactDir = "artifacts"
	// MaxArtifacts is the most files in the list.
	MaxArtifacts = 32
	// MaxArtifactPath is the longest path of such a file, in bytes.
	MaxArtifactPath = 512
	// MaxArtifactBytes is the most that one file may have to be read.
	MaxArtifactBytes = 64 << 20
	// DiffName is the artifact with the changes in the workspace. No file of the workspace can be saved under that name.
	DiffName = "workspace.diff"
	// MaxDiffBytes is its maximum size: it is stored in one object.
	MaxDiffBytes = 1<<20 - 16<<10
	// MaxChunkBytes is the most of a file that one Chunk carries.
	MaxChunkBytes = 1 << 20
)

// Artifacts are the files that belong to the result: those below ArtifactDir, and those of save_artifact calls that
// succeeded, in the order of their paths.
type Artifacts struct {
	// Files are MaxArtifacts at most: readable files and those that were saved by name come before others.
	Files []ArtifactFile `json:"files"`
	// Omitted is how many further ones there are, at least: a folder of very many files is not read to its end.
	Omitted int32 `json:"omitted,omitempty"`
}

// ArtifactFile is one such file as it was a moment ago.
type ArtifactFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	// MediaType is derived from its name and its first bytes.
	MediaType string `json:"mediaType,omitempty"`
	// SHA256 of the content in hexadecimal digits; "" with Problem, or if there was no time to read the whole file.
	SHA256     string     `json:"sha256,omitempty"`
	Provenance Provenance `json:"provenance,omitempty"`
	// Problem is why it cannot be read, one of the Problem words, "" if it can.
	Problem string `json:"problem,omitempty"`
}

// Values of ArtifactFile.Problem.
const (
	ProblemNotRegular = "not_regular"
	ProblemTooLarge   = "too_large"
	ProblemUnreadable = "unreadable"
)

// Chunk is a part of a file.
type Chunk struct {
	// Content begins at the offset that was asked for, and is shorter than MaxChunkBytes only at the end.
	Content []byte `json:"content"`
	// Size of the whole file now.
	Size int64 `json:"size"`
}

// SHA256 is the sum of the content of a file, as ArtifactFile and SkillFile have it.
func SHA256(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
