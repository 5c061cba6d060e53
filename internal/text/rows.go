// SPDX-License-Identifier: Apache-2.0

package text

import "strings"

const (
	// rowMark begins each row of a text of another author, and restMark each further piece of a row that is longer than fits.
	rowMark, restMark = "| ", "|… "
	// RowsMean explains the marks to a reader.
	RowsMean = `Rows that begin with "|" are texts of the run. "|…" goes on with the row before.`
)

// Rows returns a text of another author in rows of at most so many bytes, each with a mark: none of them can be taken for a row of the one who shows it.
// Nothing is left out but for what Shown replaces. most must have room for a mark and a character.
func Rows(s string, most int) []string {
	var rows []string
	for row := range strings.SplitSeq(Shown(s), "\n") {
		mark := rowMark
		for {
			piece := FirstBytes(row, most-len(mark))
			rows = append(rows, mark+piece)
			if row = row[len(piece):]; row == "" {
				break
			}
			mark = restMark
		}
	}
	return rows
}
