// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// backlog is how many pieces of a watch are buffered while they are delayed. A watch with more events blocks.
const backlog = 1024

var errClosed = errors.New("chaos: the watch was closed")

// piece is the result of one read of the server's stream.
type piece struct {
	at   time.Time
	data []byte
	err  error
}

// stream is the body of a watch: it delays everything, and ends early.
type stream struct {
	faults  *Faults
	request *http.Request
	body    io.ReadCloser
	pieces  chan piece
	closed  chan struct{}
	close   func() error
	// over is when the watch ends by itself; nil is never.
	over   <-chan time.Time
	broken <-chan struct{}

	// The bytes that Read has not returned yet, and how the stream ended.
	rest []byte
	err  error
}

func (f *Faults) newStream(r *http.Request, body io.ReadCloser, life time.Duration, broken <-chan struct{}) *stream {
	s := &stream{
		faults: f, request: r, body: body, broken: broken,
		pieces: make(chan piece, backlog), closed: make(chan struct{}),
	}
	s.close = sync.OnceValue(func() error {
		close(s.closed)
		return body.Close()
	})
	if life > 0 {
		s.over = time.After(life)
	}
	go s.pump()
	return s
}

// pump reads ahead, so that the arrival time of each piece is known.
func (s *stream) pump() {
	for {
		buffer := make([]byte, 16<<10)
		n, err := s.body.Read(buffer)
		select {
		case s.pieces <- piece{at: time.Now(), data: buffer[:n], err: err}:
		case <-s.closed:
			return
		}
		if err != nil {
			return
		}
	}
}

// Close ends the watch, also one that a Read waits for.
func (s *stream) Close() error { return s.close() }

// Read returns the bytes whose delay is over.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 && s.err == nil {
		s.next()
	}
	if len(s.rest) == 0 {
		return 0, s.err
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *stream) next() {
	select {
	case p := <-s.pieces:
		if s.wait(time.Until(p.at.Add(s.faults.delay()))) {
			s.rest, s.err = p.data, p.err
		}
	case <-s.over:
		s.end(Closed, io.EOF)
	case <-s.broken:
		s.end(Away, fmt.Errorf("chaos: the watch broke: %w", syscall.ECONNRESET))
	case <-s.closed:
		s.err = errClosed
	}
}

// wait waits and reports whether the stream still continues after that time.
func (s *stream) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.over:
		s.end(Closed, io.EOF)
	case <-s.broken:
		s.end(Away, fmt.Errorf("chaos: the watch broke: %w", syscall.ECONNRESET))
	case <-s.closed:
		s.err = errClosed
	}
	return false
}

func (s *stream) end(kind Kind, err error) {
	s.faults.note(kind, s.request)
	s.err = err
}
