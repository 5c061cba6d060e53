// SPDX-License-Identifier: Apache-2.0

// Package show makes texts of models, tools and pages fit for a terminal. Printed as they are, they could move the cursor, hide a part of
// themselves, or look like words of this program.
package show

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"motorcortex.dev/motorcortex/internal/runpolicy/calls"
	"motorcortex.dev/motorcortex/internal/text"
)

// Text is a text with line breaks and tabs. Every other character that could deceive the eye is escaped.
func Text(s string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.ToValidUTF8(s, "\uFFFD")) {
		line, broken := strings.CutSuffix(line, "\n")
		for i, part := range strings.Split(line, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(calls.Visible(part))
		}
		if broken {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Line is the beginning of a text in one line of at most size bytes.
func Line(s string, size int) string {
	return text.Line(calls.Visible(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")), size)
}

// unwrapped is a writer to something that divides no lines.
type unwrapped struct{ io.Writer }

// Unwrapped is a writer to a file or a pipe: Block writes each line of a text as one there, so that a command in it can be copied.
func Unwrapped(w io.Writer) io.Writer { return unwrapped{w} }

// Block writes a text with something before each line, by which a reader tells it from the words of this program.
func Block(w io.Writer, before, s string) {
	_, whole := w.(unwrapped)
	for line := range strings.Lines(Text(s)) {
		if whole {
			fmt.Fprintf(w, "%s%s\n", before, strings.TrimSuffix(line, "\n"))
			continue
		}
		for row := range rows(strings.TrimSuffix(line, "\n")) {
			fmt.Fprintf(w, "%s%s\n", before, row)
		}
	}
}

// Output is Block of what a program wrote. Its lines may end as those of Windows and of terminals do.
func Output(w io.Writer, before, s string) { Block(w, before, strings.ReplaceAll(s, "\r\n", "\n")) }

// rowWidth is how many characters of a line stand in one row. A terminal would begin the next row without the mark.
const rowWidth = 100

// rows cuts a line into rows: between words, or within one that is longer than a row. Together they have every character of the line. An empty line is
// one.
func rows(line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		characters := []rune(line)
		for len(characters) > rowWidth {
			end := rowWidth
			for i := rowWidth; i > 0; i-- {
				if characters[i-1] == ' ' {
					end = i
					break
				}
			}
			if strings.TrimSpace(string(characters[:end])) == "" {
				end = rowWidth // The line begins with blanks, and a long word follows.
			}
			if !yield(string(characters[:end])) {
				return
			}
			characters = characters[end:]
		}
		yield(string(characters))
	}
}

// Table writes rows below a header, as kubectl does.
func Table(w io.Writer, header []string, rows [][]string) {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush() // A strings.Builder takes everything.
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

// Since is how long ago an instant was, "" for none.
func Since(now time.Time, t metav1.Time) string {
	if t.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(t.Time))
}

// Until is how long it is until an instant, "" for none and "now" for one that is over.
func Until(now time.Time, t metav1.Time) string {
	switch {
	case t.IsZero():
		return ""
	case !t.After(now):
		return "now"
	}
	return duration.HumanDuration(t.Sub(now))
}

// Expiry is Until as the end of a sentence, "" for none.
func Expiry(now time.Time, t metav1.Time) string {
	switch left := Until(now, t); left {
	case "":
		return ""
	case "now":
		return ", its time is over"
	default:
		return ", expires in " + left
	}
}

// Size is how much a text has: a call whose beginning left the screen is longer than what a person sees.
func Size(s string) string {
	lines := strings.Count(s, "\\n") + strings.Count(s, "\n") + 1
	if lines == 1 {
		return fmt.Sprintf("one line, %d bytes", len(s))
	}
	return fmt.Sprintf("%d lines, %d bytes", lines, len(s))
}
