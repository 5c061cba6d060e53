// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Bounds of the files that go with an answer. All responses of a run have maxResponses bytes together.
const (
	MaxFiles     = 8
	MaxFileBytes = 128 << 10
	maxPath      = 255
	maxResponses = 256 << 10
)

// pathPattern is that of the API.
var pathPattern = regexp.MustCompile(`^[^/.\x00-\x1f\x7f][^/\x00-\x1f\x7f]*(/[^/.\x00-\x1f\x7f][^/\x00-\x1f\x7f]*)*$`)

// File is a file that goes with an answer: path is that below the folder answers of the run's workspace. Content of up to MaxFileBytes goes into the
// response itself, as text where it is text. An error says why the API server would not take it.
func File(path string, content []byte) (v1alpha1.ResponseFile, error) {
	if err := CheckPath(path); err != nil {
		return v1alpha1.ResponseFile{}, err
	}
	switch {
	case len(content) > MaxFileBytes:
		return v1alpha1.ResponseFile{}, fmt.Errorf("it has %d bytes, and may have %d: put it into a ConfigMap, which files[].configMapKeyRef of a response names", len(content), MaxFileBytes)
	case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0:
		return v1alpha1.ResponseFile{Path: path, BinaryContent: content}, nil
	}
	text := string(content)
	return v1alpha1.ResponseFile{Path: path, Content: &text}, nil
}

// CheckPath returns why a file that goes with an answer cannot have that path, nil if it can.
func CheckPath(path string) error {
	switch {
	case len(path) > maxPath:
		return fmt.Errorf("the name has more than %d bytes", maxPath)
	case !utf8.ValidString(path) || !pathPattern.MatchString(path):
		return fmt.Errorf("%q cannot be its name: no part of it may be empty, begin with a dot or have control characters", path)
	}
	return nil
}

// DigestOfKey returns the digest by which a reference means the present value of a key, "" if the ConfigMap has no such key.
func DigestOfKey(cm *corev1.ConfigMap, key string) string {
	content, found := cm.BinaryData[key]
	if text, isText := cm.Data[key]; isText {
		content, found = []byte(text), true
	}
	if !found {
		return ""
	}
	sum := sha256.Sum256(content)
	return digestPrefix + hex.EncodeToString(sum[:])
}

// DigestOfArtifact returns the digest by which a reference means the present artifact of a run, "" if the run has kept none at that path.
func DigestOfArtifact(run *v1alpha1.MotorRun, path string) string {
	artifacts := run.Status.Artifacts
	if run.Status.Result != nil {
		artifacts = run.Status.Result.Artifacts
	}
	i := slices.IndexFunc(artifacts, func(a v1alpha1.Artifact) bool { return a.Path == path && a.SHA256 != "" && a.Skipped == "" })
	if i < 0 {
		return ""
	}
	return digestPrefix + artifacts[i].SHA256
}

const digestPrefix = "sha256:"

// CheckFiles returns why files cannot go with an answer together, nil if they can.
func CheckFiles(files []v1alpha1.ResponseFile) error {
	if len(files) > MaxFiles {
		return fmt.Errorf("an answer has at most %d files", MaxFiles)
	}
	size := 0
	seen := map[string]bool{}
	for _, f := range files {
		if seen[f.Path] {
			return fmt.Errorf("two files have the name %q", f.Path)
		}
		seen[f.Path] = true
		size += base64.StdEncoding.EncodedLen(len(f.BinaryContent))
		if f.Content != nil {
			size += len(*f.Content)
		}
	}
	for _, f := range files {
		for i := range f.Path {
			if f.Path[i] == '/' && seen[f.Path[:i]] {
				return fmt.Errorf("the file %q would be a folder of the file %q", f.Path[:i], f.Path)
			}
		}
	}
	if size > maxResponses {
		return errors.New("the files have more than 256 KiB together: put larger ones into ConfigMaps, which files[].configMapKeyRef of a response names")
	}
	return nil
}
