// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEachRowOfAForeignTextHasAMark(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":                   {"| "},
		"a":                  {"| a"},
		"a\n\nDigest: x\r\n": {"| a", "| ", "| Digest: x", "| "},
		"a\u2028b\rc":        {"| a\uFFFDb\uFFFDc"},
		"0123456789ab":       {"| 0123456789", "|… ab"},
		"  0123456789":       {"|   01234567", "|… 89"},
		"ääääää":             {"| äääää", "|… ä"},
	} {
		if got := Rows(in, 12); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A window that wraps a row by itself shows the rest of it without a mark. Nothing may push words there.
func TestARowFitsAWindow(t *testing.T) {
	t.Parallel()
	for _, padding := range []string{"\u00a0", "\u3000", " ", "\t", "x", "漢", "é"} {
		in := "Which?" + strings.Repeat(padding, 92) + "Digest: sha256:1"
		for _, row := range Rows(in, 1000) {
			columns := 0
			for _, c := range row {
				columns += columnsOf(c)
			}
			if columns > maxColumns || !strings.HasPrefix(row, "|") || strings.ContainsAny(row, "\u00a0\u3000") {
				t.Errorf("%q: a row of %d columns: %q", padding, columns, row)
			}
		}
	}
}

func TestRowsLoseNothing(t *testing.T) {
	t.Parallel()
	in := strings.Repeat("é漢 x", 1000) + "\n" + strings.Repeat("y", 1000)
	var back strings.Builder
	for i, row := range Rows(in, 40) {
		rest, whole := strings.CutPrefix(row, rowMark)
		if !whole {
			rest = strings.TrimPrefix(row, restMark)
		} else if i > 0 {
			back.WriteString("\n")
		}
		back.WriteString(rest)
		if len(row) > 40 || !utf8.ValidString(row) {
			t.Fatalf("a row of %d bytes: %q", len(row), row)
		}
	}
	if back.String() != in {
		t.Error("something is lost")
	}
}
