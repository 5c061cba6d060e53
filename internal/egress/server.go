// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"strconv"
	"sync"
	"time"
)

const (
	// acceptPause is how long nothing is accepted after that failed, for want of file descriptors.
	acceptPause = 50 * time.Millisecond
	// maxRefusing is how many clients over the limits get an answer at once. An answer takes as long as its client likes, up to some seconds;
	// the others are reset.
	maxRefusing = 32
)

// Server is the proxy.
type Server struct {
	grants   *Grants
	ready    func() bool
	prefixes func() []netip.Prefix
	resolver Resolver
	dialTCP  func(ctx context.Context, to netip.AddrPort) (net.Conn, error)

	terminator Terminator
	reporter   Reporter
	now        func() time.Time
	log        *slog.Logger
	// audit writes a line. It is written in no context: the end of a connection is told after that of its context.
	audit   func(line []slog.Attr)
	metrics *metrics

	limits   Limits
	timeouts Timeouts
	sources  *sources
	buffers  *buffers
	// refusing has a slot for each client over the limits that is answered all the same.
	refusing chan struct{}
	// unknown bounds the audit lines about unknown clients.
	unknown *lineLimit
	omitted omissions
}

// New makes a Server.
func New(cfg Config) (*Server, error) {
	if cfg.Grants == nil {
		return nil, errors.New("the egress proxy needs the set of grants")
	}
	s := &Server{
		grants: cfg.Grants, ready: cfg.Ready, prefixes: cfg.ForbiddenPrefixes, resolver: cfg.Resolver, dialTCP: cfg.Dial,
		terminator: cfg.Terminator, reporter: cfg.Reporter, now: cfg.Now, log: cfg.Logger,
		limits: cfg.Limits.complete(), timeouts: cfg.Timeouts.complete(), unknown: newLineLimit(),
		refusing: make(chan struct{}, maxRefusing), buffers: newBuffers(),
	}
	s.sources = newSources(s.limits)
	if s.resolver == nil {
		resolver, err := newResolver(cfg.DNSServer)
		if err != nil {
			return nil, err
		}
		s.resolver = resolver
	}
	if s.dialTCP == nil {
		s.dialTCP = dialTCP
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.audit = func(line []slog.Attr) { s.log.LogAttrs(context.Background(), slog.LevelInfo, "egress", line...) }
	var err error
	if s.metrics, err = newMetrics(cfg.Registerer, cfg.Grants); err != nil {
		return nil, fmt.Errorf("register the metrics of the egress proxy: %w", err)
	}
	return s, nil
}

// Serve serves the clients of a listener, which it closes. When ctx is done it accepts no more clients, allows open connections
// Timeouts.Grace to end, closes the remaining ones, and returns nil.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	base, end := context.WithCancelCause(context.WithoutCancel(ctx))
	var serving, helpers sync.WaitGroup
	stopAccepting := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stopAccepting()
	helpers.Go(func() { s.sweep(base) })

	err := s.accept(ctx, base, ln, &serving)
	_ = ln.Close()
	grace := time.AfterFunc(s.timeouts.Grace, func() { end(ended(ReasonShutdown)) })
	serving.Wait()
	grace.Stop()
	end(ended(ReasonShutdown))
	helpers.Wait()
	s.writeOmitted(0)
	return err
}

// accept starts a goroutine for each client, counted in serving, with base as its context.
func (s *Server) accept(ctx, base context.Context, ln net.Listener, serving *sync.WaitGroup) error {
	for {
		conn, err := ln.Accept()
		switch {
		case err == nil:
			s.welcome(base, conn, serving)
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the listener was closed because ctx is done
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept clients of the egress proxy: %w", err)
		default:
			s.log.WarnContext(ctx, "a client of the egress proxy could not be accepted", "error", err)
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// welcome starts the goroutine of a client that is within the limits. It never waits.
func (s *Server) welcome(base context.Context, conn net.Conn, serving *sync.WaitGroup) {
	x := &exchange{server: s, client: conn, source: sourceOf(conn.RemoteAddr()), begun: time.Now()}
	if s.sources.enter(x.source) {
		x.after(s.sources.leave)
		x.after(func() { _ = conn.Close() })
		serving.Go(func() {
			rest := s.guard(base, x, func() (rest func()) { return s.serve(base, x) })
			if rest == nil {
				return
			}
			// The stack of this goroutine has grown for the ClientHello and the audit line. It would shrink at the next garbage collection only.
			serving.Go(func() {
				s.guard(base, x, func() func() {
					rest()
					return nil
				})
			})
		})
		return
	}
	x.record(x.denial(ReasonTooMany))
	select {
	case s.refusing <- struct{}{}:
		x.after(func() { <-s.refusing })
		x.after(func() { _ = conn.Close() })
		serving.Go(func() {
			s.guard(base, x, func() func() {
				x.write(x.answer(ReasonTooMany))
				return nil
			})
		})
	default:
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // nothing of the connection stays, in the kernel neither
		}
		_ = conn.Close()
	}
}

// guard calls a function that serves a connection, and ends the exchange unless the function returns what serves the rest of it. A panic ends
// one connection, and not the proxy for all clients. The log has the position of the panic and not its text, which may have a client's bytes in
// it.
func (s *Server) guard(ctx context.Context, x *exchange, serve func() (rest func())) (rest func()) {
	defer func() {
		if fault := recover(); fault != nil {
			s.log.ErrorContext(ctx, "a connection of the egress proxy ended with a fault", "type", fmt.Sprintf("%T", fault), "at", callers())
		}
		if rest == nil {
			x.over()
		}
	}()
	return serve()
}

// callers names the functions that led here, the nearest first.
func callers() []string {
	var pcs [24]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	var names []string
	for {
		f, more := frames.Next()
		names = append(names, f.Function+":"+strconv.Itoa(f.Line))
		if !more {
			return names
		}
	}
}

// sweep closes expired connections, and logs the omitted lines, for as long as there are connections.
func (s *Server) sweep(ctx context.Context) {
	tick := time.NewTicker(s.timeouts.Sweep)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.grants.Expire()
			s.writeOmitted(omittedFor)
		case <-ctx.Done():
			return
		}
	}
}

