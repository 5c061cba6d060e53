// SPDX-License-Identifier: Apache-2.0

// Package scan finds what looks like a secret in bytes that are about to leave a sandbox or to be kept.
//
// The rules are the default ones of gitleaks, which stand in the folder gitleaks as data. They are applied as its detector applies them,
// with bounds that the detector has not: the content may be made to keep a scanner busy. The scan guards against accidents. A secret that
// is encoded passes.
package scan

import (
	"bytes"
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// MaxBytes is how much of a content is scanned, from its beginning.
	MaxBytes = 4 << 20
	// MaxFindings is the most findings of one scan.
	MaxFindings = 20
	// RuleUnfinished is the rule of a finding that reports that the scan took too long, and from which line on not every rule was tried.
	// Content that cannot be judged is not taken for harmless.
	RuleUnfinished = "scan-unfinished"

	maxScanTime = 15 * time.Second
	// windowBytes is how much a rule scans at once. It bounds the time until the next check of the clock, and the cost of a keyword somewhere
	// in a large file. Two adjacent windows have overlapBytes in common, more than the longest keys that are in use.
	windowBytes, overlapBytes = 64 << 10, 12 << 10
	// maxAround bounds the part of a line on each side of a match that can make it harmless.
	maxAround = 1 << 10
)

// Finding is a position that looks like a secret. It never has the secret itself.
type Finding struct {
	// RuleID names the rule of gitleaks that found it, aws-access-token for example, or is RuleUnfinished.
	RuleID string
	// Line is where it begins, from 1.
	Line int
}

// Scan finds likely secrets in the first MaxBytes of content, in the order of the lines; a finding of RuleUnfinished comes last. name is
// the path of the content's file, "" if it has none: some rules are for certain files only, and in lock files and the like nothing is
// found. The handle of a credential and its placeholder in a text, <credential:NAME>, are not secrets. It is safe for concurrent use.
func Scan(name string, content []byte) []Finding {
	return scan(rules(), name, content, maxScanTime)
}

// Until is Scan that ends at an instant, if that is before it would end by itself; the zero time is none.
func Until(deadline time.Time, name string, content []byte) []Finding {
	return scan(rules(), name, content, timeLeft(deadline))
}

func timeLeft(deadline time.Time) time.Duration {
	if deadline.IsZero() {
		return maxScanTime
	}
	return min(maxScanTime, time.Until(deadline))
}

// scan is Scan with its rules, nil if there are none, and the time that it may take.
func scan(set *ruleSet, name string, content []byte, limit time.Duration) []Finding {
	if set == nil {
		return []Finding{{RuleID: RuleUnfinished, Line: 1}}
	}
	content = mask(content[:min(len(content), MaxBytes)])
	if allowsFile(set.harmless, name) {
		return nil
	}
	s := &scanner{name: name, harmless: set.harmless, deadline: time.Now().Add(limit)}
	for from, line := 0, 1; ; {
		to := min(len(content), from+windowBytes)
		s.window = window{content: content[from:to], line: line, first: from == 0, last: to == len(content)}
		found := set.found(s.content)
		for _, r := range set.ordered {
			if len(r.keywords) == 0 || slices.ContainsFunc(r.keywords, func(w string) bool { return found[w] }) {
				s.apply(r)
			}
		}
		if s.last || s.over() {
			return s.findings()
		}
		next := to - overlapBytes
		line += bytes.Count(content[from:next], []byte("\n"))
		from = next
	}
}

// found are the keywords that are in the content.
func (set *ruleSet) found(content []byte) map[string]bool {
	found := make(map[string]bool)
	for word := range set.keywords.in(bytes.ToLower(content)) {
		found[word] = true
	}
	return found
}

// noSecrets are handles of credentials, which are worth nothing outside of their sandbox, and the placeholders that the model has instead.
var noSecrets = regexp.MustCompile(`\bmch-[a-z2-7]{32}\b|<credential:[a-z0-9_]+>`)

// mask replaces texts that only look like secrets with harmless ones.
func mask(content []byte) []byte {
	if !bytes.Contains(content, []byte("mch-")) && !bytes.Contains(content, []byte("<credential:")) {
		return content
	}
	return noSecrets.ReplaceAllFunc(content, func(found []byte) []byte { return bytes.Repeat([]byte("x"), len(found)) })
}

// window is the part of the content that the rules look at.
type window struct {
	content []byte
	// line is that of its first byte in the whole content.
	line        int
	first, last bool
}

