// SPDX-License-Identifier: Apache-2.0

// Package skill defines what a skill is: its files as the Agent Skills standard has them, the hashes that an approval is bound to, the
// policy, and the decisions that follow from them. It does no I/O and has no client.
package skill

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/text"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// ManifestName is the path of the file that every skill has.
	ManifestName = toolapi.SkillManifest
	// MaxManifestBytes is the most that SKILL.md may have.
	MaxManifestBytes = 256 << 10
	// MaxFrontBytes is the most that its front matter may have, without the lines around it.
	MaxFrontBytes = 64 << 10
	// MaxName, MaxDescription and MaxCompatibility are the most characters of each, as the standard has them.
	MaxName, MaxDescription, MaxCompatibility = 64, 1024, 500
)

// Front is the content of the front matter of SKILL.md. Numbers, dates, true and false are taken as they are written. A key that is null,
// or has no value, is "". No text has control characters but line breaks and tabs, or other invisible characters.
type Front struct {
	// Name is one for ValidName.
	Name string
	// Description is 1 to 1024 characters, without blanks around it. A longer description is cut to its beginning.
	Description string
	// License is a name, or the path of a file; "" if there is none.
	License string
	// Compatibility describes the environment that the skill needs, in at most 500 characters; "" if SKILL.md does not.
	Compatibility string
	// Metadata is what other systems keep there. Nothing here depends on it.
	Metadata map[string]string
	// AllowedTools are names with one space between them, also if SKILL.md has a list. They grant nothing: the policy does.
	AllowedTools string
}

// Manifest is a SKILL.md.
type Manifest struct {
	Front
	// Body is the text below the front matter, with LF between its lines. It may be empty, as it is in the standard's smallest
	// example.
	Body string
	// Warnings are odd but accepted findings: those of SKILL.md in the order of the lines, then those about which files there are. Each group
	// has at most 32, of which the last counts the omitted ones.
	Warnings []Warning
	// LeftOut are the paths of files that are not part of the skill, because tools leave them behind. Those that cannot be displayed are in
	// quotes. At most 32; the last counts the omitted ones.
	LeftOut []string
}

// Warning is an odd but accepted finding.
type Warning struct {
	// Kind of the finding that it is.
	Kind v1alpha1.FindingKind
	// Line of SKILL.md, from 1; 0 if it is about many.
	Line int
	// Message is one sentence. Its quotations are shortened, and have no characters that cannot be displayed.
	Message string
}

// ParseManifest reads a SKILL.md: a line ---, the front matter in YAML, a line ---, and the body. A byte order mark is skipped, and CRLF is
// read as LF. The error names all problems with the name and the description, each with its line and the fix, and quotes no character that
// cannot be displayed. Its cost is bounded for every content: a content that is too large is refused before anything is parsed. Anchors and
// tags of its own are refused, and so is a key that is there twice.
//
// Skills are written for other systems too. A key that is not in the standard produces a warning, and so does a value of another kind or
// length than the standard requires. The name and the description are required all the same.
func ParseManifest(content []byte) (Manifest, error) {
	if len(content) > MaxManifestBytes {
		return Manifest{}, fmt.Errorf("it has %d bytes, and %d are the most: move parts of it to files below references", len(content), MaxManifestBytes)
	}
	front, body, err := splitManifest(content)
	if err != nil {
		return Manifest{}, err
	}
	root, err := parseFront(front)
	if err != nil {
		return Manifest{}, err
	}
	var r frontReader
	if err := r.read(root); err != nil {
		return Manifest{}, err
	}
	return Manifest{Front: r.front, Body: body, Warnings: r.warnings.all()}, nil
}

// splitManifest returns the front matter, with an empty line for the one above it, so that its lines count as those of the file.
func splitManifest(content []byte) (front, body string, err error) {
	content = bytes.TrimPrefix(content, []byte("\uFEFF"))
	if err := checkText(content); err != nil {
		return "", "", err
	}
	first, rest, _ := strings.Cut(strings.ReplaceAll(string(content), "\r\n", "\n"), "\n")
	if !isFence(first) {
		return "", "", lineError(1, "it must begin with a line ---, the front matter with name and description, and a line ---: add them")
	}
	for at, number := 0, 2; ; number++ {
		line, _, more := strings.Cut(rest[at:], "\n")
		end := at + len(line)
		switch {
		case isFence(line):
			return "\n" + rest[:at], strings.TrimPrefix(rest[end:], "\n"), nil
		case end >= MaxFrontBytes:
			return "", "", lineError(1, "the front matter has more than %d bytes: move what it says below it, or to files below references", MaxFrontBytes)
		case !more:
			return "", "", lineError(1, "the front matter does not end: add a line --- below it")
		}
		// YAML takes some of these for the end of a line, and then a line has keys that a reader does not see.
		if i := strings.IndexFunc(line, func(c rune) bool { return c != '\t' && unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp) }); i >= 0 {
			c, _ := utf8.DecodeRuneInString(line[i:])
			return "", "", lineError(number, "there is a control character, or another end of line than LF and CRLF (U+%04X): take it out", c)
		}
		at = end + 1
	}
}

