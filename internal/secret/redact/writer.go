// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"io"
)

// Writer redacts what is written to it on its way to another writer. It holds back the same bytes as a Reader. It is not safe for
// concurrent use.
type Writer struct {
	to     io.Writer
	reader reader
}

// Writer returns a Writer to another one. With a nil Redactor it changes nothing and holds nothing back.
func (r *Redactor) Writer(to io.Writer) *Writer { return &Writer{to: to, reader: reader{r: r}} }

// Write takes in all of p unless the other writer fails. It passes on what no value can go on in.
func (w *Writer) Write(p []byte) (int, error) {
	if w.reader.r == nil {
		return w.to.Write(p)
	}
	w.reader.take(p)
	if err := w.deliver(); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on the held bytes. A value that was written in part before it is not found.
func (w *Writer) Flush() error {
	if w.reader.r == nil {
		return nil
	}
	w.reader.err = io.EOF
	w.reader.take(nil)
	w.reader.err = nil
	return w.deliver()
}

// Pending returns the bytes that Flush would pass on. They stay held back, so that a value that goes on after them is found.
func (w *Writer) Pending() []byte {
	if w.reader.r == nil {
		return nil
	}
	return w.reader.r.Bytes(bytes.Clone(w.reader.held))
}

func (w *Writer) deliver() error {
	ready := w.reader.ready
	w.reader.ready = nil
	if len(ready) == 0 {
		return nil
	}
	_, err := w.to.Write(ready)
	return err
}
