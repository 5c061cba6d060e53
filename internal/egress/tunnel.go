// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// piece is how much a tunnel moves before its bytes are counted. A run can go over its limit by two pieces a connection.
const piece = 4 << 20

// tunnel moves bytes in both directions until both have ended, one of them fails or nothing moves.
func (x *exchange) tunnel(host net.Conn) Reason {
	t := &tunnel{x: x, idle: x.server.timeouts.Idle, wake: max(x.server.timeouts.Idle/2, time.Millisecond)}
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

// lull is how long a direction in which nothing comes keeps its pipe.
const lull = 20 * time.Millisecond

type tunnel struct {
	x          *exchange
	idle, wake time.Duration
	// last is when something moved, in nanoseconds.
	last atomic.Int64
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

// copy passes the connections themselves to io.Copy: between two TCP connections the kernel moves the bytes then. It wakes up
// now and then, to count and to see whether anything moved.
func (t *tunnel) copy(dst, src net.Conn, d direction) error {
	for {
		n, err := t.move(dst, src)
		if n > 0 {
			t.last.Store(time.Now().UnixNano())
			if !t.x.moved(d, n) {
				return ended(ReasonBytes)
			}
		}
		switch {
		case err == nil && n < piece:
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			if time.Since(time.Unix(0, t.last.Load())) >= t.idle {
				return ended(ReasonIdle)
			}
		case err != nil:
			return err
		}
	}
}

// move waits until bytes arrive, and moves at most one piece. The wait is not left to io.Copy, which holds a kernel pipe for as long as it
// waits. A user who is not root gets small pipes after the first 64, and all tunnels are slow with those.
func (t *tunnel) move(dst, src net.Conn) (int64, error) {
	if err := src.SetReadDeadline(time.Now().Add(t.wake)); err != nil {
		return 0, err
	}
	if err := readable(src); err != nil {
		return 0, err
	}
	// Only reading has a deadline: bytes in the kernel's pipe would be lost when a write is broken off.
	if err := src.SetReadDeadline(time.Now().Add(min(t.wake, lull))); err != nil {
		return 0, err
	}
	return io.Copy(dst, &io.LimitedReader{R: src, N: piece})
}

// readable waits until a connection has something to read, be it its end or an error. One that is no socket is not waited for.
func readable(conn net.Conn) error {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var one [1]byte
	return raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
		return !errors.Is(err, syscall.EAGAIN)
	})
}
