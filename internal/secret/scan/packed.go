// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxPackedBytes is the largest single packed content of a diff, MaxPackedTotal the most of all contents of one diff together: a diff of a
	// MiB can have a GiB packed.
	MaxPackedBytes = 256 << 10
	MaxPackedTotal = 8 << 20
	// RulePacked is the rule of a finding about a packed content that cannot be scanned.
	RulePacked = "packed-unreadable"
)

// errPacked means that the packed content of a diff cannot be determined.
var errPacked = errors.New("the packed content cannot be unpacked")

// Packed is a packed content of a diff. Git packs contents that are not text.
type Packed struct {
	// Path is that of its file, "" if that is not known.
	Path    string
	Content []byte
	// Line is the one of the diff that it begins at.
	Line int
}

// Unpack returns the packed contents of a diff, one after the other. An error is the last value that it yields: the contents after it,
// incomplete contents, and those beyond the bounds were not scanned.
//
// Every line of a content that is not packed has something before it, so that a line can begin as those here do only where git would
// unpack what follows.
func Unpack(diff []byte) iter.Seq2[Packed, error] {
	return func(yield func(Packed, error) bool) {
		path, left := "", MaxPackedTotal
		for u := (unpacker{rest: diff}); len(u.rest) > 0; {
			line := u.next()
			if bytes.HasPrefix(line, []byte(sectionStart)) {
				path = sectionName(line)
			}
			size, packed, err := packedSize(line)
			if !packed {
				continue
			}
			p := Packed{Path: path, Line: u.line}
			if err == nil && size > left {
				err = fmt.Errorf("%w: a diff may have %d bytes packed", errPacked, MaxPackedTotal)
			}
			if err == nil {
				p.Content, err = u.unpack(size)
			}
			left -= size
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// packedSize reads the line before a packed content, which has its length.
func packedSize(line []byte) (size int, packed bool, err error) {
	digits, ok := strings.CutPrefix(string(line[:min(len(line), 64)]), "literal ")
	if !ok {
		// It takes the former content to unpack a delta. A tool server writes none.
		if bytes.HasPrefix(line, []byte("delta ")) {
			return 0, true, errPacked
		}
		return 0, false, nil
	}
	size, err = strconv.Atoi(strings.TrimSuffix(digits, "\n"))
	if err != nil || size < 0 || size > MaxPackedBytes {
		return 0, true, fmt.Errorf("%w: it has another size than 0 to %d bytes", errPacked, MaxPackedBytes)
	}
	return size, true, nil
}

// unpacker reads a diff line by line.
type unpacker struct {
	rest []byte
	// line is the number of the last line, from 1.
	line int
}

func (u *unpacker) next() []byte {
	end := bytes.IndexByte(u.rest, '\n') + 1
	if end == 0 {
		end = len(u.rest)
	}
	line := u.rest[:end]
	u.rest = u.rest[end:]
	u.line++
	return line
}

// unpack reads the lines of a packed content, up to the empty one behind them.
func (u *unpacker) unpack(size int) ([]byte, error) {
	var stream []byte
	for {
		line, ended := bytes.CutSuffix(u.next(), []byte("\n"))
		if !ended {
			return nil, errPacked
		}
		if len(line) == 0 {
			break
		}
		var ok bool
		if stream, ok = appendLine(stream, line); !ok {
			return nil, errPacked
		}
	}
	return inflate(stream, size)
}

// inflate returns the deflated content if it has that size, and nothing follows it.
func inflate(stream []byte, size int) ([]byte, error) {
	from := bytes.NewReader(stream)
	z, err := zlib.NewReader(from)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	content, err := io.ReadAll(io.LimitReader(z, int64(size)+1))
	if err == nil && (len(content) != size || from.Len() > 0) {
		err = errors.New("it has another size")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPacked, err)
	}
	return content, nil
}

// base85 are the digits of git, and base85Values their values plus one.
const base85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

var base85Values = func() (values [256]byte) {
	for i := range len(base85) {
		values[base85[i]] = byte(i + 1)
	}
	return values
}()

// appendLine adds the bytes of a line: its first character is their number, and each five further ones are four bytes.
func appendLine(stream, line []byte) ([]byte, bool) {
	n := 0
	switch c := line[0]; {
	case c >= 'A' && c <= 'Z':
		n = int(c-'A') + 1
	case c >= 'a' && c <= 'z':
		n = int(c-'a') + 27
	}
	digits := line[1:]
	if n == 0 || len(digits) != (n+3)/4*5 {
		return nil, false
	}
	for ; len(digits) > 0; digits = digits[5:] {
		var word uint64
		for _, d := range digits[:5] {
			if base85Values[d] == 0 {
				return nil, false
			}
			word = word*85 + uint64(base85Values[d]-1)
		}
		if word > 1<<32-1 {
			return nil, false
		}
		four := [4]byte{byte(word >> 24), byte(word >> 16), byte(word >> 8), byte(word)}
		stream = append(stream, four[:min(n, len(four))]...)
		n -= len(four)
	}
	return stream, true
}

// InPacked is Until for a packed content of a diff. A text can be packed because the file was not a text before. It is scanned under
// no name: content that is harmless in a picture or a program of that name is not so in a text.
func InPacked(deadline time.Time, path string, content []byte) []Finding {
	if bytes.IndexByte(content, 0) < 0 {
		path = ""
	}
	return Until(deadline, path, content)
}

// InPackedDiff finds likely secrets in the packed contents of a diff. holds reports whether a content has a value that must be found;
// that is a finding of the given rule. The lines of findings are those of the diff. The whole scan ends at the deadline, as InDiff does.
func InPackedDiff(deadline time.Time, diff []byte, rule string, holds func(content []byte) bool) []Finding {
	if deadline.IsZero() {
		deadline = time.Now().Add(maxScanTime)
	}
	for p, err := range Unpack(diff) {
		switch {
		case err != nil:
			return []Finding{{RulePacked, p.Line}}
		case holds(p.Content):
			return []Finding{{rule, p.Line}}
		}
		if found := InPacked(deadline, p.Path, p.Content); len(found) > 0 {
			return []Finding{{found[0].RuleID, p.Line}}
		}
	}
	return nil
}
