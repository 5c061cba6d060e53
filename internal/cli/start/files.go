// SPDX-License-Identifier: Apache-2.0

package start

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/localfile"
	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/text"
)

// The limits of the API.
const (
	maxFiles    = 64
	maxFile     = 256 << 10
	maxAllFiles = 512 << 10
)

// readFiles reads the files of --file. A name that leads out of the current folder, or an absolute one, is its last part in the workspace.
func readFiles(args []string) ([]v1alpha1.InputFile, error) {
	if len(args) > maxFiles {
		return nil, verb.Misusedf("a run has at most %d files", maxFiles)
	}
	var files []v1alpha1.InputFile
	all := 0
	for _, arg := range args {
		from, to := localfile.Split(arg)
		content, err := readFile(from)
		if err != nil {
			return nil, fmt.Errorf("--file %s: %w", from, err)
		}
		if all += text.EncodedLen(content); all > maxAllFiles {
			return nil, fmt.Errorf("the files have more than %d bytes together in JSON: %w", maxAllFiles, errElsewhere)
		}
		files = append(files, v1alpha1.InputFile{Path: to, Content: &content})
	}
	return files, nil
}

var errElsewhere = errors.New("put larger ones into ConfigMaps, which files[].configMapKeyRef of a run in YAML names")

func readFile(name string) (string, error) {
	content, err := localfile.Read(name, maxFile)
	switch {
	case errors.Is(err, localfile.ErrTooLarge):
		return "", fmt.Errorf("it has more than %d bytes: %w", maxFile, errElsewhere)
	case err != nil:
		return "", err
	case !utf8.Valid(content):
		return "", fmt.Errorf("it is no text in UTF-8: %w", errElsewhere)
	}
	return string(content), nil
}
