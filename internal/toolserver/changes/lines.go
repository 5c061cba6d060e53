// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

const (
	// contextLines is how many lines are shown around a change.
	contextLines = 3
	// maxCompared is how many lines of each side are compared one by one, between what both sides begin and end with. A side with more
	// is replaced there.
	maxCompared = 20_000
	// maxEffort bounds the repeated comparisons of one file, in lines: each looks at a line some hundred times at most.
	maxEffort = 200_000
)

// edit replaces the lines from Start to End of the former content with those from ReplStart to ReplEnd of the present one.
type edit = lcs.Diff

// writeHunks writes how a text became another one, as a unified diff.
func writeHunks(b *bytes.Buffer, before, after []byte) {
	old, now := splitLines(string(before)), splitLines(string(after))
	all := edits(old, now)
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Start-all[n-1].End <= 2*contextLines {
			n++
		}
		writeHunk(b, old, now, all[:n])
		all = all[n:]
	}
}

// writeHunk writes edits that are so near to each other that all lines between them are shown.
func writeHunk(b *bytes.Buffer, old, now []string, near []edit) {
	first, last := near[0], near[len(near)-1]
	from, to := max(0, first.Start-contextLines), min(len(old), last.End+contextLines)
	nowFrom, nowTo := first.ReplStart-(first.Start-from), last.ReplEnd+(to-last.End)
	fmt.Fprintf(b, "@@ -%s +%s @@\n", span(from, to), span(nowFrom, nowTo))
	at := from
	for _, e := range near {
		writeLines(b, ' ', old[at:e.Start])
		writeLines(b, '-', old[e.Start:e.End])
		writeLines(b, '+', now[e.ReplStart:e.ReplEnd])
		at = e.End
	}
	writeLines(b, ' ', old[at:to])
}

// span is a range of lines as a hunk names it: one without lines by the line before it.
func span(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(b *bytes.Buffer, kind byte, lines []string) {
	for _, line := range lines {
		b.WriteByte(kind)
		b.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// splitLines returns the lines of a text with their line ends.
func splitLines(text string) []string {
	lines := make([]string, 0, strings.Count(text, "\n")+1)
	for line := range strings.Lines(text) {
		lines = append(lines, line)
	}
	return lines
}

// edits are what makes now of old, in their order, with a line in common between any two.
func edits(old, now []string) []edit {
	head := 0
	for head < len(old) && head < len(now) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(now)-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	effort := maxEffort
	return compare(old[head:len(old)-tail], now[head:len(now)-tail], edit{Start: head, ReplStart: head}, &effort)
}

// compare returns the edits of two parts, which begin at the position at. On parts with many differences the search stops after its matches
// at both ends. So the middle is searched again, as long as that finds something.
func compare(old, now []string, at edit, effort *int) []edit {
	whole := edit{Start: at.Start, End: at.Start + len(old), ReplStart: at.ReplStart, ReplEnd: at.ReplStart + len(now)}
	switch {
	case len(old) == 0 && len(now) == 0:
		return nil
	case len(old) == 0, len(now) == 0, len(old) > maxCompared, len(now) > maxCompared, *effort <= 0:
		return []edit{whole}
	}
	*effort -= len(old) + len(now)
	found := lcs.DiffLines(old, now)
	if len(found) == 1 {
		return []edit{whole}
	}
	var all []edit
	for _, d := range found {
		all = append(all, compare(old[d.Start:d.End], now[d.ReplStart:d.ReplEnd],
			edit{Start: at.Start + d.Start, ReplStart: at.ReplStart + d.ReplStart}, effort)...)
	}
	return all
}