// serve takes one connection from its head to its end. It returns what serves the rest of a tunnel.
func (s *Server) serve(base context.Context, x *exchange) (rest func()) {
	conn := x.client
	s.metrics.connections.Inc()
	x.after(s.metrics.connections.Dec)
	held := 0
	x.known = sync.OnceFunc(func() { s.sources.known(x.source, held) })
	x.after(x.known)

	ctx, cancel := context.WithCancelCause(base)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	x.after(func() {
		stop()
		cancel(nil)
	})
	x.end = func(why Reason) { cancel(ended(why)) }

	_ = conn.SetReadDeadline(time.Now().Add(s.timeouts.Head))
	req, pre, reason := readRequest(conn, func(bytes int) bool {
		if !s.sources.hold(x.source, bytes) {
			return false
		}
		held += bytes
		return true
	})
	if reason == ReasonClosed {
		return nil
	}
	x.method, x.target = req.method, Target{Host: req.host, Port: req.port}
	if reason == "" {
		reason = x.admit(ctx, req)
	}
	if reason != "" {
		x.refuse(reason)
		return nil
	}
	_ = conn.SetReadDeadline(time.Time{})
	x.pre = pre
	return x.dispatch(ctx, req)
}

// admit identifies the client, and counts the request.
func (x *exchange) admit(ctx context.Context, req *request) Reason {
	if !x.server.isReady() {
		return ReasonNotReady
	}
	if reason := x.identify(ctx, req.header); reason != "" {
		return reason
	}
	return x.session.Request()
}

// isReady reports whether the forbidden addresses are known.
func (s *Server) isReady() bool {
	return (s.ready == nil || s.ready()) && s.prefixes != nil && s.prefixes() != nil
}

// dispatch serves a request whose run is known, and returns what serves the rest of a tunnel.
func (x *exchange) dispatch(ctx context.Context, req *request) (rest func()) {
	if req.kind == kindCheck {
		x.check()
		return nil
	}
	l := &link{host: req.host, port: req.port, end: x.end}
	leave, reason := x.enter(l)
	if reason != "" {
		x.refuse(reason)
		return nil
	}
	x.after(leave)
	// The run counts the connection first: one that lingers over its refusal must count against a run.
	x.known()
	if req.kind == kindConnect {
		return x.connect(ctx, l.bound)
	}
	x.plain(ctx, req, l.bound)
	return nil
}

// enter counts the connection as one of its run, and registers it, so that it ends when its grant does. leave must follow.
func (x *exchange) enter(l *link) (leave func(), reason Reason) {
	s, r := x.server, x.session.run
	if reason := r.usage.enter(s.now()); reason != "" {
		return nil, reason
	}
	rule, reason := s.grants.enter(r, x.session.Grant.TokenHash, l)
	if reason != "" {
		r.usage.leave()
		return nil, reason
	}
	x.target.Rule = rule
	return func() {
		s.grants.leave(r, l)
		r.usage.leave()
	}, ""
}

// endError is the cause of the end of a connection.
type endError struct{ why Reason }

func (e endError) Error() string { return "the connection was ended: " + string(e.why) }

func ended(why Reason) error { return endError{why} }

// whyEnded returns the reason that a connection was ended for, or otherwise if it was not ended deliberately.
func whyEnded(ctx context.Context, otherwise Reason) Reason {
	if e, ok := errors.AsType[endError](context.Cause(ctx)); ok {
		return e.why
	}
	return otherwise
}
