// SPDX-License-Identifier: Apache-2.0

package plaintext

import (
	"bytes"
	"strings"
	"testing"
)

func TestEscapesAreLeftOut(t *testing.T) {
	long := strings.Repeat("x", 2*maxEscape)
	for name, test := range map[string]struct{ raw, want string }{
		"none":                {"a\nb\n", "a\nb\n"},
		"colours":             {"\x1b[1;31mred\x1b[0m and \x1b[38;5;4mblue\x1b[m\n", "red and blue\n"},
		"cursor":              {"a\x1b[2K\x1b[1G\x1b[?25lb", "ab"},
		"title":               {"\x1b]0;title\aa\x1b]2;title\x1b\\b", "ab"},
		"link":                {"\x1b]8;;https://example.org\x1b\\text\x1b]8;;\x1b\\", "text"},
		"charset":             {"\x1b(Ba\x1b)0b\x1b=c\x1bMd", "abcd"},
		"not ended by a line": {"\x1b]0;title\nnext\n", "\nnext\n"},
		"not ended":           {"\x1b]" + long, long[:len(long)-maxEscape+2]},
		"two begin":           {"\x1b\x1b[31ma", "a"},
		"broken":              {"\x1b[3é", "é"},
		"at the end":          {"a\x1b[3", "a"},
	} {
		for _, piece := range []int{1, 2, 1 << 20} {
			var out bytes.Buffer
			c := &Writer{To: &out}
			for rest := test.raw; rest != ""; {
				n := min(piece, len(rest))
				_, _ = c.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			_ = c.Close()
			if out.String() != test.want {
				t.Errorf("%s by %d: %.100q, want %.100q", name, piece, out.String(), test.want)
			}
		}
	}
}

func TestSeenTellsBinaryFromText(t *testing.T) {
	for name, test := range map[string]struct {
		raw    string
		binary bool
	}{
		"nothing":         {"", false},
		"text":            {"é€\n", false},
		"an old encoding": {"Stra\xdfe und K\xe4se\n", false},
		"names with NUL":  {"first.txt\x00second.txt\x00", false},
		"colours":         {"\x1b[31mred\x1b[0m", false},
		"a manual":        {"N\bNA\bAM\bME\bE\n", false},
		"a picture":       {"\x89PNG\r\n\x1a\n\x00\x00\x00\r", true},
		"wide characters": {"h\x00i\x00", true},
	} {
		c := &Writer{To: new(bytes.Buffer)}
		for i := range len(test.raw) {
			_, _ = c.Write([]byte{test.raw[i]})
		}
		_ = c.Close()
		if got := c.Seen.IsBinary(); got != test.binary {
			t.Errorf("%s: %t, %d of %d", name, got, c.Seen.odd, c.Seen.total)
		}
	}
}
