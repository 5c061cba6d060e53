// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"time"
)

const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// connect serves CONNECT. The name is resolved and judged before the client gets the 200, so that a refused client gets an answer that it
// can read. The host is dialed only after the ClientHello has named it: an allowed host sees nothing of a refused connection. connect returns
// what serves the rest of a tunnel.
func (x *exchange) connect(ctx context.Context, bound bool) (rest func()) {
	s := x.server
	if bound && s.terminator == nil {
		x.refuse(ReasonNoTerminator)
		return nil
	}
	addrs, reason := x.resolve(ctx)
	if reason != "" {
		x.refuse(whyEnded(ctx, reason))
		return nil
	}
	_ = x.client.SetDeadline(time.Now().Add(s.timeouts.Hello))
	if _, err := io.WriteString(x.client, established); err != nil {
		x.record(x.denial(ReasonClosed))
		return nil
	}
	conn := &prefixed{Conn: x.client, pre: x.pre}
	hello, reason := readHello(ctx, conn, x.target.Host)
	if reason != "" {
		x.abort(whyEnded(ctx, reason))
		return nil
	}
	_ = x.client.SetDeadline(time.Time{})
	hello = append(hello, conn.pre...)
	x.pre = nil // The hello has it. An idle tunnel would keep it.
	if bound {
		x.terminate(ctx, hello, addrs)
		return nil
	}
	return x.pass(ctx, hello, addrs)
}

// terminate lets the Terminator speak for the host.
func (x *exchange) terminate(ctx context.Context, first []byte, addrs []netip.Addr) {
	x.allowed()
	conn := &counted{Conn: &prefixed{Conn: x.client, pre: first}, x: x}
	err := x.server.terminator.Serve(ctx, conn, x.target, x.session, x.dialer(ctx, addrs))
	why := whyEnded(ctx, ReasonClosed)
	if e, ok := errors.AsType[endError](err); ok {
		why = e.why
	}
	x.finished(why)
}

// pass makes a tunnel to the host, and sends it first. It returns what serves the rest of the tunnel.
func (x *exchange) pass(ctx context.Context, first []byte, addrs []netip.Addr) (rest func()) {
	conn, reason := x.dial(ctx, addrs)
	if reason != "" {
		x.abort(whyEnded(ctx, reason))
		return nil
	}
	x.allowed()
	up := newUpstream(ctx, conn, func() {})
	x.after(func() { _ = up.Close() })
	_ = conn.SetWriteDeadline(time.Now().Add(x.server.timeouts.Idle))
	_, err := conn.Write(first)
	_ = conn.SetWriteDeadline(time.Time{})
	if !x.moved(toHost, int64(len(first))) || err != nil {
		x.finished(whyEnded(ctx, ReasonClosed))
		return nil
	}
	return func() {
		why := x.tunnel(conn)
		x.finished(whyEnded(ctx, why))
	}
}
