// SPDX-License-Identifier: Apache-2.0

// Package terminate terminates TLS in place of a host that a credential is bound to, with a certificate of the run's own authority. It
// swaps the sandbox's handles for the values on the way out, and removes the values from the answers.
//
// The client's side is a net/http Server on a listener with one connection, and not a loop of http.ReadRequest. The server brings the
// limits and deadlines of the head, answers pipelined requests in order, and sends 100 Continue to clients that expect it. It also notices
// a client that disconnects while the host is still at work. The host's side is an http.Transport of that one connection, so that nothing
// of one run or host is ever reused for another. It opens a new connection for each request. On a connection that waits for its next
// request, a Transport writes surplus bytes of the host to the process's log, with any credential in them. No caller can see whether there
// are such bytes.
//
// The request that was read is written anew: the host sees one request with one framing, whatever the client sent.
package terminate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"motorcortex.dev/motorcortex/internal/egress"
	"motorcortex.dev/motorcortex/internal/egress/allowlist"
)

const (
	handshakeTimeout = 10 * time.Second
	headTimeout      = 10 * time.Second
	idleTimeout      = 2 * time.Minute
	// answerTimeout is how long a host may take for the head of its answer after it has the whole request.
	answerTimeout = 10 * time.Minute
	// stallTimeout is how long a connection may be open on which the client neither sends nor takes anything.
	stallTimeout = answerTimeout + time.Minute
	// continueTimeout is how long a host may take to send 100 Continue for a client that expects it.
	continueTimeout = time.Second
	// maxHead bounds the head of a request, maxAnswerHead that of an answer.
	maxHead       = 64 << 10
	maxAnswerHead = 256 << 10
)

// Config holds the dependencies of a Terminator.
type Config struct {
	// RootCAs verify the hosts' certificates. Nil means those of the system.
	RootCAs *x509.CertPool
	// Now is the clock for certificates. Nil: time.Now.
	Now func() time.Time
}

// Terminator implements egress.Terminator.
type Terminator struct {
	roots *x509.CertPool
	now   func() time.Time
	mint  *minter
}

var _ egress.Terminator = (*Terminator)(nil)

// New makes a Terminator.
func New(cfg Config) *Terminator {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Terminator{roots: cfg.RootCAs, now: cfg.Now, mint: newMinter(cfg.Now)}
}

// Serve implements egress.Terminator. An error is about the connection as a whole; a problem with one request is reported to the client and
// to the Session.
func (t *Terminator) Serve(ctx context.Context, conn net.Conn, target egress.Target, s *egress.Session, dial egress.DialFunc) error {
	watched := watch(conn)
	defer func() { _ = watched.Close() }() // the client is gone either way
	client, err := t.handshake(ctx, watched, target.Host.String(), s)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &connection{target: target, session: s, transport: t.transport(ctx, target.Host, dial)}
	defer c.transport.CloseIdleConnections()

	listener := &oneConn{conn: client, done: make(chan struct{})}
	server := &http.Server{
		Handler:           c,
		MaxHeaderBytes:    maxHead,
		ReadHeaderTimeout: headTimeout,
		IdleTimeout:       idleTimeout,
		// Protocol errors are the client's own affair, and logging them would let the client write into the proxy's log.
		ErrorLog:     log.New(io.Discard, "", 0),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		// The server would answer OPTIONS * itself.
		DisableGeneralOptionsHandler: true,
		BaseContext:                  func(net.Listener) context.Context { return ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateClosed {
				listener.end()
			}
		},
	}
	stop := context.AfterFunc(ctx, func() { _ = watched.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serve the client: %w", err)
	}
	return nil
}

// handshake speaks TLS with the client in the host's name.
func (t *Terminator) handshake(ctx context.Context, conn net.Conn, host string, s *egress.Session) (*tls.Conn, error) {
	g := s.Current()
	if g == nil {
		return nil, errors.New("the grant is gone")
	}
	leaf, err := t.mint.leaf(g, host)
	if err != nil {
		return nil, err
	}
	client := tls.Server(conn, &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		Time:       t.now,
		// A session that is resumed would not ask for the certificate, and thereby not for the name.
		SessionTicketsDisabled: true,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if !strings.EqualFold(hello.ServerName, host) {
				return nil, errors.New("the client asks for another host")
			}
			return leaf, nil
		},
	})
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := client.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("speak TLS with the client: %w", err)
	}
	return client, nil
}

// transport carries the requests of one connection to its host, and to nowhere else. Connections that it dials end with ctx.
func (t *Terminator) transport(ctx context.Context, host allowlist.Host, dial egress.DialFunc) *http.Transport {
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS12, ServerName: host.String(), RootCAs: t.roots, NextProtos: []string{"http/1.1"}, Time: t.now,
	}
	return &http.Transport{
		DialTLSContext: func(dialing context.Context, _, _ string) (net.Conn, error) {
			// A Transport goes on with dialing when its request has ended.
			dialing, cancel := context.WithCancel(dialing)
			defer cancel()
			defer context.AfterFunc(ctx, cancel)()
			return dialTLS(dialing, cfg, dial)
		},
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
		ResponseHeaderTimeout:  answerTimeout,
		ExpectContinueTimeout:  continueTimeout,
		MaxResponseHeaderBytes: maxAnswerHead,
		MaxConnsPerHost:        1,
		DisableCompression:     true,
		DisableKeepAlives:      true,
	}
}

// dialTLS returns a connection to a host that has shown its certificate, and that is not heard before it was asked.
func dialTLS(ctx context.Context, cfg *tls.Config, dial egress.DialFunc) (net.Conn, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, &dialError{err}
	}
	secure := tls.Client(conn, cfg)
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the caller reports the first error
		return nil, err
	}
	return egress.Answering(secure), nil
}

// dialError marks that the host was not reached.
type dialError struct{ err error }

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// oneConn is a listener with one connection, and lasts as long as the connection.
type oneConn struct {
	conn  net.Conn
	given bool
	once  sync.Once
	done  chan struct{}
}

// Accept is called by one goroutine only.
func (l *oneConn) Accept() (net.Conn, error) {
	if !l.given {
		l.given = true
		return l.conn, nil
	}
	<-l.done
	return nil, net.ErrClosed
}

func (l *oneConn) end()           { l.once.Do(func() { close(l.done) }) }
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }

// stalling closes a connection on which nothing moves. Deadlines would not do: the server sets its own.
type stalling struct {
	net.Conn
	timer *time.Timer
}

func watch(conn net.Conn) *stalling {
	return &stalling{Conn: conn, timer: time.AfterFunc(stallTimeout, func() { _ = conn.Close() })}
}

// Read implements net.Conn.
func (s *stalling) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.moved(n)
	return n, err
}

// Write implements net.Conn.
func (s *stalling) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	s.moved(n)
	return n, err
}

// moved begins the time anew, unless it is over: a timer that has been stopped must stay so.
func (s *stalling) moved(n int) {
	if n > 0 && s.timer.Stop() {
		s.timer.Reset(stallTimeout)
	}
}

// Close implements net.Conn.
func (s *stalling) Close() error {
	s.timer.Stop()
	return s.Conn.Close()
}

// authority is the host as a URL names it.
func authority(t egress.Target) string {
	if t.Port == 443 {
		return t.Host.String()
	}
	return net.JoinHostPort(t.Host.String(), strconv.Itoa(int(t.Port)))
}
