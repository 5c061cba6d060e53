// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// smallBuffer is what a tunnel moves at once, and largeBuffer what it moves while bytes come fast: a wake-up costs as much as to copy tens of KiB.
	// A run can go over its limit by two of these a connection.
	smallBuffer, largeBuffer = 16 << 10, 256 << 10
	// maxLarge is how many large buffers there are at once, 16 MiB: a client that does not read keeps one. Without one a tunnel takes more processor
	// time for each byte, and goes on.
	maxLarge = 64
)

// buffers are those of tunnels in which bytes have come. A tunnel that waits has none.
type buffers struct {
	small, large sync.Pool
	// slots has a slot for each large one that is in use.
	slots chan struct{}
}

func newBuffers() *buffers {
	return &buffers{
		small: sync.Pool{New: func() any { return new([smallBuffer]byte) }},
		large: sync.Pool{New: func() any { return new([largeBuffer]byte) }},
		slots: make(chan struct{}, maxLarge),
	}
}

// take returns a buffer, a large one if it is asked for and there are not too many.
func (b *buffers) take(large bool) []byte {
	if large {
		select {
		case b.slots <- struct{}{}:
			return b.large.Get().(*[largeBuffer]byte)[:]
		default:
		}
	}
	return b.small.Get().(*[smallBuffer]byte)[:]
}

// give takes back a buffer that take returned, if there is one.
func (b *buffers) give(buf []byte) {
	switch len(buf) {
	case smallBuffer:
		b.small.Put((*[smallBuffer]byte)(buf))
	case largeBuffer:
		b.large.Put((*[largeBuffer]byte)(buf))
		<-b.slots
	}
}

type tunnel struct {
	x    *exchange
	idle time.Duration
	// last is when something moved, in nanoseconds.
	last atomic.Int64
}

// tunnel moves bytes in both directions until both have ended, one of them fails or nothing moves.
func (x *exchange) tunnel(host net.Conn) Reason {
	t := &tunnel{x: x, idle: x.server.timeouts.Idle}
	t.last.Store(time.Now().UnixNano())
	back := make(chan error, 1)
	go func() { back <- t.run(x.client, host, toClient) }()
	err := t.run(host, x.client, toHost)
	// One direction knows why the tunnel ended; the other only finds it closed.
	if e, ok := errors.AsType[endError](errors.Join(err, <-back)); ok {
		return e.why
	}
	return ReasonClosed
}

// run copies one direction. An end of the data is passed on, an error ends both directions.
func (t *tunnel) run(dst, src net.Conn, d direction) error {
	err := t.copy(dst, src, d)
	if err == nil {
		if half, ok := dst.(interface{ CloseWrite() error }); ok {
			err = half.CloseWrite()
		}
	}
	if err != nil {
		_ = dst.Close()
		_ = src.Close()
	}
	return err
}

// copy passes on what comes until its end. It wakes up now and then to see whether anything moves in either direction.
//
// The bytes go through a buffer, although the kernel can move them by itself (splice). It needs a pipe for that, of which a user who is not root gets
// 64 of a useful size, and one tunnel moved half as much by them: see docs/performance.md.
func (t *tunnel) copy(dst, src net.Conn, d direction) error {
	s, err := newInflow(src, t.x.server.buffers)
	if err != nil {
		return err
	}
	if err := t.wakeUp(src); err != nil {
		return err
	}
	for {
		buf, n, err := s.read()
		if n > 0 {
			t.last.Store(time.Now().UnixNano())
			if failed := t.write(dst, buf[:n]); failed != nil {
				err = failed
			}
		}
		s.buffers.give(buf)
		if !t.x.moved(d, int64(n)) {
			return ended(ReasonBytes)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			if err := t.wakeUp(src); err != nil {
				return err
			}
		case err != nil:
			return err
		}
	}
}

// write passes bytes on. One that takes none of them for as long as a tunnel may be idle ends the tunnel: the other direction, which looks at that as
// well, may have ended before.
func (t *tunnel) write(dst net.Conn, p []byte) error {
	for {
		_ = dst.SetWriteDeadline(time.Now().Add(max(t.idle/2, time.Millisecond)))
		n, err := dst.Write(p)
		if n > 0 {
			t.last.Store(time.Now().UnixNano())
		}
		if p = p[n:]; !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		if t.left() <= 0 {
			return ended(ReasonIdle)
		}
	}
}

// left is how long nothing may move from now on.
func (t *tunnel) left() time.Duration { return t.idle - time.Since(time.Unix(0, t.last.Load())) }

// wakeUp lets a wait for bytes end when the tunnel may have been idle for too long. It returns an error if it has been.
func (t *tunnel) wakeUp(src net.Conn) error {
	left := t.left()
	if left <= 0 {
		return ended(ReasonIdle)
	}
	return src.SetReadDeadline(time.Now().Add(left))
}

// inflow reads from a connection. While nothing comes it holds no buffer.
type inflow struct {
	conn    net.Conn
	buffers *buffers
	// raw is nil for a connection that is no socket.
	raw syscall.RawConn
	// try is tryRead, made once: as a value it takes memory.
	try func(fd uintptr) bool
	// fast is true while bytes come fast: there were enough for a small buffer at the last read.
	fast bool

	buf []byte
	n   int
	err error
}

func newInflow(conn net.Conn, b *buffers) (*inflow, error) {
	s := &inflow{conn: conn, buffers: b}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return s, nil
	}
	var err error
	s.raw, err = socket.SyscallConn()
	s.try = s.tryRead
	return s, err
}

// read waits for bytes, and returns them with the buffer that they are in, which the caller gives back. At the end it returns io.EOF.
func (s *inflow) read() (buf []byte, n int, err error) {
	if s.raw == nil {
		buf = s.buffers.take(false)
		n, err = s.conn.Read(buf)
		return buf, n, err
	}
	s.buf, s.n, s.err = nil, 0, nil
	if err := s.raw.Read(s.try); err != nil {
		return s.buf, 0, err
	}
	if s.n == 0 && s.err == nil {
		return s.buf, 0, io.EOF
	}
	s.fast = s.n >= smallBuffer
	return s.buf, s.n, s.err
}

// tryRead reads what there is, and reports whether there was anything: bytes, the end or an error.
func (s *inflow) tryRead(fd uintptr) bool {
	buf := s.buffers.take(s.fast)
	for {
		s.n, s.err = syscall.Read(int(fd), buf)
		switch {
		case errors.Is(s.err, syscall.EINTR):
		case errors.Is(s.err, syscall.EAGAIN):
			s.buffers.give(buf)
			return false
		default:
			s.n, s.buf = max(s.n, 0), buf
			return true
		}
	}
}
