// SPDX-License-Identifier: Apache-2.0

// Package redact removes known secret values from texts. It is pure, and its result is the same whether a text comes whole or in pieces. At
// each position, from left to right, the longest spelling of a value that begins there is replaced.
//
// A value is found as it is, in base64 (both alphabets, padded or not, at any position of a longer encoded text), in hex, in UTF-16, with
// any of its bytes percent-encoded, and with any of its characters escaped as in JSON or HTML. Each of the former is also found within each
// of the latter. A spelling that has only letters, digits and +/-_= is also found wrapped into lines. A value is not found encrypted,
// compressed, split up, or in a private encoding: redaction stops accidents, it is not a security boundary.
//
// A part of a value is treated as any other text, also at the end of a text or of a read. Otherwise an attacker who can choose a text and
// sees the result would guess a value piece by piece.
package redact

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// MinLength is the least length of a value. Shorter ones cannot be distinguished from ordinary text and are not redacted.
const MinLength = 8

// keyLength is how many bytes of a pattern the index knows. No pattern is shorter.
const keyLength = MinLength

// Secret is a value and the name that replaces it.
type Secret struct {
	Name  string
	Value []byte
}

// Format hides the value when a Secret is printed.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "{%s [hidden]}", s.Name) }

// MarshalText hides the value when a Secret is encoded or logged.
func (s Secret) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%v", s), nil }

// Redactor replaces the values of its secrets. It does not change, and may be used by many at the same time. A nil Redactor
// changes nothing.
type Redactor struct {
	patterns []pattern
	// byKey has the patterns that begin with these bytes. first has what any begins with.
	byKey map[uint64][]int
	first [256]bool
	// window is more than the longest spelling takes in any view.
	window int
	// broken is how much Cut omits.
	broken int
	// lines: a pattern has a newline in it.
	lines bool
	// begins has a bit for each first two bytes of a pattern. It answers nearly always, and without a map.
	begins [1 << 16 / 64]uint64
}

// New makes a Redactor. Values shorter than MinLength are omitted: see there. If several secrets have the same value, the first one
// provides the name. It takes the memory of the values, and some 2 KiB for each.
func New(secrets ...Secret) *Redactor {
	r := &Redactor{byKey: map[uint64][]int{}}
	var known [][]byte
	for _, s := range secrets {
		if len(s.Value) < MinLength || slices.ContainsFunc(known, func(v []byte) bool { return bytes.Equal(v, s.Value) }) {
			continue
		}
		s.Value = bytes.Clone(s.Value)
		known = append(known, s.Value)
		for _, p := range patternsOf(s) {
			r.add(p)
		}
		r.broken = max(r.broken, min(maxEscape*len(s.Value), max(2*len(s.Value), fullyEscaped)))
	}
	if len(r.patterns) == 0 {
		return nil
	}
	return r
}

// Format hides the values when a Redactor is printed.
func (*Redactor) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[redactor]")) }

func (r *Redactor) add(p pattern) {
	var key uint64
	for i := range keyLength {
		key = key<<8 | uint64(p.at(i))
	}
	r.byKey[key] = append(r.byKey[key], len(r.patterns))
	r.first[p.at(0)] = true
	two := key >> 48
	r.begins[two/64] |= 1 << (two % 64)
	r.window = max(r.window, maxEscape*p.length+maxAhead)
	r.lines = r.lines || p.contains(func(b byte) bool { return b == '\n' })
	r.patterns = append(r.patterns, p)
}

// String returns s with <credential:NAME> in place of every value.
func (r *Redactor) String(s string) string {
	if r == nil || len(s) < MinLength {
		return s
	}
	out, changed := r.redact([]byte(s))
	if !changed {
		return s
	}
	return string(out)
}

// Bytes is like String. It returns b itself if there is nothing to replace, and never changes it.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil {
		return b
	}
	out, changed := r.redact(b)
	if !changed {
		return b
	}
	return out
}

// fullyEscaped is the length up to which Cut assumes that a spelling can be escaped throughout, which no usual one is.
const fullyEscaped = 4 << 10

