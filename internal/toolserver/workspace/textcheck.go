// SPDX-License-Identifier: Apache-2.0

//go:build linux

package workspace

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// TextCheck finds out in pieces whether something is UTF-8 text without NUL.
type TextCheck struct {
	cut []byte // the beginning of a rune whose other bytes are in the next piece
}

// Text takes in the next piece, and reports whether all of them can be text so far.
func (c *TextCheck) Text(piece []byte) bool {
	if bytes.IndexByte(piece, 0) >= 0 {
		return false
	}
	all := piece
	if len(c.cut) > 0 {
		all = slices.Concat(c.cut, piece)
	}
	whole := len(all)
	for i := len(all) - 1; i >= max(0, len(all)-utf8.UTFMax); i-- {
		if utf8.RuneStart(all[i]) {
			if !utf8.FullRune(all[i:]) {
				whole = i
			}
			break
		}
	}
	c.cut = append([]byte(nil), all[whole:]...)
	return utf8.Valid(all[:whole])
}

// Ended reports whether no rune is cut off at the end.
func (c *TextCheck) Ended() bool { return len(c.cut) == 0 }