// checkText refuses a content that is not text.
func checkText(content []byte) error {
	if utf8.Valid(content) && bytes.IndexByte(content, 0) < 0 {
		return nil
	}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		switch {
		case !utf8.Valid(line):
			return lineError(number, "it is not valid UTF-8: save it as UTF-8")
		case bytes.IndexByte(line, 0) >= 0:
			return lineError(number, "there is a NUL character: take it out")
		}
	}
	return nil
}

// isFence reports whether a line begins or ends the front matter.
func isFence(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// ValidName returns an error if a name cannot be that of a skill. A name is 1 to 64 of a-z, 0-9 and hyphens, without a hyphen at its
// beginning or end, or two in a row. The error is one sentence with the fix.
func ValidName(name string) error {
	if name == "" {
		return fmt.Errorf("the name is empty: give one of 1 to %d of a-z, 0-9 and hyphens", MaxName)
	}
	if n := utf8.RuneCountInString(name); n > MaxName {
		return fmt.Errorf("the name has %d characters, and %d are the most: shorten it", n, MaxName)
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return fmt.Errorf("the name %s has %s in it: use a-z, 0-9 and hyphens alone", quoted(name), quoted(string(c)))
		}
	}
	switch {
	case strings.HasPrefix(name, "-"), strings.HasSuffix(name, "-"):
		return fmt.Errorf("the name %s begins or ends with a hyphen: take it away", quoted(name))
	case strings.Contains(name, "--"):
		return fmt.Errorf("the name %s has two hyphens in a row: take one away", quoted(name))
	}
	return nil
}

// unseen reports whether a character is invisible, or turns the direction of text. The two joiners that some scripts and emoji need are not
// among them, nor are line breaks and tabs.
func unseen(c rune) bool {
	switch c {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	}
	return unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Other_Default_Ignorable_Code_Point) ||
		unicode.Is(unicode.Cf, c) && !unicode.Is(unicode.Prepended_Concatenation_Mark, c)
}

// Visible reports whether a character can be seen, or is a blank.
func Visible(c rune) bool {
	return unicode.IsPrint(c) && c != '\u2800' && !unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// quoted is an untrusted text, escaped for a message: in quotes, at most 60 bytes of it, and with escapes for all invisible characters.
func quoted(s string) string {
	var b strings.Builder
	for _, c := range strconv.Quote(text.CutBytes(s, 60)) {
		if Visible(c) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, c)
		}
	}
	return b.String()
}

// LineError is what is wrong with a line of SKILL.md.
type LineError struct {
	// Line from 1.
	Line int
	// Message is one sentence with the fix.
	Message string
}

func (e *LineError) Error() string { return "line " + strconv.Itoa(e.Line) + ": " + e.Message }

func lineError(line int, format string, args ...any) error {
	return &LineError{line, fmt.Sprintf(format, args...)}
}

// lineErrors are several of them.
type lineErrors []error

func (l lineErrors) Error() string {
	all := make([]string, 0, len(l))
	for _, e := range l {
		all = append(all, e.Error())
	}
	return strings.Join(all, "; ")
}

func (l lineErrors) Unwrap() []error { return l }

// maxWarnings bounds the warnings of one skill, with the one that counts the omitted ones.
const maxWarnings = 32

// warningList are warnings, of which the first are stored and the others are counted.
type warningList struct {
	first []Warning
	more  int
}

func (l *warningList) add(w Warning) {
	if len(l.first) == maxWarnings-1 {
		l.more++
		return
	}
	l.first = append(l.first, w)
}

func (l *warningList) all() []Warning {
	if l.more == 0 {
		return l.first
	}
	return append(slices.Clip(l.first), Warning{Kind: v1alpha1.FindingUnknownKey, Message: fmt.Sprintf("%d more things are odd", l.more)})
}
