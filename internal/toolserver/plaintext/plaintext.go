// SPDX-License-Identifier: Apache-2.0

// Package plaintext converts the output of programs to text: without escape sequences and control characters, in valid UTF-8, and cut
// between runes.
package plaintext

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Writer is a writer that passes text on. It removes escape sequences of terminals. Invalid UTF-8 and control characters become U+FFFD,
// except for tab, newline and carriage return. People read the output on terminals, where those could hide or fake lines.
type Writer struct {
	// To gets the text.
	To io.Writer
	// cut is the beginning of a rune whose other bytes are still to come.
	cut []byte
	buf []byte
	// plain is a piece without its escape sequences.
	plain   []byte
	escapes escapeFilter
	// Seen describes the bytes written so far, before they were cleaned.
	Seen Seen
}

// Write takes in all of p. Errors of the writer behind it are passed on.
func (c *Writer) Write(p []byte) (int, error) {
	c.Seen.add(p)
	c.plain = c.escapes.strip(append(c.plain[:0], c.cut...), p)
	var rest []byte
	var odd int
	c.buf, rest, odd = appendClean(c.buf[:0], c.plain, false)
	c.Seen.odd += int64(odd)
	c.cut = append(c.cut[:0], rest...)
	_, err := c.To.Write(c.buf)
	return len(p), err
}

// Close passes on the incomplete rune at the end.
func (c *Writer) Close() error {
	var odd int
	c.buf, _, odd = appendClean(c.buf[:0], c.cut, true)
	c.Seen.odd += int64(odd)
	c.cut = nil
	_, err := c.To.Write(c.buf)
	return err
}

// appendClean adds the cleaned src to dst. Unless last is set, it stops before a rune that src cuts off and returns it as the remainder.
// odd counts the bytes that no text has.
func appendClean(dst, src []byte, last bool) (text, rest []byte, odd int) {
	for {
		n := 0
		for n < len(src) && isPlain(src[n]) {
			n++
		}
		dst, src = append(dst, src[:n]...), src[n:]
		if len(src) == 0 {
			return dst, nil, odd
		}
		if !last && !utf8.FullRune(src) {
			return dst, src, odd
		}
		r, size := utf8.DecodeRune(src)
		if size == 1 && r != '\b' { // Man pages print a letter twice with it between.
			odd++
		}
		if unicode.IsControl(r) {
			r = utf8.RuneError
		}
		dst = utf8.AppendRune(dst, r)
		src = src[size:]
	}
}

// isPlain reports whether a byte is a whole rune that stays as it is.
func isPlain(b byte) bool {
	return b >= ' ' && b < 0x7f || b == '\t' || b == '\n' || b == '\r'
}

// Clean is the whole text cleaned.
func Clean(text string) string {
	clean, _, _ := appendClean(nil, []byte(text), true)
	return string(clean)
}

// Bound cleans text and cuts it to at most limit bytes, between runes.
func Bound(text string, limit int) string {
	return First(Clean(text), limit)
}

// First is the longest beginning of a valid text that has at most n bytes and cuts no rune.
func First(text string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Last is the longest end of a valid text that has at most n bytes and cuts no rune.
func Last(text string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(text) <= n {
		return text
	}
	from := len(text) - n
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// EndLine ends a text with a newline, unless it is empty.
func EndLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// SniffBytes is how much of the beginning of a content determines its media type.
const SniffBytes = 512

// Describe describes a content that is not UTF-8 text, instead of showing it: its media type by its first bytes, its size, and the
// hexadecimal sha256 of it all.
func Describe(head []byte, size int64, sum string) string {
	return fmt.Sprintf("%s, %d bytes, sha256 %s", binaryType(head), size, sum)
}

// binaryType is the media type of a content that is not UTF-8 text.
func binaryType(head []byte) string {
	head = head[:min(len(head), SniffBytes)]
	switch kind := http.DetectContentType(head); {
	case bytes.HasPrefix(head, []byte("\x7fELF")):
		return "application/x-elf"
	case kind == "text/plain; charset=utf-8":
		return "text/plain in another encoding" // So it is called if no byte among the first ones looks binary.
	default:
		return kind
	}
}

// WholeLines is the beginning of a text without a last line that is cut, unless that takes half of it.
func WholeLines(head string) string {
	if i := strings.LastIndexByte(head, '\n') + 1; i > len(head)/2 {
		return head[:i]
	}
	return head
}

// FromLine is the end of a text without a first line that is cut, unless that takes half of it.
func FromLine(tail string) string {
	if i := strings.IndexByte(tail, '\n') + 1; i < len(tail)/2 {
		return tail[i:]
	}
	return tail
}
