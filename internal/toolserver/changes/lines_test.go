// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/test/worst"
)

func TestHunks(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ before, after, want string }{
		"one line":         {"a\nb\nc\nd\ne\nf\ng\nh\n", "a\nb\nc\nd\nE\nf\ng\nh\n", "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h\n"},
		"of nothing":       {"", "a\n", "@@ -0,0 +1,1 @@\n+a\n"},
		"to nothing":       {"a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"},
		"no line break":    {"a", "b", "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
		"behind the end":   {"a\nb\n", "a\nb\nc\n", "@@ -1,2 +1,3 @@\n a\n b\n+c\n"},
		"before the start": {"a\nb\n", "z\na\nb\n", "@@ -1,2 +1,3 @@\n+z\n a\n b\n"},
		"no difference":    {"a\n", "a\n", ""},
	} {
		var b bytes.Buffer
		if writeHunks(&b, []byte(tt.before), []byte(tt.after)); b.String() != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, b.String(), tt.want)
		}
	}
}

// A change of many lines all over a file is shown line by line, though one search would give up on so many.
func TestManyChangesAreShownOneByOne(t *testing.T) {
	t.Parallel()
	before, after := numbered(4000, nil), strings.ReplaceAll(numbered(4000, nil), "7\n", "seven\n")
	var b bytes.Buffer
	writeHunks(&b, []byte(before), []byte(after))
	if n := strings.Count(b.String(), "\n-"); n != 400 {
		t.Errorf("%d lines are shown as deleted, and 400 changed", n)
	}
}

// TestWorst has no two texts of the allowed size take long, or much memory.
func TestWorst(t *testing.T) {
	numbers := func(from, step int) string {
		var b strings.Builder
		for i := from; b.Len() < MaxFileBytes-16; i += step {
			fmt.Fprintln(&b, i)
		}
		return b.String()
	}
	cycle := func(lines ...string) string {
		return strings.Repeat(strings.Join(lines, "\n")+"\n", MaxFileBytes/(2*len(lines)))
	}
	for name, tt := range map[string]struct{ before, after string }{
		"no line in common":    {numbers(0, 2), numbers(1, 2)},
		"every other line":     {numbers(0, 1), numbers(0, 2)},
		"lines of one byte":    {strings.Repeat("a\n", MaxFileBytes/2), strings.Repeat("b\n", MaxFileBytes/2)},
		"empty lines":          {strings.Repeat("\n", MaxFileBytes), strings.Repeat("\n", MaxFileBytes-1)},
		"two kinds of lines":   {cycle("a", "b"), cycle("b", "a", "a")},
		"few lines, reordered": {cycle("a", "b", "c", "d", "e"), cycle("e", "d", "c", "b", "a")},
		"as many as compared":  {strings.Repeat("a\nb\n", maxCompared/2), strings.Repeat("b\na\na\n", maxCompared/3)},
		"all but compared":     {numbersUpTo(maxCompared, 1), numbersUpTo(maxCompared, 3)},
		"one line":             {strings.Repeat("a", MaxFileBytes), strings.Repeat("b", MaxFileBytes)},
		"one long beginning":   {strings.Repeat("a", MaxFileBytes-2) + "\n", strings.Repeat("a", MaxFileBytes-2) + "b\n"},
	} {
		worst.Within(t, name, worst.Cost{Stack: worst.Race * 4 << 20, Heap: worst.Race * 128 << 20, Time: 10 * time.Second}, func() {
			var b bytes.Buffer
			writeHunks(&b, []byte(tt.before), []byte(tt.after))
		})
	}
	random := make([]byte, maxBinaryBytes)
	for i := range random {
		random[i] = byte(i * i >> 3)
	}
	worst.Within(t, "binary", worst.Cost{Stack: worst.Race * 1 << 20, Heap: worst.Race * 8 << 20, Time: 5 * time.Second}, func() {
		var b bytes.Buffer
		writeLiteral(&b, random)
	})
}

// numbersUpTo has lines of which every other one is in each such text.
func numbersUpTo(n, step int) string {
	var b strings.Builder
	for i := range n {
		if i%2 == 0 {
			fmt.Fprintln(&b, i)
		} else {
			fmt.Fprintln(&b, i*step, "of", step)
		}
	}
	return b.String()
}
