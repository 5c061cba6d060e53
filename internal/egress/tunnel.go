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
	// maxSmall is how many small buffers there are at once, 4 MiB. None is held by a tunnel that waits for its client or its host, so that the bound
	// makes a tunnel wait for the processor at most.
	maxSmall = 256
	// maxLarge is how many large buffers there are at once, 16 MiB: a client that does not read keeps one. Without one a tunnel takes more processor
	// time for each byte, and goes on.
	maxLarge = 64
	// maxLargeOfRun is how many of them one run has. Its tunnels would otherwise slow down those of all others.
	maxLargeOfRun = maxLarge / 4
)

// buffers are those of tunnels in which bytes have come. A tunnel that waits for bytes has none.
type buffers struct {
	small, large sync.Pool
	// smallSlots and largeSlots have a slot for each buffer that is in use.
	smallSlots, largeSlots chan struct{}
}

func newBuffers() *buffers {
	return &buffers{
		small:      sync.Pool{New: func() any { return new([smallBuffer]byte) }},
		large:      sync.Pool{New: func() any { return new([largeBuffer]byte) }},
		smallSlots: make(chan struct{}, maxSmall),
		largeSlots: make(chan struct{}, maxLarge),
	}
}

// takeSmall waits for a small buffer. The caller gives it back without waiting for anything: all tunnels wait for it.
func (b *buffers) takeSmall() *[smallBuffer]byte {
	b.smallSlots <- struct{}{}
	return b.small.Get().(*[smallBuffer]byte)
}

func (b *buffers) giveSmall(buf *[smallBuffer]byte) {
	b.small.Put(buf)
	<-b.smallSlots
}

// takeLarge returns a large buffer, or nil if the run or all runs together have too many. The caller may wait before it gives it back.
func (b *buffers) takeLarge(u *usage) *[largeBuffer]byte {
	if u.large.Add(1) <= maxLargeOfRun {
		select {
		case b.largeSlots <- struct{}{}:
			return b.large.Get().(*[largeBuffer]byte)
		default:
		}
	}
	u.large.Add(-1)
	return nil
}

