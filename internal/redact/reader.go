// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"errors"
	"io"
)

// chunk is how much a Reader reads at a time.
const chunk = 32 << 10

// Reader redacts a stream. What is read gives what Bytes gives of the whole, in whatever pieces it comes.
//
// The end of what came is held back until more comes, because a value may begin in it: some six times the longest spelling,
// which is about twelve times the longest value. How much it is depends on nothing that resembles a value, or the pieces
// would tell whoever chose the text how well he guessed. A line is delivered at once if nothing that is wrapped into lines
// can go on after it: if it is empty, or ends in another byte than a letter, a digit or one of +/-_=. So events, JSON by
// lines and most logs flow, and other lines and texts without any come late by that much, until the end. Where a value has a
// newline in it, no line is an exception.
//
// If src fails, its error comes after what was read before, and what was held is lost. The memory is bounded by the longest
// value, not by the stream. A Reader is for one user.
func (r *Redactor) Reader(src io.Reader) io.Reader {
	if r == nil {
		return src
	}
	return &reader{r: r, src: src, buf: make([]byte, chunk)}
}

type reader struct {
	r   *Redactor
	src io.Reader
	buf []byte
	// held may have the beginning of a value in it. ready is redacted and not yet delivered.
	held, ready []byte
	out         []byte
	err         error
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	const most = 100 // as bufio has it
	for empty := 0; len(r.ready) == 0; {
		if r.err != nil {
			return 0, r.err
		}
		n, err := r.src.Read(r.buf)
		if n == 0 && err == nil {
			if empty++; empty == most {
				return 0, io.ErrNoProgress
			}
			continue
		}
		empty = 0
		r.err = err
		r.take(r.buf[:n])
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

func (r *reader) take(b []byte) {
	r.held = append(r.held, b...)
	end := len(r.held)
	if !errors.Is(r.err, io.EOF) {
		end = max(r.lines(), len(r.held)-r.r.window, 0)
	}
	s := scanner{r: r.r, text: r.held}
	var taken int
	r.out, taken = s.run(r.out[:0], end)
	r.ready = r.out
	if r.err != nil {
		taken = len(r.held)
	}
	r.held = r.held[:copy(r.held, r.held[taken:])]
}

// lines returns how much of what is held are lines over whose end no value goes. What was delivered before held began has no
// value that goes on.
func (r *reader) lines() int {
	if r.r.lines {
		return 0
	}
	for end := len(r.held); ; {
		i := bytes.LastIndexByte(r.held[:end], '\n')
		if i < 0 {
			return 0
		}
		line := bytes.TrimSuffix(r.held[:i], []byte("\r"))
		if len(line) == 0 || !inLines(line[len(line)-1]) {
			return i + 1
		}
		end = i
	}
}
