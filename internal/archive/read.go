// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Verify checks a whole chain, and that its head is wantHead unless that is empty. The error is a *BrokenLink if the
// chain does not hold, and any other if it could not be read. The input may be anything; it is read line by line.
func Verify(r io.Reader, wantHead string) error {
	_, err := Read(r, wantHead)
	return err
}

// Read checks a chain as Verify does and returns its content.
func Read(r io.Reader, wantHead string) (Manifest, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	c := checker{prev: Genesis, held: Manifest{Steps: map[string]string{}}}
	var buf []byte
	for {
		var err error
		buf, err = readLine(in, buf)
		switch {
		case errors.Is(err, io.EOF) && len(buf) == 0:
			return c.end(wantHead)
		case errors.Is(err, io.EOF):
			return Manifest{}, c.broken(buf, "it has no line feed at its end: the file was cut off here")
		case errors.Is(err, errTooLong):
			return Manifest{}, c.broken(nil, fmt.Sprintf("it has more than %d bytes: the manager writes no such line", MaxLine))
		case err != nil:
			return Manifest{}, fmt.Errorf("read line %d: %w", c.lines+1, err)
		}
		if err := c.next(buf[:len(buf)-1]); err != nil {
			return Manifest{}, err
		}
	}
}

var errTooLong = errors.New("the line is too long")

// readLine reads up to and with the next line feed, into buf if it is large enough.
func readLine(in *bufio.Reader, buf []byte) ([]byte, error) {
	buf = buf[:0]
	for {
		part, err := in.ReadSlice('\n')
		if len(buf)+len(part) > MaxLine {
			return nil, errTooLong
		}
		buf = append(buf, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buf, err
		}
	}
}

// checker follows a chain line by line.
type checker struct {
	// lines is how many hold.
	lines int
	prev  string
	ended bool
	last  heading
	held  Manifest
}

// broken describes the line after those that hold.
func (c *checker) broken(b []byte, problem string) *BrokenLink {
	kind, name := guess(b)
	return &BrokenLink{Line: c.lines + 1, Kind: kind, Name: name, Problem: problem}
}

// next checks one line.
func (c *checker) next(b []byte) error {
	l, err := parseLine(b)
	switch {
	case err != nil:
		return c.broken(b, err.Error())
	case c.ended:
		return c.broken(b, "it stands after the end of the chain: it was added")
	case l.seq != c.lines+1:
		return c.broken(b, fmt.Sprintf("it carries the number %d: lines were removed, added or moved here", l.seq))
	case l.prev != c.prev && c.lines == 0:
		return c.broken(b, "it does not begin an archive of the format that this program knows")
	case l.prev != c.prev:
		return c.broken(b, fmt.Sprintf("it does not follow from the line before it (%s): one of the two was changed or put here", c.lastName()))
	}
	var problem string
	switch {
	case (c.lines == 0) != (l.kind == KindRun):
		problem = "the first line is the MotorRun, and no other is"
	case l.kind == KindRun:
		problem = c.run(l)
	case l.kind == KindStep:
		problem = c.step(l)
	case l.kind == KindEnd:
		problem = c.close(l)
	default:
		problem = "there is no such kind of line"
	}
	if problem != "" {
		return c.broken(b, problem)
	}
	c.lines, c.prev = c.lines+1, l.digest
	return nil
}

func (c *checker) lastName() string {
	if c.lines == 1 {
		return "the run"
	}
	return printable(c.last.Metadata.Name)
}

func (c *checker) run(l line) (problem string) {
	var h heading
	if decode(l.object, &h) != nil || h.Kind != KindRun || h.Metadata.UID == "" || !h.named() {
		return "its object is no MotorRun"
	}
	m := h.Metadata
	c.held.Namespace, c.held.Name, c.held.UID, c.held.Run = m.Namespace, m.Name, m.UID, slices.Clone(l.object)
	return ""
}

func (c *checker) step(l line) (problem string) {
	var h heading
	if decode(l.object, &h) != nil || h.Kind != KindStep || !h.named() {
		return "its object is no MotorStep"
	}
	owned := false
	for _, o := range h.Metadata.OwnerReferences {
		owned = owned || o.UID == c.held.UID
	}
	switch _, twice := c.held.Steps[h.Metadata.Name]; {
	case !owned || h.Metadata.Namespace != c.held.Namespace:
		return "it is a step of another run"
	case twice:
		return "there is a step of that name before"
	case len(c.held.Steps) > 0 && order(c.last, h) >= 0:
		return "it does not come after " + c.lastName()
	case len(c.held.Steps) == MaxSteps:
		return fmt.Sprintf("there are more than %d steps", MaxSteps)
	}
	c.last = h
	c.held.Steps[h.Metadata.Name] = heldDigest(l.object)
	return ""
}

func (c *checker) close(l line) (problem string) {
	if want, err := encode(closing{Steps: len(c.held.Steps), Head: c.prev}); err != nil || !bytes.Equal(l.object, want) {
		return fmt.Sprintf("it does not close the chain of %d steps that stands before it", len(c.held.Steps))
	}
	c.ended, c.held.Head = true, l.digest
	return ""
}

// end judges the chain when there is no more of it.
func (c *checker) end(wantHead string) (Manifest, error) {
	switch {
	case c.lines == 0:
		return Manifest{}, c.broken(nil, "it is missing: there is nothing in the file")
	case !c.ended:
		return Manifest{}, c.broken(nil, "it is missing: the chain has no end, lines were cut off after "+c.lastName())
	case wantHead != "" && wantHead != c.held.Head:
		return Manifest{}, &BrokenLink{Line: c.lines, Kind: KindEnd, Problem: fmt.Sprintf(
			"the head of the chain is %s, and not %s as recorded: the file as a whole was written anew", c.held.Head, printable(wantHead))}
	}
	return c.held, nil
}
