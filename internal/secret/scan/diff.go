// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"strings"
	"time"
)

// sectionStart begins the section of one file in a git diff. Every line of a content has something before it, so no content can have a line
// that begins so.
const sectionStart = "diff --git "

// InDiff finds likely secrets in a diff as git writes it, as Scan does in a content. Each file is scanned by itself and under its own
// name: text that is harmless in a lock file is so in the diff of one. The lines of findings are those of the diff. It ends at the
// deadline, as Until does. A caller that splits a diff into its files finds the same in them.
func InDiff(deadline time.Time, diff []byte) []Finding {
	if deadline.IsZero() {
		deadline = time.Now().Add(maxScanTime)
	}
	var all []Finding
	diff = diff[:min(len(diff), MaxBytes)]
	for before := 0; len(diff) > 0 && len(all) < MaxFindings; {
		section := diff
		if end := bytes.Index(diff, []byte("\n"+sectionStart)); end >= 0 {
			section = diff[:end+1]
		}
		diff = diff[len(section):]
		for _, f := range Until(deadline, sectionName(section), withoutMarks(section)) {
			f.Line += before
			all = append(all, f)
		}
		before += bytes.Count(section, []byte("\n"))
	}
	return all[:min(len(all), MaxFindings)]
}

// sectionName is the path of the file of a section, "" if it has none. A quoted path stays as it is written there.
func sectionName(section []byte) string {
	head, _, _ := bytes.Cut(section, []byte("\n"))
	names, ok := strings.CutPrefix(string(head), sectionStart)
	if !ok || len(names)%2 == 0 {
		return ""
	}
	// Both names are the same, except for their first letters.
	from, to := strings.Trim(names[:len(names)/2], `"`), strings.Trim(names[len(names)/2+1:], `"`)
	name, ok := strings.CutPrefix(from, "a/")
	if !ok || to != "b/"+name {
		return ""
	}
	return name
}

// withoutMarks is a section without what stands before each line of its content, so that it reads as the content does.
func withoutMarks(section []byte) []byte {
	plain := make([]byte, 0, len(section))
	for line := range bytes.Lines(section) {
		if line[0] == ' ' || line[0] == '+' || line[0] == '-' {
			line = line[1:]
		}
		plain = append(plain, line...)
	}
	return plain
}
