// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// view is a way to read a text. Each reads a byte that is not escaped as itself.
type view int

const (
	plain view = iota
	// percent reads %41 as A.
	percent
	// jsonText reads \u0041 as A, and \" as ".
	jsonText
	// markup reads &amp; as &, and &#65; and &#x41; as A.
	markup
	// unwrapped reads over one line break between two bytes.
	unwrapped
	views
)

// escapeOf is the byte by which an escape of a view is found.
var escapeOf = [views]byte{percent: '%', jsonText: '\\', markup: '&', unwrapped: '\n'}

const (
	// maxEscape is the most bytes that a view reads for one byte: \u0041, &quot; and &#x41; have six.
	maxEscape = 6
	// maxAhead is how far a view looks beyond a byte to decode it: as far as the second half of a pair of \uXXXX.
	maxAhead = 2 * maxEscape
)

// unit is the next escape, or a byte that is none: it takes in bytes of the text and stands for out[:n].
type unit struct {
	out [utf8.UTFMax]byte
	n   int
	in  int
}

func literal(b byte, in int) unit { return unit{out: [utf8.UTFMax]byte{b}, n: 1, in: in} }

func character(r rune, in int) unit {
	u := unit{in: in}
	u.n = utf8.EncodeRune(u.out[:], r)
	return u
}

// decode reads one unit. inside is true if the pattern began before. An escape without its end is not an escape.
func decode(t []byte, v view, inside bool) unit {
	if len(t) == 0 {
		return unit{}
	}
	switch {
	case v == percent && t[0] == '%':
		return decodePercent(t)
	case v == jsonText && t[0] == '\\':
		return decodeJSON(t)
	case v == markup && t[0] == '&':
		return decodeMarkup(t)
	case v == unwrapped && inside && (t[0] == '\n' || t[0] == '\r'):
		return decodeBreak(t)
	}
	return literal(t[0], 1)
}

func decodeBreak(t []byte) unit {
	n := 1
	if t[0] == '\r' {
		if len(t) > 1 && t[1] != '\n' {
			return literal(t[0], 1)
		}
		n = 2
	}
	if len(t) > n {
		return literal(t[n], n+1)
	}
	return literal(t[0], 1)
}

func decodePercent(t []byte) unit {
	if len(t) < 3 {
		return literal(t[0], 1)
	}
	high, ok1 := nibble(t[1])
	low, ok2 := nibble(t[2])
	if !ok1 || !ok2 {
		return literal(t[0], 1)
	}
	return literal(high<<4|low, 3)
}

func decodeJSON(t []byte) unit {
	const short = `"\/bfnrt`
	if len(t) == 1 {
		return literal(t[0], 1)
	}
	if i := strings.IndexByte(short, t[1]); i >= 0 {
		return literal("\"\\/\b\f\n\r\t"[i], 2)
	}
	r, ok := escapedRune(t)
	if !ok {
		return literal(t[0], 1)
	}
	// Characters beyond U+FFFF are two escapes. A first half without the second is an unknown character.
	const highHalf, lowHalf = 0xd800, 0xdc00
	if r >= highHalf && r < lowHalf {
		if low, ok := escapedRune(t[maxEscape:]); ok && low >= lowHalf && low < 0xe000 {
			return character(0x10000+(r-highHalf)<<10+(low-lowHalf), 2*maxEscape)
		}
	}
	return character(r, maxEscape)
}

// escapedRune reads \uXXXX.
func escapedRune(t []byte) (r rune, ok bool) {
	if len(t) < maxEscape || t[0] != '\\' || t[1] != 'u' {
		return 0, false
	}
	for _, b := range t[2:maxEscape] {
		d, ok := nibble(b)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(d)
	}
	return r, true
}

// decodeMarkup reads what encoders write for the characters that HTML and XML need themselves, and numbers of up to three
// digits.
func decodeMarkup(t []byte) unit {
	end := bytes.IndexByte(t[:min(len(t), maxEscape)], ';')
	if end < 0 {
		return literal(t[0], 1)
	}
	name := string(t[1:end])
	switch name {
	case "amp":
		return literal('&', end+1)
	case "lt":
		return literal('<', end+1)
	case "gt":
		return literal('>', end+1)
	case "quot":
		return literal('"', end+1)
	case "apos":
		return literal('\'', end+1)
	}
	digits, ok := strings.CutPrefix(name, "#")
	base := 10
	if len(digits) > 0 && (digits[0] == 'x' || digits[0] == 'X') {
		digits, base = digits[1:], 16
	}
	r, err := strconv.ParseUint(digits, base, 16)
	if !ok || err != nil {
		return literal(t[0], 1)
	}
	return character(rune(r), end+1)
}

func nibble(b byte) (byte, bool) {
	switch {
	case '0' <= b && b <= '9':
		return b - '0', true
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10, true
	case 'A' <= b && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}
