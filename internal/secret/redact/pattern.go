// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// spelling is how a pattern's text is made of its value.
type spelling int

const (
	asIs spelling = iota
	lowerHex
	upperHex
	stdBase64
	urlBase64
	littleEndian
	bigEndian
)

const (
	lowerDigits = "0123456789abcdef"
	upperDigits = "0123456789ABCDEF"
	letters     = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	stdDigits   = letters + "+/"
	urlDigits   = letters + "-_"
)

// pattern is one spelling of a value. Its text is never written out: it has up to two bytes for one of the value, and there
// are some twenty for each. All patterns of a value share its bytes.
type pattern struct {
	value    []byte
	spelling spelling
	// before is how many bytes come before the value in the base64's content, first the first of its digits that is part of the pattern.
	before, first int
	// length is that of the text.
	length int
	// wraps: it may be broken into lines.
	wraps bool
	shown string
}

// patternsOf returns the spellings that no view undoes. The value itself is first. The secret is kept.
func patternsOf(s Secret) []pattern {
	v, shown := s.Value, "<credential:"+s.Name+">"
	list := []pattern{
		{value: v, length: len(v)},
		{value: v, spelling: lowerHex, length: 2 * len(v)},
		{value: v, spelling: upperHex, length: 2 * len(v)},
	}
	if bytes.ContainsRune(v, ' ') {
		// Forms write a blank as +.
		form := bytes.ReplaceAll(v, []byte(" "), []byte("+"))
		list = append(list, pattern{value: form, length: len(form)})
	}
	if !utf8.Valid(v) {
		// Every JSON encoder turns invalid UTF-8 into this.
		text := []byte(string([]rune(string(v))))
		list = append(list, pattern{value: text, length: len(text)})
	}
	list = append(list, wide(v)...)
	std := encoded(v, stdBase64)
	list = append(list, std...)
	if slices.ContainsFunc(std, func(p pattern) bool { return p.contains(func(b byte) bool { return b == '+' || b == '/' }) }) {
		list = append(list, encoded(v, urlBase64)...)
	}
	kept := list[:0]
	for _, p := range list {
		if p.length >= keyLength {
			p.shown, p.wraps = shown, !p.contains(func(b byte) bool { return !inLines(b) })
			kept = append(kept, p)
		}
	}
	return kept
}

// wide returns the two spellings in UTF-16.
func wide(v []byte) []pattern {
	if !bytes.ContainsFunc(v, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return []pattern{{value: v, spelling: littleEndian, length: 2 * len(v)}, {value: v, spelling: bigEndian, length: 2 * len(v)}}
	}
	var little, big []byte
	for _, u := range utf16.Encode([]rune(string(v))) {
		little, big = binary.LittleEndian.AppendUint16(little, u), binary.BigEndian.AppendUint16(big, u)
	}
	return []pattern{{value: little, length: len(little)}, {value: big, length: len(big)}}
}

// encoded returns the base64 of the value alone. It also returns those digits of the base64 of a longer text that the value alone decides,
// for each number of bytes that may be before it in its first group of three. A digit at either end that it shares with its neighbour
// stays, with at most four bits of it.
func encoded(v []byte, s spelling) []pattern {
	var list []pattern
	if len(v)%3 != 0 {
		list = append(list,
			pattern{value: v, spelling: s, length: base64.StdEncoding.EncodedLen(len(v))},
			pattern{value: v, spelling: s, length: base64.RawStdEncoding.EncodedLen(len(v))})
	}
	for before := range 3 {
		first := (before*8 + 5) / 6
		list = append(list, pattern{value: v, spelling: s, before: before, first: first, length: (before+len(v))*8/6 - first})
	}
	return list
}

// at returns a byte of the text.
func (p *pattern) at(i int) byte {
	switch p.spelling {
	case lowerHex:
		return lowerDigits[p.half(i)]
	case upperHex:
		return upperDigits[p.half(i)]
	case stdBase64, urlBase64:
		return p.digit(p.first + i)
	case littleEndian, bigEndian:
		if (i%2 == 1) == (p.spelling == littleEndian) {
			return 0
		}
		return p.value[i/2]
	default:
		return p.value[i]
	}
}

func (p *pattern) half(i int) byte {
	if i%2 == 0 {
		return p.value[i/2] >> 4
	}
	return p.value[i/2] & 0xf
}

// digit returns one digit of the base64.
func (p *pattern) digit(i int) byte {
	bit := 6 * i
	if bit >= 8*(p.before+len(p.value)) {
		return '='
	}
	two := uint16(p.decoded(bit/8))<<8 | uint16(p.decoded(bit/8+1))
	six := two >> (10 - bit%8) & 0x3f
	if p.spelling == urlBase64 {
		return urlDigits[six]
	}
	return stdDigits[six]
}

// decoded returns a byte of the base64's content. Except for the padding, no digit of the text has bytes outside of the value.
func (p *pattern) decoded(i int) byte {
	if i -= p.before; i < 0 || i >= len(p.value) {
		return 0
	}
	return p.value[i]
}

// contains reports whether one of the text's bytes is of a kind.
func (p *pattern) contains(is func(byte) bool) bool {
	for i := range p.length {
		if is(p.at(i)) {
			return true
		}
	}
	return false
}

// inLines reports whether a byte may be in a text that is wrapped into lines: hex, base64 of either alphabet, and similar encodings.
func inLines(b byte) bool {
	return strings.IndexByte(stdDigits, b) >= 0 || b == '-' || b == '_' || b == '='
}

// compare checks whether t begins with the pattern in a view. It returns how many bytes of t the pattern takes, 0 if it does not.
func (p *pattern) compare(t []byte, v view) int {
	if v == plain && p.spelling == asIs {
		// Most comparisons end here.
		if bytes.HasPrefix(t, p.value) {
			return p.length
		}
		return 0
	}
	if v == unwrapped && !p.wraps {
		return 0
	}
	taken := 0
	for matched := 0; matched < p.length; {
		u := decode(t[taken:], v, matched > 0)
		if u.in == 0 || matched+u.n > p.length {
			return 0
		}
		for _, b := range u.out[:u.n] {
			if b != p.at(matched) {
				return 0
			}
			matched++
		}
		taken += u.in
	}
	return taken
}
