// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

const (
	// rowMark begins each row of a text of another author, and restMark each further piece of a row that is longer than fits.
	rowMark, restMark = "| ", "|… "
	// RowsMean explains the marks to a reader.
	RowsMean = `Rows that begin with "|" are texts of the run. "|…" goes on with the row before.`
)

// maxColumns is the most columns of a row: a window that is narrower wraps it itself, and the next row on the screen has no mark then. tabColumns is how many a
// tab has.
const maxColumns, tabColumns = 80, 8

// Rows returns a text of another author in rows of at most so many bytes and 80 columns, each with a mark: none of them can be taken for a row of the one who
// shows it. Nothing is left out but for what Shown replaces, and each kind of space is the plain one. most must have room for a mark and a character.
func Rows(s string, most int) []string {
	var rows []string
	for row := range strings.SplitSeq(plainSpaces(Shown(s)), "\n") {
		mark := rowMark
		for {
			piece := firstColumns(FirstBytes(row, most-len(mark)), maxColumns-utf8.RuneCountInString(mark))
			rows = append(rows, mark+piece)
			if row = row[len(piece):]; row == "" {
				break
			}
			mark = restMark
		}
	}
	return rows
}

// plainSpaces replaces spaces at which a window does not break a row, or that are wider than others.
func plainSpaces(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.Is(unicode.Zs, c) {
			return ' '
		}
		return c
	}, s)
}

// firstColumns returns what at most so many columns have room for, and one character at least.
func firstColumns(s string, most int) string {
	used := 0
	for i, c := range s {
		if used += columnsOf(c); used > most && i > 0 {
			return s[:i]
		}
	}
	return s
}

// columnsOf is how wide a character is.
func columnsOf(c rune) int {
	if c == '\t' {
		return tabColumns
	}
	switch width.LookupRune(c).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	case width.Neutral, width.EastAsianAmbiguous, width.EastAsianHalfwidth, width.EastAsianNarrow:
	}
	return 1
}
