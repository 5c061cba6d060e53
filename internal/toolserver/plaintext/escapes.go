// SPDX-License-Identifier: Apache-2.0

package plaintext

import (
	"bytes"
	"fmt"
)

// maxEscape is the most bytes of one escape sequence. The bytes after them are text: a sequence that never ends must not hide the remainder
// of an output.
const maxEscape = 1 << 10

const escape = 0x1b

// escapeFilter removes the escape sequences of terminals from a text: colours, titles, movements of the cursor. They are no information for
// a reader, and without their first byte they are noise between the words.
type escapeFilter struct {
	in escapeState
	// size is how many bytes the sequence has so far.
	size int
}

type escapeState int

const (
	inText escapeState = iota
	inEscape
	inControl // ESC [ and what follows, up to a letter
	inCharset // ESC ( and the like, up to a letter
	inString  // ESC ] and the like, up to BEL or ESC \
)

// strip adds the text of src to dst. A sequence may go on in the next src.
func (e *escapeFilter) strip(dst, src []byte) []byte {
	for len(src) > 0 {
		if e.in == inText {
			i := bytes.IndexByte(src, escape)
			if i < 0 {
				return append(dst, src...)
			}
			dst, src = append(dst, src[:i]...), src[i+1:]
			e.in, e.size = inEscape, 1
			continue
		}
		if !e.takes(src[0]) {
			e.in = inText
			dst = append(dst, src[0])
		}
		src = src[1:]
	}
	return dst
}

// takes reports whether a byte belongs to the sequence that has begun.
func (e *escapeFilter) takes(b byte) bool {
	e.size++
	isFinal := b >= 0x40 && b <= 0x7e
	switch {
	case e.size > maxEscape:
		return false
	case b == escape:
		e.in = inEscape
		return true
	case e.in == inEscape:
		return e.begin(b)
	case e.in == inString && b == 7:
		e.in = inText
		return true
	case e.in == inString:
		return b != '\n'
	case e.in == inControl && b >= 0x20 && b < 0x40, e.in == inCharset && b >= 0x20 && b < 0x30:
		return true
	case isFinal || e.in == inCharset && b >= 0x30 && b < 0x40:
		e.in = inText
		return true
	}
	return false
}

// begin reads the byte that determines the kind of the sequence.
func (e *escapeFilter) begin(b byte) bool {
	switch {
	case b == '[':
		e.in = inControl
	case bytes.IndexByte([]byte("]PX^_"), b) >= 0:
		e.in = inString
	case b >= 0x20 && b < 0x30:
		e.in = inCharset
	case b >= 0x30 && b < 0x7f:
		e.in = inText // It has two bytes.
	default:
		return false
	}
	return true
}

// Seen describes an output before it was cleaned.
type Seen struct {
	// total counts its bytes, and odd those that no text has.
	total, odd int64
	// head is its beginning, SniffBytes at most.
	head []byte
}

func (s *Seen) add(p []byte) {
	s.total += int64(len(p))
	s.head = append(s.head, p[:min(len(p), SniffBytes-len(s.head))]...)
}

// IsBinary reports whether the output is no text. Text in an old encoding has some odd bytes, and so has a list of names with NUL between
// them; compressed data, pictures and programs have more than a third.
func (s *Seen) IsBinary() bool { return s.odd*3 > s.total }

// Describe returns the replacement of a binary output.
func (s *Seen) Describe() string {
	return fmt.Sprintf("[the output is not shown: it is no UTF-8 text but %s, %d bytes; send it to a file, or through a program that makes text of it, "+
		"such as base64, xxd or iconv]\n", binaryType(s.head), s.total)
}
