// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode/utf8"
)

// Cut shortens s to at most size bytes that take at most encoded bytes in JSON, whole characters only. A shortened
// text ends with mark, which counts.
func Cut(s string, size, encoded int, mark string) string {
	if len(s) <= size && EncodedLen(s) <= encoded {
		return s
	}
	size -= len(mark)
	encoded -= EncodedLen(mark)
	end := 0
	for i, c := range s {
		n := utf8.RuneLen(c)
		encoded -= encodedRune(c)
		if i+n > size || encoded < 0 {
			break
		}
		end = i + n
	}
	return s[:end] + mark
}

// EncodedLen is how many bytes a valid string takes in JSON as encoding/json writes it, quotes not counted.
func EncodedLen(s string) int {
	n := 0
	for _, c := range s {
		n += encodedRune(c)
	}
	return n
}

func encodedRune(c rune) int {
	switch {
	case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
		return 2
	case c < 0x20 || c == '<' || c == '>' || c == '&' || c == 0x2028 || c == 0x2029:
		return 6
	default:
		return utf8.RuneLen(c)
	}
}

// Line returns the beginning of a text in one line, for a message.
func Line(s string, size int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= size {
		return s
	}
	return Cut(s, size, size, "…")
}

// Ends returns a text without its middle if it has more than size bytes: a program's last output is as informative as its first.
func Ends(s string, size int) string {
	const mark = " … "
	if len(s) <= size && EncodedLen(s) <= size {
		return s
	}
	half := (size - len(mark)) / 2
	begin := len(s)
	for room := half; begin > 0; {
		c, n := utf8.DecodeLastRuneInString(s[:begin])
		if room -= max(n, encodedRune(c)); room < 0 {
			break
		}
		begin -= n
	}
	return Cut(s, half, half, "") + mark + s[begin:]
}
