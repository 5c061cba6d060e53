// SPDX-License-Identifier: Apache-2.0

package reply

import (
	"fmt"
	"strings"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/show"
	secretscan "motorcortex.dev/motorcortex/internal/secret/scan"
	"motorcortex.dev/motorcortex/pkg/client/motor/asks"
)

// File is a file that a person adds to an answer. One that holds what looks like a secret is refused before it leaves them: the run would
// not be given it.
func File(path string, content []byte) (v1alpha1.ResponseFile, error) {
	f, err := asks.File(path, content)
	if err != nil {
		return f, err
	}
	if found := secretscan.Scan(path, content); len(found) > 0 {
		return f, fmt.Errorf("it holds what looks like a secret (%s, line %d): have it stored as a credential of the run", found[0].RuleID, found[0].Line)
	}
	return f, nil
}

// Here is the answer of a person who gives files and says nothing.
func Here(files []v1alpha1.ResponseFile) string { return "Here: " + Names(files) }

// Names are the names of files.
func Names(files []v1alpha1.ResponseFile) string {
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, f.Path)
	}
	return strings.Join(names, ", ")
}

// Wanted are the files that the model wants with the answer, each fit for a line.
func Wanted(p *v1alpha1.PendingInput) []string {
	var lines []string
	for _, f := range p.Files {
		lines = append(lines, show.Line(f, 6*len(f)))
	}
	return lines
}
