// SPDX-License-Identifier: Apache-2.0

package redacting

import (
	"bytes"
	"fmt"
	"slices"

	secretscan "motorcortex.dev/motorcortex/internal/secret/scan"
)

// overlap is how much of a part of a file is scanned again with the next one: more than the size of any relevant value.
const overlap = 64 << 10

// Found reports that a file has a secret in it. It contains nothing of the secret.
type Found struct {
	Rule string
	// Line is the line of the secret, 0 if that is not known.
	Line int
}

func (e *Found) Error() string {
	if e.Line == 0 {
		return e.Rule
	}
	return fmt.Sprintf("%s, line %d", e.Rule, e.Line)
}

// RuleCredential is the rule for the values that the run's loop hides.
const RuleCredential = "credential"

// Watch rejects a text with a secret in it: a value that the loop hides and, with rules, anything that looks like a secret.
type Watch struct {
	Known *Secrets
	Rules bool
	// Name is the path of the file.
	Name string
	// last is the end of the text so far; before is the number of lines before it.
	last   []byte
	before int
}

// Write implements io.Writer.
func (w *Watch) Write(p []byte) (int, error) {
	text := slices.Concat(w.last, p)
	if w.Known.Contains(text) {
		return 0, &Found{Rule: RuleCredential}
	}
	if w.Rules {
		if found := secretscan.Scan(w.Name, text); len(found) > 0 {
			return 0, &Found{Rule: found[0].RuleID, Line: w.before + found[0].Line}
		}
	}
	done := max(0, len(text)-overlap)
	w.before += bytes.Count(text[:done], []byte("\n"))
	w.last = bytes.Clone(text[done:])
	return len(p), nil
}
