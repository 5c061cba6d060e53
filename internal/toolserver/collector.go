// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
)

// maxSpillBytes is the most of one call's output that is kept in the workspace.
const maxSpillBytes = 16 << 20

// collector takes in any amount of clean text in bounded memory. It keeps the first and the last bytes and, once there
// are more than fit into a result, writes everything to a file. It is not for concurrent use.
type collector struct {
	limit     int
	openSpill func() (io.WriteCloser, error)

	head  []byte // the first limit bytes
	tail  []byte // at least the last limit bytes, at most twice as many
	total int64

	spill      io.WriteCloser
	closed     bool // of spill
	spilled    int64
	spillError error
}

func newCollector(limit int, openSpill func() (io.WriteCloser, error)) *collector {
	return &collector{limit: limit, openSpill: openSpill}
}

// Write takes in all of p and never fails: a program must not be stopped because its output cannot be kept.
func (c *collector) Write(p []byte) (int, error) {
	c.total += int64(len(p))
	if c.spill == nil && c.total > int64(c.limit) {
		c.startSpill()
	}
	c.toSpill(p)
	if free := c.limit - len(c.head); free > 0 {
		c.head = append(c.head, p[:min(free, len(p))]...)
	}
	c.tail = append(c.tail, p[max(0, len(p)-c.limit):]...)
	if len(c.tail) > 2*c.limit {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-c.limit:]...)
	}
	return len(p), nil
}

// startSpill opens the file and writes what came before. The head is complete then: it has room for limit bytes.
func (c *collector) startSpill() {
	if c.spillError != nil {
		return
	}
	if c.spill, c.spillError = c.openSpill(); c.spillError != nil {
		c.spill = nil
		return
	}
	c.toSpill(c.head)
}

func (c *collector) toSpill(p []byte) {
	if c.spill == nil || c.spillError != nil || c.spilled >= maxSpillBytes {
		return
	}
	free := maxSpillBytes - c.spilled
	kept := plaintext.First(string(p), int(min(free, int64(len(p)))))
	if _, c.spillError = io.WriteString(c.spill, kept); c.spillError != nil {
		return
	}
	c.spilled += int64(len(kept))
	if len(kept) < len(p) {
		c.spilled = maxSpillBytes // A shorter rune that still fits would not follow on what is there.
	}
}

// finish gives the output, cut in the middle if it does not fit, followed by a value; the notes, with one that says where the output is if
// it is cut; and whether the file holds it. path is the name by which the file is told to the reader. All has at most the limit.
func (c *collector) finish(path, value, notes string) (data, allNotes string, kept bool) {
	notes = plaintext.First(notes, c.limit)
	value = plaintext.First(value, c.limit-len(notes))
	if c.total+int64(len(value)+len(notes)+c.joins(value, notes)) <= int64(c.limit) {
		return c.withValue(string(c.head), value), notes, false // There is no file: it is begun when the text outgrows the limit.
	}
	if c.spill == nil {
		c.startSpill()
	}
	kept = c.closeSpill()
	notes = c.note(path, kept) + notes
	if len(notes) > c.limit/2 {
		notes = plaintext.First(notes, c.limit/2)
	}
	room := c.limit - len(value) - len(notes) - len(c.gap(c.total)) - 2
	head := wholeLines(plaintext.First(string(c.head), room/2))
	tail := fromLine(plaintext.Last(string(c.tail), room-room/2))
	gap := c.gap(c.total - int64(len(head)+len(tail)))
	if strings.HasSuffix(head, "\n") {
		gap = gap[1:]
	}
	return plaintext.First(c.withValue(head+gap+tail, value), c.limit-len(notes)-1), notes, kept
}

// joins is how many line ends are added between the parts.
func (c *collector) joins(value, notes string) (n int) {
	if len(c.tail) > 0 && c.tail[len(c.tail)-1] != '\n' && value+notes != "" {
		n++
	}
	if value != "" && notes != "" && !strings.HasSuffix(value, "\n") {
		n++
	}
	return n
}

// withValue puts a value on a line of its own behind the text.
func (c *collector) withValue(text, value string) string {
	if value == "" {
		return text
	}
	return plaintext.EndLine(text) + value
}

// gap stands where something is left out.
func (c *collector) gap(left int64) string { return fmt.Sprintf("\n… %d bytes left out …\n", left) }

// note says where what is left out can be found.
func (c *collector) note(path string, kept bool) string {
	switch {
	case kept && c.total > c.spilled:
		return fmt.Sprintf("[output cut: the first %d MiB of it are in the workspace file %q]\n", maxSpillBytes>>20, path)
	case kept:
		return fmt.Sprintf("[output cut: all of it is in the workspace file %q]\n", path)
	case errors.Is(c.spillError, syscall.ENOSPC) || errors.Is(c.spillError, syscall.EDQUOT):
		return "[output cut: what is left out is lost, because the workspace is full]\n"
	default:
		return fmt.Sprintf("[output cut: what is left out is lost, because %q cannot be written]\n", path)
	}
}

// wholeLines is the beginning of a text without a last line that is cut, unless that takes half of it.
func wholeLines(head string) string {
	if i := strings.LastIndexByte(head, '\n') + 1; i > len(head)/2 {
		return head[:i]
	}
	return head
}

// fromLine is the end of a text without a first line that is cut, unless that takes half of it.
func fromLine(tail string) string {
	if i := strings.IndexByte(tail, '\n') + 1; i < len(tail)/2 {
		return tail[i:]
	}
	return tail
}

// closeSpill says whether there is a file that holds the output. Nothing is written afterwards.
func (c *collector) closeSpill() bool {
	if c.spill == nil || c.closed {
		return c.spill != nil && c.spillError == nil
	}
	c.closed = true
	if c.spillError == nil && c.total > c.spilled {
		_, c.spillError = io.WriteString(c.spill, "\n… the output went on; the rest was not kept …\n")
	}
	if err := c.spill.Close(); c.spillError == nil {
		c.spillError = err
	}
	return c.spillError == nil
}
