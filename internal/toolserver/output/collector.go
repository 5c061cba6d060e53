// SPDX-License-Identifier: Apache-2.0

//go:build linux

package output

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/workspace"
)

// MaxSpillBytes is the most of one call's output that is kept in the workspace.
const MaxSpillBytes = 16 << 20

// Collector takes in any amount of clean text in bounded memory. It keeps the first and the last bytes and, once there
// are more than fit into a result, writes everything to a file. It is not for concurrent use.
type Collector struct {
	limit     int
	openSpill func() (io.WriteCloser, error)

	// Head is the first limit bytes.
	Head []byte
	tail []byte // at least the last limit bytes, at most twice as many
	// Total is how many bytes came.
	Total int64

	spill   io.WriteCloser
	closed  bool // of spill
	spilled int64
	// SpillError is why not all is in the file, nil if it is.
	SpillError error
}

// NewCollector returns one for a result of at most limit bytes. openSpill makes the file for more.
func NewCollector(limit int, openSpill func() (io.WriteCloser, error)) *Collector {
	return &Collector{limit: limit, openSpill: openSpill}
}

// Write takes in all of p and never fails: a program must not be stopped because its output cannot be kept.
func (c *Collector) Write(p []byte) (int, error) {
	c.Total += int64(len(p))
	if c.spill == nil && c.Total > int64(c.limit) {
		c.StartSpill()
	}
	c.toSpill(p)
	if free := c.limit - len(c.Head); free > 0 {
		c.Head = append(c.Head, p[:min(free, len(p))]...)
	}
	c.tail = append(c.tail, p[max(0, len(p)-c.limit):]...)
	if len(c.tail) > 2*c.limit {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-c.limit:]...)
	}
	return len(p), nil
}

// StartSpill opens the file and writes the output so far. The head is complete then: it has limit bytes.
func (c *Collector) StartSpill() {
	if c.SpillError != nil {
		return
	}
	if c.spill, c.SpillError = c.openSpill(); c.SpillError != nil {
		c.spill = nil
		return
	}
	c.toSpill(c.Head)
}

func (c *Collector) toSpill(p []byte) {
	if c.spill == nil || c.SpillError != nil || c.spilled >= MaxSpillBytes {
		return
	}
	free := MaxSpillBytes - c.spilled
	kept := plaintext.First(string(p), int(min(free, int64(len(p)))))
	if _, c.SpillError = io.WriteString(c.spill, kept); c.SpillError != nil {
		return
	}
	c.spilled += int64(len(kept))
	if len(kept) < len(p) {
		c.spilled = MaxSpillBytes // A shorter rune that still fits would not follow on the written ones.
	}
}

// finish returns three values. data is the output, cut in the middle if it does not fit, followed by a value. allNotes are the notes, with
// one about the location of the output if it is cut. kept reports whether the file holds the output. path is the file's name for the
// reader. Together they have at most the limit.
func (c *Collector) finish(path, value, notes string) (data, allNotes string, kept bool) {
	notes = plaintext.First(notes, c.limit)
	value = plaintext.First(value, c.limit-len(notes))
	if c.Total+int64(len(value)+len(notes)+c.joins(value, notes)) <= int64(c.limit) {
		return c.withValue(string(c.Head), value), notes, false // There is no file: it is begun when the text outgrows the limit.
	}
	if c.spill == nil {
		c.StartSpill()
	}
	kept = c.CloseSpill()
	notes = c.note(path, kept) + notes
	if len(notes) > c.limit/2 {
		notes = plaintext.First(notes, c.limit/2)
	}
	room := c.limit - len(value) - len(notes) - len(c.gap(c.Total)) - 2
	head := plaintext.WholeLines(plaintext.First(string(c.Head), room/2))
	tail := plaintext.FromLine(plaintext.Last(string(c.tail), room-room/2))
	gap := c.gap(c.Total - int64(len(head)+len(tail)))
	if strings.HasSuffix(head, "\n") {
		gap = gap[1:]
	}
	return plaintext.First(c.withValue(head+gap+tail, value), c.limit-len(notes)-1), notes, kept
}

// joins is how many line ends are added between the parts.
func (c *Collector) joins(value, notes string) (n int) {
	if len(c.tail) > 0 && c.tail[len(c.tail)-1] != '\n' && value+notes != "" {
		n++
	}
	if value != "" && notes != "" && !strings.HasSuffix(value, "\n") {
		n++
	}
	return n
}

// withValue puts a value on a line of its own behind the text.
func (c *Collector) withValue(text, value string) string {
	if value == "" {
		return text
	}
	return plaintext.EndLine(text) + value
}

// gap marks an omitted part.
func (c *Collector) gap(left int64) string { return fmt.Sprintf("\n… %d bytes left out …\n", left) }

// note describes where the omitted part can be found.
func (c *Collector) note(path string, kept bool) string {
	switch {
	case kept && c.Total > c.spilled:
		return fmt.Sprintf("[output cut: the first %d MiB of it are in the workspace file %q]\n", MaxSpillBytes>>20, path)
	case kept:
		return fmt.Sprintf("[output cut: all of it is in the workspace file %q]\n", path)
	case errors.Is(c.SpillError, syscall.ENOSPC) || errors.Is(c.SpillError, syscall.EDQUOT):
		return "[output cut: what is left out is lost, because the workspace is full]\n"
	default:
		return fmt.Sprintf("[output cut: what is left out is lost, because %q cannot be written]\n", path)
	}
}

// CloseSpill reports whether there is a file that holds the output. Nothing is written afterwards.
func (c *Collector) CloseSpill() bool {
	if c.spill == nil || c.closed {
		return c.spill != nil && c.SpillError == nil
	}
	c.closed = true
	if c.SpillError == nil && c.Total > c.spilled {
		_, c.SpillError = io.WriteString(c.spill, "\n… the output went on; the rest was not kept …\n")
	}
	if err := c.spill.Close(); c.SpillError == nil {
		c.SpillError = err
	}
	return c.SpillError == nil
}

// Finish sets the output of a result from the collected output, a value, and notes.
func Finish(w *workspace.Workspace, result *toolapi.Result, out *Collector, seen *plaintext.Seen, file, value, notes string) {
	if seen.IsBinary() {
		out.CloseSpill()
		if out.spill != nil {
			_ = w.Root.Remove(file) // It is the output with everything replaced that is no text.
		}
		result.SetParts(value, seen.Describe()+notes)
		return
	}
	data, notes, kept := out.finish(file, value, notes)
	result.SetParts(data, notes)
	if kept {
		result.OutputFile = file
	} else if out.spill != nil {
		_ = w.Root.Remove(file) // A part of the output only takes the space that is missing.
	}
}