// Cut is String for a piece of a longer text, with more before it, or after it. A value may be broken at such a side. So everything at that
// side is removed: a fixed number of bytes, whatever they are, six times the longest value. For values of more than 680 bytes it is less, 4
// KiB or twice the value: enough for the value, its hex and its base64.
func (r *Redactor) Cut(s string, before, after bool) string {
	if r == nil {
		return s
	}
	scan := scanner{r: r, text: []byte(s)}
	end := len(s)
	if before {
		scan.start = min(r.broken, len(s))
	}
	if after {
		end = max(scan.start, end-r.broken)
	}
	out, _ := scan.run(nil, end)
	return strings.ToValidUTF8(string(out), "")
}

func (r *Redactor) redact(b []byte) (out []byte, changed bool) {
	s := scanner{r: r, text: b}
	out, _ = s.run(nil, len(b))
	return out, s.replaced
}

// scanner goes through a text once.
type scanner struct {
	r    *Redactor
	text []byte
	// start is where that begins which is wanted.
	start int
	// escapes has for each view where its next escape is, so that only the bytes just before one are looked at twice.
	escapes  [views]int
	replaced bool
}

// run appends the redacted text up to end to out, and returns how much of the text it consumed. That is more than was asked for if a value
// goes over the end.
func (s *scanner) run(out []byte, end int) (_ []byte, taken int) {
	for v := range s.escapes {
		s.escapes[v] = -1
	}
	from := s.start // the bytes before it are in out
	for p := s.skip(0); p < end; p = s.skip(p) {
		length, shown := s.at(p)
		if length == 0 {
			p++
			continue
		}
		if p >= s.start {
			out = append(append(out, s.text[from:p]...), shown...)
		}
		s.replaced = true
		p += length
		from = max(from, p)
	}
	taken = max(from, end)
	return append(out, s.text[from:taken]...), taken
}

// skip returns the first position from p on where a value can begin. It is what makes the scan fast.
func (s *scanner) skip(p int) int {
	// The first two bytes of a pattern are in the first three of the text, or there is an escape: \r\n between the two is.
	const window = 3
	text, begins := s.text, &s.r.begins
	escape := -1
	for ; p+window <= len(text); p++ {
		if escape < p {
			escape = len(text)
			for v := plain + 1; v < views; v++ {
				escape = min(escape, s.nextEscape(v, p))
			}
		}
		two := uint(text[p])<<8 | uint(text[p+1])
		if escape < p+window || begins[two/64]&(1<<(two%64)) != 0 {
			return p
		}
	}
	return p
}

// nextEscape returns where the first escape of a view is at or after p.
func (s *scanner) nextEscape(v view, p int) int {
	if s.escapes[v] < p {
		i := bytes.IndexByte(s.text[p:], escapeOf[v])
		if i < 0 {
			i = len(s.text)
		}
		s.escapes[v] = p + i
	}
	return s.escapes[v]
}

// at checks one position in every view and returns the longest value there.
func (s *scanner) at(p int) (length int, shown string) {
	for v := range views {
		// If a pattern cannot have an escape there, the view shows the plain text.
		if v != plain && s.nextEscape(v, p) > p+s.r.window {
			continue
		}
		for _, i := range s.candidates(v, p) {
			pat := &s.r.patterns[i]
			if n := pat.compare(s.text[p:], v); n > length {
				length, shown = n, pat.shown
			}
		}
	}
	return length, shown
}

// candidates returns the patterns that may begin at p in a view.
func (s *scanner) candidates(v view, p int) []int {
	var key [keyLength]byte
	n := 0
	for i := p; n < keyLength; {
		u := decode(s.text[i:], v, n > 0)
		if u.in == 0 {
			return nil
		}
		n += copy(key[n:], u.out[:u.n])
		i += u.in
		if !s.r.first[key[0]] {
			return nil
		}
	}
	return s.r.byKey[binary.BigEndian.Uint64(key[:])]
}
