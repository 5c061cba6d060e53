// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"errors"
	"fmt"
	"io"
	"syscall"
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
	kept := firstBytes(string(p), int(min(free, int64(len(p)))))
	if _, c.spillError = io.WriteString(c.spill, kept); c.spillError != nil {
		return
	}
	c.spilled += int64(len(kept))
	if len(kept) < len(p) {
		c.spilled = maxSpillBytes // A shorter rune that still fits would not follow on what is there.
	}
}

// finish gives the output, cut in the middle if it does not fit, followed by trailer, and whether the file holds it.
// path is the name by which the file is told to the reader.
func (c *collector) finish(path, trailer string) (output string, kept bool) {
	trailer = firstBytes(trailer, c.limit)
	if trailer != "" && c.total > 0 && c.tail[len(c.tail)-1] != '\n' {
		trailer = "\n" + trailer
	}
	if c.total+int64(len(trailer)) <= int64(c.limit) {
		return string(c.head) + trailer, false // There is no file: it is begun when the text outgrows the limit.
	}
	if c.spill == nil {
		c.startSpill()
	}
	kept = c.closeSpill()
	room := c.limit - len(trailer) - len(c.note(c.total, path, kept))
	head := firstBytes(string(c.head), room/2)
	tail := lastBytes(string(c.tail), room-room/2)
	left := c.total - int64(len(head)+len(tail))
	return firstBytes(head+c.note(left, path, kept)+tail+trailer, c.limit), kept
}

func (c *collector) note(left int64, path string, kept bool) string {
	switch {
	case kept && c.total > c.spilled:
		return fmt.Sprintf("\n… %d bytes left out; the first %d MiB of the output are in %s, read it with the read tool …\n",
			left, maxSpillBytes>>20, path)
	case kept:
		return fmt.Sprintf("\n… %d bytes left out; the whole output is in %s, read it with the read tool …\n", left, path)
	case errors.Is(c.spillError, syscall.ENOSPC) || errors.Is(c.spillError, syscall.EDQUOT):
		return fmt.Sprintf("\n… %d bytes left out, and lost: the workspace is full …\n", left)
	default:
		return fmt.Sprintf("\n… %d bytes left out, and lost: %s cannot be written …\n", left, path)
	}
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