func (b *buffers) giveLarge(u *usage, buf *[largeBuffer]byte) {
	b.large.Put(buf)
	<-b.largeSlots
	u.large.Add(-1)
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
	f, err := newFlow(t, dst, src)
	if err != nil {
		return err
	}
	if err := t.wakeUp(src); err != nil {
		return err
	}
	for {
		n, err := f.step()
		if n > 0 {
			t.last.Store(time.Now().UnixNano())
		}
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
		t.writeSoon(dst)
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

// writeSoon lets a wait to write end in time to look whether the tunnel is idle.
func (t *tunnel) writeSoon(dst net.Conn) {
	_ = dst.SetWriteDeadline(time.Now().Add(max(t.idle/2, time.Millisecond)))
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

// flow is one direction of a tunnel.
//
// While it waits for bytes or for room to write them it holds no buffer, but for a large one: the bytes stay in the kernel until they are written. Two
// ends that do not read would otherwise make the proxy keep a buffer for each direction, in as many tunnels as they like.
type flow struct {
	t        *tunnel
	dst, src net.Conn
	// to and from are nil if one of both is no socket.
	to, from syscall.RawConn
	// onReadable and the others are methods, made once: as values they take memory.
	onReadable, onWritable func(fd uintptr) bool
	withTo, withFrom       func(fd uintptr)

	// fd is the descriptor that the flow waits for.
	fd int
	// fast is true while bytes come fast: there were enough for a small buffer the last time.
	fast bool
	// full is true if the destination did not take all that there was.
	full bool

	// buf is the small buffer, with the bytes that were peeked at, while it is in use.
	buf    *[smallBuffer]byte
	peeked int
	// large is the large buffer of which the first n bytes are to be written.
	large *[largeBuffer]byte
	n     int
	err   error
}

func newFlow(t *tunnel, dst, src net.Conn) (*flow, error) {
	f := &flow{t: t, dst: dst, src: src}
	to, ok := dst.(syscall.Conn)
	from, also := src.(syscall.Conn)
	if !ok || !also {
		return f, nil
	}
	var errs [2]error
	f.to, errs[0] = to.SyscallConn()
	f.from, errs[1] = from.SyscallConn()
	f.onReadable, f.onWritable, f.withTo, f.withFrom = f.readable, f.writable, f.moveTo, f.moveFrom
	return f, errors.Join(errs[:]...)
}

// step waits until bytes can be passed on, and returns how many were. At their end it returns io.EOF.
func (f *flow) step() (n int, err error) {
	if f.from == nil {
		return f.relay()
	}
	f.n, f.err, f.large = 0, nil, nil
	if f.full {
		f.t.writeSoon(f.dst)
		err = f.to.Write(f.onWritable)
	} else {
		err = f.from.Read(f.onReadable)
	}
	if f.large != nil {
		return f.writeLarge()
	}
	if err == nil {
		err = f.err
	}
	return f.n, err
}

// relay is a step between two ends of which one is no socket. It holds its buffer while it waits; only tests have such ends.
func (f *flow) relay() (n int, err error) {
	buf, _ := f.t.x.server.buffers.small.Get().(*[smallBuffer]byte)
	defer f.t.x.server.buffers.small.Put(buf)
	n, err = f.src.Read(buf[:])
	if n > 0 {
		if failed := f.t.write(f.dst, buf[:n]); failed != nil {
			err = failed
		}
	}
	return n, err
}

// readable moves what has come, and reports whether there was anything: bytes, the end or an error. While there is nothing it stays near the top of
// the stack, which would otherwise grow in each tunnel that waits.
func (f *flow) readable(from uintptr) bool {
	if f.fast && f.readLarge(int(from)) {
		return f.large != nil || f.err != nil
	}
	f.buf = f.t.x.server.buffers.takeSmall()
	something := f.peek(int(from))
	if f.peeked > 0 {
		f.fd = int(from)
		if err := f.to.Control(f.withTo); err != nil {
			f.err = err
		}
	}
	f.giveSmall()
	return something
}

// writable moves what has come, and reports whether there was room for any of it, or nothing to write.
func (f *flow) writable(to uintptr) bool {
	f.buf = f.t.x.server.buffers.takeSmall()
	f.fd = int(to)
	if err := f.from.Control(f.withFrom); err != nil {
		f.err = err
	}
	f.giveSmall()
	return f.n > 0 || !f.full || f.err != nil
}

// giveSmall returns the small buffer, and forgets it: a flow that waits would keep its memory.
func (f *flow) giveSmall() {
	buf := f.buf
	f.buf = nil
	f.t.x.server.buffers.giveSmall(buf)
}

func (f *flow) moveTo(to uintptr) { f.move(int(to), f.fd) }

func (f *flow) moveFrom(from uintptr) {
	f.full = f.peek(int(from)) && f.err == nil
	if f.full {
		f.move(f.fd, int(from))
	}
}

// peek reads what has come and leaves it where it is. It reports whether there was anything: bytes, the end or an error.
func (f *flow) peek(from int) bool {
	var err error
	f.peeked, err = receive(from, f.buf[:], syscall.MSG_PEEK)
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return false
	case err != nil:
		f.err = err
	case f.peeked == 0:
		f.err = io.EOF
	}
	f.fast = f.peeked == len(f.buf)
	return true
}

// move writes what peek found as far as there is room, and takes that much from the source. It waits for neither.
func (f *flow) move(to, from int) {
	written, err := send(to, f.buf[:f.peeked])
	f.full = written < f.peeked
	if err != nil && !errors.Is(err, syscall.EAGAIN) {
		f.err = err
	}
	for f.n < written {
		// The kernel drops the bytes of a TCP connection and does not copy them again.
		n, err := receive(from, f.buf[f.n:written], syscall.MSG_TRUNC)
		if err == nil && n == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			f.err = err
			return
		}
		f.n += n
	}
}

// readLarge reads what has come into a large buffer, and reports whether there was one.
func (f *flow) readLarge(from int) bool {
	b, u := f.t.x.server.buffers, f.t.x.session.run.usage
	buf := b.takeLarge(u)
	if buf == nil {
		return false
	}
	n, err := receive(from, buf[:], 0)
	switch {
	case err == nil && n > 0:
		f.large, f.n, f.fast = buf, n, n >= smallBuffer
		return true
	case err == nil:
		f.err = io.EOF
	case !errors.Is(err, syscall.EAGAIN):
		f.err = err
	}
	b.giveLarge(u, buf)
	return true
}

// writeLarge writes what is in the large buffer, and waits for it.
func (f *flow) writeLarge() (n int, err error) {
	err = f.t.write(f.dst, f.large[:f.n])
	f.t.x.server.buffers.giveLarge(f.t.x.session.run.usage, f.large)
	f.large = nil
	return f.n, err
}

// receive reads from a socket. It never returns EINTR.
func receive(fd int, p []byte, flags int) (n int, err error) {
	for {
		n, _, err := syscall.Recvfrom(fd, p, flags)
		if !errors.Is(err, syscall.EINTR) {
			return max(n, 0), err
		}
	}
}

// send writes to a socket. It never returns EINTR.
func send(fd int, p []byte) (n int, err error) {
	for {
		n, err := syscall.Write(fd, p)
		if !errors.Is(err, syscall.EINTR) {
			return max(n, 0), err
		}
	}
}
