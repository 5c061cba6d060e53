// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxTitle is the most characters of a Title.
	MaxTitle = 40
	// MaxHead is the most characters of an output, or of arguments, that are shown.
	MaxHead = 200
)

// Title returns the beginning of a text in one line, for a column.
func Title(s string) string { return Cut(strings.Join(strings.Fields(s), " "), MaxTitle) }

// Cut shortens a text to at most max characters, with "…" as the last one if anything was cut.
func Cut(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	r := []rune(s)
	return string(r[:max-1]) + "…"
}

// CutEncoded shortens a text to at most max bytes in JSON, with "…" as its last character if anything was cut. It bounds a status: one character
// can take six bytes.
func CutEncoded(s string, max int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	size, end := 0, 0
	for i, r := range s {
		if size += encodedLen(r); size > max {
			return s[:end] + "…"
		}
		if size <= max-len("…") {
			end = i + utf8.RuneLen(r)
		}
	}
	return s
}

// CutMiddle shortens a text to at most max bytes in JSON, and retains its beginning and its end.
func CutMiddle(s string, max int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	const mark = " […] "
	if EncodedSize(s) <= max {
		return s
	}
	half := (max - len(mark)) / 2
	begin := len(s)
	for size := 0; begin > 0; {
		r, n := utf8.DecodeLastRuneInString(s[:begin])
		if size += encodedLen(r); size > half {
			break
		}
		begin -= n
	}
	return strings.TrimSuffix(CutEncoded(s, half), "…") + mark + s[begin:]
}

// encodedLen returns the size of a character in JSON as encoding/json writes it, in bytes.
func encodedLen(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t':
		return 2
	case r < 0x20 || r == '<' || r == '>' || r == '&' || r == 0x2028 || r == 0x2029:
		return 6
	default:
		return utf8.RuneLen(r)
	}
}

// EncodedSize returns the size of a text in JSON, without the quotes, in bytes.
func EncodedSize(s string) int {
	n := 0
	for _, r := range s {
		n += encodedLen(r)
	}
	return n
}

// OneLine returns the beginning of a text of foreign origin, in one line and without control characters.
func OneLine(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(Cut(s, max), "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}

// Quoted writes a text of foreign origin as a JSON string, which cannot end before its end: no line break, no quote and no tag of it gets out.
func Quoted(s string, max int) string {
	b, err := json.Marshal(CutEncoded(s, max))
	if err != nil {
		// CutEncoded returns valid UTF-8, and every such string has a JSON form.
		panic(err)
	}
	return string(b)
}

// QuotedMiddle returns data for a text whose end counts as much as its beginning, such as the output of a program.
func QuotedMiddle(s string, max int) string {
	return Quoted(CutMiddle(strings.ToValidUTF8(s, "\uFFFD"), max), max+len("…"))
}

// MaxFailureText is the most bytes of the texts of a failure.
const MaxFailureText = 1024
