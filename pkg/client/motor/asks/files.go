// SPDX-License-Identifier: Apache-2.0

package asks

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

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
	switch {
	case utf8.RuneCountInString(path) > maxPath:
		return v1alpha1.ResponseFile{}, fmt.Errorf("the name has more than %d characters", maxPath)
	case !utf8.ValidString(path) || !pathPattern.MatchString(path):
		return v1alpha1.ResponseFile{}, fmt.Errorf("%q cannot be its name: no part of it may be empty, begin with a dot or have control characters", path)
	case len(content) > MaxFileBytes:
		return v1alpha1.ResponseFile{}, fmt.Errorf("it has %d bytes, and may have %d: put it into a ConfigMap, which files[].configMapKeyRef of a response names", len(content), MaxFileBytes)
	case !utf8.Valid(content) || bytes.IndexByte(content, 0) >= 0:
		return v1alpha1.ResponseFile{Path: path, BinaryContent: content}, nil
	}
	text := string(content)
	return v1alpha1.ResponseFile{Path: path, Content: &text}, nil
}

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
	if size > maxResponses {
		return errors.New("the files have more than 256 KiB together: put larger ones into ConfigMaps, which files[].configMapKeyRef of a response names")
	}
	return nil
}
