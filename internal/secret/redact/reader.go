// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"errors"
	"io"
)

// chunk is how much a Reader reads at a time.
const chunk = 32 << 10

// Reader redacts a stream. The bytes that are read are those that Bytes returns for the whole, in whatever pieces it comes.
//
// The end of the received bytes is held back until more come, because a value may begin in it: some six times the longest spelling, which
// is about twelve times the longest value. The amount does not depend on any resemblance to a value, or the pieces would show the author of
// the text how well he guessed. A line is delivered at once if no wrapped encoding can go on after it: if it is empty, or ends in another
// byte than a letter, a digit or one of +/-_=. So events, JSON by lines and most logs flow. Other lines, and texts without any, are late by
// that much, until the end. If a value has a newline in it, no line is an exception.
//
// If src fails, its error comes after the bytes that were read before, and the held bytes are lost. The memory is bounded by the longest
// value, not by the stream. A Reader is not safe for concurrent use.
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

// lines returns how much of the held bytes are lines over whose end no value goes. No value continues from the bytes that were delivered
// before held began.
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
