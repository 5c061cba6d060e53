// SPDX-License-Identifier: Apache-2.0

//go:build linux

package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
)

// memoryFile is a spill file in memory.
type memoryFile struct {
	content []byte
	closed  bool
	err     error
}

func (f *memoryFile) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	f.content = append(f.content, p...)
	return len(p), nil
}

func (f *memoryFile) Close() error {
	f.closed = true
	return nil
}

func (f *memoryFile) open() (io.WriteCloser, error) { return f, nil }

func TestCollector(t *testing.T) {
	const limit = 400
	tests := map[string]struct {
		text, trailer string
		whole         bool
	}{
		"empty":                     {"", "", true},
		"only a trailer":            {"", "[exit status 1]\n", true},
		"short":                     {"hello\n", "", true},
		"short with a trailer":      {"hello", "[exit status 1]\n", true},
		"just fits":                 {strings.Repeat("x", limit), "", true},
		"one too many":              {strings.Repeat("x", limit+1), "", false},
		"just fits but the trailer": {strings.Repeat("x", limit), "[exit status 1]\n", false},
		"long":                      {strings.Repeat("0123456789\n", 1000), "[timeout]\n", false},
		"runes":                     {strings.Repeat("é€𝄞", 1000), "", false},
		"long trailer":              {"x", strings.Repeat("t", 2*limit), false},
	}
	for name, test := range tests {
		for _, chunk := range []int{1, 7, 100, 1 << 20} {
			t.Run(fmt.Sprintf("%s by %d", name, chunk), func(t *testing.T) {
				file := &memoryFile{}
				c := NewCollector(limit, file.open)
				text := &plaintext.Writer{To: c}
				for rest := test.text; rest != ""; {
					n := min(chunk, len(rest))
					if _, err := io.WriteString(text, rest[:n]); err != nil {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
				if err := text.Close(); err != nil {
					t.Fatal(err)
				}
				out, notes, kept := c.finish("file.txt", "", test.trailer)
				if out != "" && notes != "" {
					out = plaintext.EndLine(out)
				}
				data := out
				out += notes
				if len(out) > limit || !utf8.ValidString(out) || kept == test.whole {
					t.Fatalf("%d bytes, kept %v: %q", len(out), kept, out)
				}
				if test.whole {
					if !strings.HasPrefix(out, test.text) || !strings.HasSuffix(out, test.trailer) {
						t.Errorf("%q", out)
					}
					return
				}
				if string(file.content) != test.text || !file.closed {
					t.Errorf("the file has %d bytes of %d", len(file.content), len(test.text))
				}
				if len(test.trailer) > limit {
					return
				}
				if notes != "[output cut: all of it is in the workspace file \"file.txt\"]\n"+test.trailer {
					t.Errorf("%q", notes)
				}
				head, rest, _ := strings.Cut(data, "\n…")
				tail := strings.TrimSuffix(rest[strings.LastIndex(rest, "…\n")+len("…\n"):], "\n")
				if lines := strings.Contains(test.text, "\n"); lines && (!strings.HasSuffix(head, "9") || !strings.HasPrefix(tail, "0")) {
					t.Errorf("cut in a line: head %q tail %q", head, tail)
				}
				if !strings.HasPrefix(test.text, head) || !strings.HasSuffix(strings.TrimSuffix(test.text, "\n"), tail) || head == "" || tail == "" {
					t.Errorf("head %q tail %q", head, tail)
				}
				var left int
				if _, err := fmt.Sscanf(rest, " %d bytes left out", &left); err != nil || left < len(test.text)-limit {
					t.Errorf("%d bytes left out, %v", left, err)
				}
			})
		}
	}
}

func TestCollectorWithoutAFile(t *testing.T) {
	for name, test := range map[string]struct {
		openErr, writeErr error
		has               string
	}{
		"cannot be made":    {openErr: errors.New("no"), has: "cannot be written"},
		"full at once":      {openErr: syscall.ENOSPC, has: "full"},
		"full after a time": {writeErr: syscall.ENOSPC, has: "full"},
	} {
		t.Run(name, func(t *testing.T) {
			file := &memoryFile{err: test.writeErr}
			c := NewCollector(300, func() (io.WriteCloser, error) {
				if test.openErr != nil {
					return nil, test.openErr
				}
				return file, nil
			})
			for range 1000 {
				if n, err := c.Write([]byte("0123456789")); n != 10 || err != nil {
					t.Fatal(n, err)
				}
			}
			out, notes, kept := c.finish("file.txt", "", "")
			if kept || !strings.Contains(notes, test.has) || len(out)+len(notes) > 300 {
				t.Errorf("kept %v: %q %q", kept, out, notes)
			}
		})
	}
}

func TestCollectorBoundsFileAndMemory(t *testing.T) {
	file := &memoryFile{}
	c := NewCollector(1000, file.open)
	chunk := []byte(strings.Repeat("€", 10000))
	for c.Total < 2*MaxSpillBytes {
		_, _ = c.Write(chunk)
	}
	_, notes, kept := c.finish("file.txt", "", "")
	if !kept || !strings.Contains(notes, "the first 16 MiB") || !utf8.Valid(file.content) {
		t.Errorf("kept %v: %q", kept, notes)
	}
	if len(file.content) < MaxSpillBytes || len(file.content) > MaxSpillBytes+200 || !strings.HasSuffix(string(file.content), "not kept …\n") {
		t.Errorf("the file has %d bytes", len(file.content))
	}
	if cap(c.Head)+cap(c.tail) > 100*1000 {
		t.Errorf("%d bytes of memory", cap(c.Head)+cap(c.tail))
	}
}

func FuzzCollector(f *testing.F) {
	f.Add([]byte("hello\n"), uint16(100), uint8(3), "")
	f.Add([]byte(strings.Repeat("é€𝄞\xff", 200)), uint16(50), uint8(1), "[exit status 1]\n")
	f.Add([]byte("\x1b[31m\x00\xf0\x9f\x92"), uint16(0), uint8(2), "x")
	f.Add([]byte(strings.Repeat("\xc3", 500)), uint16(499), uint8(255), "")
	f.Fuzz(func(t *testing.T, raw []byte, limit uint16, chunk uint8, trailer string) {
		file := &memoryFile{}
		c := NewCollector(int(limit), file.open)
		text := &plaintext.Writer{To: c}
		for rest := raw; len(rest) > 0; {
			n := min(int(chunk)+1, len(rest))
			_, _ = text.Write(rest[:n])
			rest = rest[n:]
		}
		_ = text.Close()
		value, notes, _ := strings.Cut(plaintext.Clean(trailer), "|")
		out, notes, kept := c.finish("file.txt", value, notes)
		if out != "" && notes != "" {
			out = plaintext.EndLine(out)
		}
		out += notes
		var whole bytes.Buffer
		once := &plaintext.Writer{To: &whole}
		_, _ = once.Write(raw)
		_ = once.Close()
		clean := whole.String()
		if len(out) > int(limit) || !utf8.ValidString(out) {
			t.Fatalf("%d bytes of %d: %q", len(out), limit, out)
		}
		if strings.ContainsFunc(out, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) }) {
			t.Fatalf("control characters: %q", out)
		}
		if kept && string(file.content) != clean {
			t.Fatalf("the file has %q, want %q", string(file.content), clean)
		}
		if !kept && !strings.HasPrefix(out, clean) {
			t.Fatalf("%q was lost: %q", clean, out)
		}
		if c.Total != int64(len(clean)) {
			t.Fatalf("%d bytes counted, want %d", c.Total, len(clean))
		}
	})
}