// whole reports whether a match of a rule is not cut by the window. A match that is cut is whole in the next window, or the one before.
func (w window) whole(from, to int) bool {
	return (from > 0 || w.first) && (to < len(w.content) || w.last)
}

// scanner is one scan.
type scanner struct {
	window
	name     string
	harmless []allowlist
	deadline time.Time

	hits []hit
	// late is true if there was no time left, since the line lateAt.
	late   bool
	lateAt int
}

// hit is a finding with the fields that are needed to compare it with others.
type hit struct {
	Finding
	secret string
}

// apply looks for the matches of one rule.
func (s *scanner) apply(r rule) {
	if s.over() || allowsFile(r.harmless, s.name) {
		return
	}
	if r.path != nil && !r.path.MatchString(s.name) {
		return
	}
	if r.regex == nil {
		s.hits = append(s.hits, hit{Finding: Finding{RuleID: r.id, Line: 1}}) // The name alone is the finding.
		return
	}
	line, counted, found := s.line, 0, 0
	for _, at := range r.regex.FindAllIndex(s.content, -1) {
		if found == MaxFindings || s.over() {
			return
		}
		if !s.whole(at[0], at[1]) {
			continue
		}
		match := strings.Trim(string(s.content[at[0]:at[1]]), "\n")
		secret := secretOf(r, match)
		if r.entropy != 0 && entropy(secret) <= r.entropy {
			continue
		}
		around := s.around(at[0], at[0]+len(match))
		allows := func(l allowlist) bool { return l.allows(s.name, match, secret, around) }
		if slices.ContainsFunc(s.harmless, allows) || slices.ContainsFunc(r.harmless, allows) {
			continue
		}
		start := at[0]
		for start < at[1] && s.content[start] == '\n' {
			start++
		}
		line += bytes.Count(s.content[counted:start], []byte("\n"))
		counted = start
		s.hits = append(s.hits, hit{Finding: Finding{RuleID: r.id, Line: line}, secret: secret})
		found++
	}
}

// over reports whether there is no time left.
func (s *scanner) over() bool {
	if !s.late && time.Now().After(s.deadline) {
		s.late, s.lateAt = true, s.line
	}
	return s.late
}

// secretOf is the part of a match that is the secret.
func secretOf(r rule, match string) string {
	groups := r.regex.FindStringSubmatch(match)
	if r.secretGroup > 0 && r.secretGroup < len(groups) {
		return groups[r.secretGroup]
	}
	for i, group := range groups {
		if i > 0 && group != "" {
			return group
		}
	}
	return match
}

// around is a match with the remainder of its lines.
func (s *scanner) around(from, to int) string {
	first, last := max(0, from-maxAround), min(len(s.content), to+maxAround)
	if i := bytes.LastIndexByte(s.content[first:from], '\n'); i >= 0 {
		first += i + 1
	}
	if i := bytes.IndexByte(s.content[to:last], '\n'); i >= 0 {
		last = to + i
	}
	return string(s.content[first:last])
}

// allowsFile reports whether one of the lists takes a whole file for harmless by its name.
func allowsFile(lists []allowlist, name string) bool {
	return slices.ContainsFunc(lists, func(l allowlist) bool { return l.allowsFile(name) })
}

// findings are the hits without those of the generic rule where a better rule found the same.
func (s *scanner) findings() []Finding {
	var all []Finding
	for _, h := range s.hits {
		known := slices.ContainsFunc(s.hits, func(other hit) bool {
			return isGeneric(h) && !isGeneric(other) && other.Line == h.Line && strings.Contains(other.secret, h.secret)
		})
		if !known {
			all = append(all, h.Finding)
		}
	}
	slices.SortFunc(all, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.RuleID, b.RuleID)) })
	all = slices.Compact(all)
	if s.late {
		return append(all[:min(len(all), MaxFindings-1)], Finding{RuleID: RuleUnfinished, Line: s.lateAt})
	}
	return all[:min(len(all), MaxFindings)]
}

func isGeneric(h hit) bool { return strings.Contains(h.RuleID, "generic") }

// entropy is Shannon's, in bits for each byte.
func entropy(text string) float64 {
	counts := make(map[rune]int)
	for _, r := range text {
		counts[r]++
	}
	var bits float64
	for _, n := range counts {
		part := float64(n) / float64(len(text))
		bits -= part * math.Log2(part)
	}
	return bits
}
