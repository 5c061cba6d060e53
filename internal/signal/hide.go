// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"strings"
	"time"

	"motorcortex.dev/motorcortex/internal/secret/scan"
	"motorcortex.dev/motorcortex/internal/text"
)

const (
	// hidden replaces a line that looks as if it had a secret in it.
	hidden = "[hidden: it looks like a secret]"
	// scanTime bounds the search in one text. From where it did not get to, nothing is shown.
	scanTime = time.Second
	// maxSearched is how many bytes of a line are searched that is cut after that.
	maxSearched = 8 << 10
	// rulePrivateKey finds the first line of a key that has many.
	rulePrivateKey = "private-key"
)

// shown returns a text of foreign origin as a signal has it, with at most that many bytes in JSON. The journal has no known value of a credential.
// A signal leaves the cluster, so lines that look like a secret are hidden as well.
func shown(s string, most int) string {
	return text.Cut(hide(text.Shown(s)), most, most, "…")
}

// statement returns the first line of a text that has anything.
func statement(s string) string {
	return text.Line(shown(FirstLine(s), maxStatement), maxStatement)
}

// Searched returns a line, or in its place that it looks as if it had a secret in it. A line must be searched before it is cut: no rule finds a part of
// a token. At most the first 8 KiB of the line are returned.
func Searched(line string) string {
	return hide(text.Shown(text.FirstBytes(line, maxSearched)))
}

// HasSecret reports whether a text looks as if it had a secret in it, or was too long to be searched. Such a text must not leave the cluster.
func HasSecret(s string) bool { return hide(s) != s }

// FirstLine returns the first line of a text that is not blank, without the blanks around it.
func FirstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// hide replaces each line in which there is a finding. A key of many lines, and what was not looked at, is hidden up to the end.
func hide(s string) string {
	found := scan.Until(time.Now().Add(scanTime), "", []byte(s))
	if len(found) == 0 {
		return s
	}
	lines := strings.Split(s, "\n")
	for _, f := range found {
		i := f.Line - 1
		if i < 0 || i >= len(lines) {
			return hidden
		}
		lines[i] = hidden
		if f.RuleID == rulePrivateKey || f.RuleID == scan.RuleUnfinished || len(found) == scan.MaxFindings {
			return strings.Join(lines[:i+1], "\n")
		}
	}
	return strings.Join(lines, "\n")
}
