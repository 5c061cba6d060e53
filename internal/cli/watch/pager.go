// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const (
	// mark is before each row of a text that is not this program's; see show.Block.
	mark = "  | "
	// tab is what a tab takes on the screen.
	tab = "    "
	// narrow is the least width that rows are wrapped at.
	narrow = 8
)

// wrap cuts a line into rows that fit a width. A row that goes on has the mark of its line: without it a model could write a row that looks like one of
// this program's.
func wrap(line string, width int) []string {
	width = max(width, narrow)
	line = strings.ReplaceAll(line, "\t", tab)
	before := ""
	if strings.HasPrefix(line, mark) {
		before = mark
	}
	rows := strings.Split(ansi.Hardwrap(strings.TrimPrefix(line, before), width-len(before), true), "\n")
	for i := range rows {
		rows[i] = before + rows[i]
	}
	return rows
}

// wrapWords cuts a row of this program into rows that fit a width, between words where it can.
func wrapWords(row string, width int) []string {
	return strings.Split(ansi.Wrap(row, max(width, narrow), ""), "\n")
}

// fit cuts a line off that is too long.
func fit(line string, width int) string {
	return ansi.Truncate(strings.ReplaceAll(line, "\t", tab), max(width, 1), "…")
}

// pager shows a part of lines that are more than fit.
type pager struct {
	lines []string
	rows  []string
	width int
	// height is how many rows were shown last, and top the first of them.
	height, top int
	// follows says that the last row is kept in sight when lines are added, and tail that it is at present: who scrolls back reads, and is not
	// moved on by what happens.
	follows, tail bool
	// read is set when the last row was in sight.
	read bool
}

// add appends lines.
func (p *pager) add(lines ...string) {
	p.lines = append(p.lines, lines...)
	for _, line := range lines {
		p.rows = append(p.rows, wrap(line, p.width)...)
	}
}

// resize wraps the lines at another width.
func (p *pager) resize(width int) {
	if width == p.width {
		return
	}
	p.width, p.rows = width, nil
	for _, line := range p.lines {
		p.rows = append(p.rows, wrap(line, width)...)
	}
}

// window returns the rows in sight, of a height.
func (p *pager) window(height int) []string {
	p.height = max(height, 0)
	last := max(len(p.rows)-p.height, 0)
	if p.tail {
		p.top = last
	}
	p.top = min(max(p.top, 0), last)
	rows := p.rows[p.top:min(p.top+p.height, len(p.rows))]
	if p.height > 0 && p.top == last && len(p.rows) > 0 {
		p.read = true
	}
	return rows
}

// more is how many rows are below those in sight.
func (p *pager) more() int { return max(len(p.rows)-p.top-p.height, 0) }

// key scrolls, and reports whether the key is one for that.
func (p *pager) key(key string) bool {
	switch key {
	case "up":
		p.top--
	case "down":
		p.top++
	case "pgup":
		p.top -= max(p.height-1, 1)
	case "pgdown":
		p.top += max(p.height-1, 1)
	default:
		return false
	}
	last := max(len(p.rows)-p.height, 0)
	p.top = min(max(p.top, 0), last)
	p.tail = p.follows && p.top == last
	return true
}
