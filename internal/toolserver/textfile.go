// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// readText reads a file that is to be changed: a regular file of at most toolapi.MaxFileBytes, UTF-8 without NUL. name is
// its path as the model gave it. A file that is reached by a link of its own is refused, because what replaces a link
// would not be where the reader of the link looks.
func (w *workspace) readText(local, name string) (string, fs.FileInfo, error) {
	file, info, err := w.openFile(local, os.O_RDONLY)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		if target, linkErr := w.root.Readlink(local); linkErr == nil {
			err = &pathError{toolapi.CodeInvalidArguments, fmt.Sprintf(
				"%s is a symbolic link to %s, and links are not changed. Give the path of the file itself.", display(name), display(target))}
		}
	}
	if file != nil {
		defer file.Close()
	}
	if err != nil {
		return "", nil, err
	}
	if info.IsDir() {
		return "", nil, syscall.EISDIR
	}
	// What is read counts, and not the size that the file says it has: it may grow meanwhile.
	content, err := io.ReadAll(io.LimitReader(file, toolapi.MaxFileBytes+1))
	if err != nil {
		return "", nil, err
	}
	if len(content) > toolapi.MaxFileBytes {
		return "", nil, &pathError{toolapi.CodeTooLarge, fmt.Sprintf(
			"%s has more than %d MiB, the most that is changed at once. Use bash (sed) or code.", display(name), toolapi.MaxFileBytes>>20)}
	}
	var check textCheck
	if !check.text(content) || !check.ended() {
		sum := sha256.Sum256(content)
		return "", nil, &pathError{toolapi.CodeNotText, fmt.Sprintf("%s is not UTF-8 text: %s. Use bash or code to change it.",
			display(name), describeBinary(content, int64(len(content)), hex.EncodeToString(sum[:])))}
	}
	return string(content), info, nil
}

// splitLines are the lines of a text, each with its newline if it has one.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := make([]string, 0, strings.Count(text, "\n")+1)
	for line := range strings.Lines(text) {
		lines = append(lines, line)
	}
	return lines
}

// lineAt is the number of the line, from 1, that holds the byte at offset.
func lineAt(text string, offset int) int { return strings.Count(text[:offset], "\n") + 1 }

// squeeze leaves all white space out.
func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

const (
	// shownLineBytes is the most of one line in an excerpt.
	shownLineBytes = 200
	// shownLines is the most lines of an excerpt.
	shownLines = 16
)

// excerpt shows the lines first to last of a text, numbered from 1; what lies beyond its ends is left out, and so is the
// middle of many lines.
func excerpt(lines []string, first, last int) string {
	first, last = max(1, first), min(last, len(lines))
	var b strings.Builder
	for n := first; n <= last; n++ {
		if last-first >= shownLines && n == first+shownLines/2 {
			next := last - shownLines/2 + 1
			fmt.Fprintf(&b, "       … %d lines …\n", next-n)
			n = next
		}
		b.WriteString(numbered(n, shownLine(lines[n-1])) + "\n")
	}
	return b.String()
}

// shownLine is a line in an excerpt or a message: clean, without its end, and not too long.
func shownLine(line string) string {
	line = strings.TrimRight(line, "\r\n")
	shown := bound(firstBytes(line, shownLineBytes), shownLineBytes)
	if len(shown) < len(line) && len(line) > shownLineBytes {
		return shown + "…"
	}
	return shown
}

// lineNumbers are the first few of the numbers of lines, for a message.
func lineNumbers(numbers []int) string {
	const most = 5
	var b strings.Builder
	for i, n := range numbers[:min(most, len(numbers))] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	if len(numbers) > most {
		fmt.Fprintf(&b, " and %d more", len(numbers)-most)
	}
	return b.String()
}
