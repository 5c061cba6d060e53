// SPDX-License-Identifier: Apache-2.0

// Package markdown formats the pages that are generated.
package markdown

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Columns is the most that a line of a page has, but for lines that cannot be broken: code blocks, tables, headings and long words.
const Columns = 120

var (
	fence = regexp.MustCompile("^\\s*(```+|~~~+)")
	item  = regexp.MustCompile(`^(\s*(?:[-*+]|\d+[.)])\s+)(.*)$`)
	// word keeps a code span together: a line break in one would be a space of it.
	word = regexp.MustCompile("(?:`[^`]*`|[^\\s`])+")
	// marker is a word that would begin an item, a heading, a quote or a table if it began a line.
	marker = regexp.MustCompile(`^(?:[-+*]$|[>|#]|\d+[.)]$)`)
)

// Wrap breaks the paragraphs and items of a page into lines of at most Columns. Everything else stays as it is.
func Wrap(page string) string {
	var w wrapper
	for line := range strings.SplitSeq(page, "\n") {
		w.line(line)
	}
	w.flush()
	return strings.Join(w.out, "\n")
}

// wrapper collects a paragraph until its end, with what its first line and the others begin with.
type wrapper struct {
	out         []string
	words       []string
	first, rest string
	inFence     string
}

func (w *wrapper) line(line string) {
	text := strings.TrimSpace(line)
	if w.inFence != "" {
		w.out = append(w.out, line)
		if strings.HasPrefix(text, w.inFence) {
			w.inFence = ""
		}
		return
	}
	if m := fence.FindStringSubmatch(line); m != nil {
		w.flush()
		w.inFence, w.out = m[1], append(w.out, line)
		return
	}
	if text == "" || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "|") || strings.HasPrefix(text, "<") {
		w.flush()
		w.out = append(w.out, line)
		return
	}
	if m := item.FindStringSubmatch(line); m != nil {
		w.flush()
		w.first, w.rest, text = m[1], strings.Repeat(" ", len(m[1])), m[2]
	} else if len(w.words) == 0 {
		w.first = line[:len(line)-len(strings.TrimLeft(line, " "))]
		w.rest = w.first
	}
	w.words = append(w.words, word.FindAllString(text, -1)...)
}

// flush writes the paragraph that was collected.
func (w *wrapper) flush() {
	if len(w.words) == 0 {
		return
	}
	line := w.first + w.words[0]
	for _, next := range w.words[1:] {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(next) > Columns && !marker.MatchString(next) {
			w.out = append(w.out, line)
			line = w.rest + next
			continue
		}
		line += " " + next
	}
	w.out = append(w.out, line)
	w.words = nil
}
