// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// timed bounds the time in which the message of a request comes.
func timed(w http.ResponseWriter, r *http.Request) {
	conn := http.NewResponseController(w)
	if err := conn.SetReadDeadline(time.Now().Add(messageTime)); err == nil {
		r.Body = &timedBody{r.Body, conn}
	}
}

// timedBody takes the deadline from a connection when the message has come: its answer may be a stream that stays open.
type timedBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.conn.SetReadDeadline(time.Time{}) // It could be set.
	}
	return n, err
}

// inTime ends requests of programs that do not read what is written to them. A stream may stay open for long, so the time is one for each write, and not for
// the request. Without it a connection would keep its place and what is written, for as long as its program likes. The server ends the context of a request
// whose write fails.
func inTime(next http.Handler, within time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &timedWriter{ResponseWriter: w, conn: http.NewResponseController(w), within: within}
		t.until(time.Time{})                               // The request before it on this connection has left its own.
		defer func() { t.until(time.Now().Add(within)) }() // The server writes what is left.
		next.ServeHTTP(t, r)
	})
}

// timedWriter bounds the time of each write.
type timedWriter struct {
	http.ResponseWriter
	conn   *http.ResponseController
	within time.Duration
}

// until sets the instant until which writes must have ended.
func (w *timedWriter) until(t time.Time) {
	_ = w.conn.SetWriteDeadline(t) // A connection without deadlines is none of a network.
}

// Write implements http.ResponseWriter.
func (w *timedWriter) Write(p []byte) (int, error) {
	w.until(time.Now().Add(w.within))
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (w *timedWriter) Flush() { _ = w.FlushError() }

// FlushError is what http.ResponseController flushes by.
func (w *timedWriter) FlushError() error {
	w.until(time.Now().Add(w.within))
	if err := w.conn.Flush(); err != nil {
		return err
	}
	w.until(time.Time{})
	return nil
}

// Unwrap returns the writer that has the deadlines.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
