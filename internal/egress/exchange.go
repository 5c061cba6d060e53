// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"motorcortex.dev/motorcortex/internal/egress/grant"
)

const (
	// answerTimeout is how long a client may take to read a refusal.
	answerTimeout = 2 * time.Second
	// drained is how much of what a client still sends is read after its answer.
	drained = 4 << 20
)

// direction is a label of metrics.
type direction string

const (
	toHost   direction = "to_host"
	toClient direction = "to_client"
)

// exchange is one connection of a client, and its outcome.
type exchange struct {
	server *Server
	client net.Conn
	source netip.Addr
	begun  time.Time
	// pre is what came with the head and is not part of it.
	pre []byte
	// end ends the connection from outside.
	end func(Reason)
	// undo is what is done when the exchange is over, the last one first.
	undo []func()

	method  string
	target  Target
	session *Session

	// sent and received are the numbers of bytes from and to the client.
	sent, received atomic.Int64
	// known counts the connection as its run's from now on.
	known func()

	mu sync.Mutex
	// fetched is what hosts sent to a Terminator, charged what of their answers counted for the run's limit.
	fetched, charged int64
	// address is the dialed address, or the one that was refused because it is of the class.
	address netip.Addr
	class   string
}

// after lets a function be called when the exchange is over.
func (x *exchange) after(do func()) { x.undo = append(x.undo, do) }

// over undoes what was set up for the exchange.
func (x *exchange) over() {
	for _, undo := range slices.Backward(x.undo) {
		undo()
	}
	x.undo = nil
}

// reached notes the address that was dialed or, with its class, refused.
func (x *exchange) reached(a netip.Addr, class string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.address, x.class = a, class
}

// moved counts bytes, and reports whether the run may move more.
func (x *exchange) moved(d direction, n int64) bool {
	if n <= 0 {
		return true
	}
	x.server.metrics.bytes.WithLabelValues(string(d)).Add(float64(n))
	if d == toHost {
		x.sent.Add(n)
	} else {
		x.received.Add(n)
		n = x.charge(0)
	}
	return x.session.run.usage.moved(x.server.now(), n)
}

// fetch counts bytes that a host sent to a Terminator, and reports whether the run may move more.
func (x *exchange) fetch(n int64) bool {
	return x.session.run.usage.moved(x.server.now(), x.charge(n))
}

// charge returns the part of an answer's cost that was not charged before. An answer is charged once, by the bytes that came from the host
// or the bytes that went to the client, whichever is more. Bytes that a Terminator does not pass on were moved all the same, and a packed
// answer grows when it is unpacked.
func (x *exchange) charge(fetched int64) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fetched += fetched
	more := max(x.fetched, x.received.Load()) - x.charged
	x.charged += more
	return more
}

func (x *exchange) denial(why Reason) Denial {
	return Denial{Reason: why, Host: x.target.Host.String(), Port: x.target.Port}
}

// refuse answers a request with a refusal, and records it.
func (x *exchange) refuse(why Reason) {
	x.record(x.denial(why))
	x.write(x.answer(why))
}

// abort ends a connection to which 200 was sent already, and records why.
func (x *exchange) abort(why Reason) {
	x.record(x.denial(why))
	if alert := alertFor(why); alert != nil {
		x.write(alert)
	}
}

// write sends the last bytes to the client, and waits a little for it to have read them.
func (x *exchange) write(b []byte) {
	_ = x.client.SetDeadline(time.Now().Add(answerTimeout))
	if _, err := x.client.Write(b); err == nil {
		x.linger()
	}
}

// linger closes the write side, and reads what the client still sends. A connection that is closed with bytes unread is reset, and the
// client may never see the end of the answer.
func (x *exchange) linger() {
	_ = x.client.SetDeadline(time.Now().Add(answerTimeout))
	if half, ok := x.client.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, x.client, drained)
	}
}

// record reports a refusal: by a metric, to the Reporter if it is about a run, and in an audit line. The number of lines is bounded; a
// later line counts those that were omitted.
func (x *exchange) record(d Denial) {
	s := x.server
	s.metrics.requests.WithLabelValues("deny", string(d.Reason)).Inc()
	if s.reporter != nil && x.session != nil && d.Reason.reported() {
		// Before the bound on lines: the Reporter has its own, and must not miss what comes after many others.
		s.reporter.Denied(x.session.Grant, d)
	}
	lines, g := s.unknown, (*grant.Grant)(nil)
	if x.session != nil {
		lines, g = x.session.run.usage.denials, x.session.Grant
	}
	if !lines.allow(s.now(), d.Reason) {
		s.omitted.add(lines, g)
		return
	}
	attrs := []slog.Attr{slog.String("verdict", "deny"), slog.String("reason", string(d.Reason))}
	if d.Credential != "" {
		attrs = append(attrs, slog.Any("credentials", []string{d.Credential}))
	}
	x.audit(attrs...)
}

// allowed records that the connection is let through.
func (x *exchange) allowed() {
	x.server.metrics.requests.WithLabelValues("allow", "allowed").Inc()
	x.audit(slog.String("verdict", "allow"))
}

// finished records the end of a connection that was let through.
func (x *exchange) finished(why Reason) {
	x.server.metrics.ended.WithLabelValues(string(why)).Inc()
	attrs := []slog.Attr{
		slog.String("verdict", "end"), slog.String("reason", string(why)),
		slog.Int64("sent", x.sent.Load()), slog.Int64("received", x.received.Load()),
		slog.Int64("ms", time.Since(x.begun).Milliseconds()),
	}
	if used := x.session.credentials(); len(used) > 0 {
		attrs = append(attrs, slog.Any("credentials", used))
	}
	x.audit(attrs...)
}

// audit writes a line. Its content is text of the operator, parsed values, and numbers: no part of it is longer than a name, and none is
// raw input of a client.
func (x *exchange) audit(attrs ...slog.Attr) {
	line := make([]slog.Attr, 0, 13+len(attrs))
	if x.session != nil {
		g := x.session.Grant
		line = append(line, slog.String("run", g.Run), slog.String("namespace", g.Namespace), slog.String("pod", g.PodName), slog.String("uid", g.RunUID))
	}
	line = append(line, slog.String("source", x.source.String()))
	if host := x.target.Host.String(); host != "" {
		line = append(line, slog.String("host", host), slog.Int("port", int(x.target.Port)))
	}
	if rule := x.target.Rule.String(); rule != "" {
		line = append(line, slog.String("rule", rule))
	}
	x.mu.Lock()
	if x.address.IsValid() {
		line = append(line, slog.String("address", x.address.String()))
	}
	if x.class != "" {
		line = append(line, slog.String("class", x.class))
	}
	x.mu.Unlock()
	x.server.audit(append(line, attrs...))
}
