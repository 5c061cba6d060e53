// SPDX-License-Identifier: Apache-2.0

// Package textlines shows the lines of text files, with the numbers by which a reader can name them.
package textlines

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// shownBytes is the most of one line in an excerpt.
	shownBytes = 200
	// MaxExcerpt is the most lines of an excerpt before its middle is omitted.
	MaxExcerpt = 16
	// maxListed is how many numbers a message lists.
	maxListed = 5
)

// Split returns the lines of a text, each with its newline if it has one.
func Split(text string) []string {
	if text == "" {
		return nil
	}
	all := make([]string, 0, strings.Count(text, "\n")+1)
	for line := range strings.Lines(text) {
		all = append(all, line)
	}
	return all
}

// NumberAt returns the number of the line, from 1, that holds the byte at offset.
func NumberAt(text string, offset int) int { return strings.Count(text[:offset], "\n") + 1 }

// Squeeze leaves all white space out.
func Squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// Numbered returns a line with its number before it, as cat -n has it.
func Numbered(number int, line string) string { return fmt.Sprintf("%6d\t%s", number, line) }

// Excerpt shows the lines first to last of a text, numbered from 1. Lines beyond its ends are omitted, and so is the middle of many lines,
// if it has two or more: the mark takes a line itself.
func Excerpt(all []string, first, last int) string {
	first, last = max(1, first), min(last, len(all))
	var b strings.Builder
	for n := first; n <= last; n++ {
		if last-first > MaxExcerpt && n == first+MaxExcerpt/2 {
			next := last - MaxExcerpt/2 + 1
			fmt.Fprintf(&b, "       … %d lines …\n", next-n)
			n = next
		}
		b.WriteString(Numbered(n, Shown(all[n-1])) + "\n")
	}
	return b.String()
}

// Shown returns a line for an excerpt or a message: at most 200 bytes of it, without its line end. It removes control characters, which
// could hide or fake text on a terminal.
func Shown(line string) string {
	line = strings.TrimRight(line, "\r\n")
	shown := first(clean(first(line, shownBytes)), shownBytes)
	if len(shown) < len(line) && len(line) > shownBytes {
		return shown + "…"
	}
	return shown
}

// List returns the first few of the numbers of lines, for a message.
func List(numbers []int) string {
	var b strings.Builder
	for i, n := range numbers[:min(maxListed, len(numbers))] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	if len(numbers) > maxListed {
		fmt.Fprintf(&b, " and %d more", len(numbers)-maxListed)
	}
	return b.String()
}

// clean replaces control characters but tabs, and bytes that are no UTF-8.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' {
			return utf8.RuneError
		}
		return r
	}, text)
}

// first returns the longest beginning of a text that has at most n bytes and cuts no rune.
func first(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
