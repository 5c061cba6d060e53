// SPDX-License-Identifier: Apache-2.0

package connlimit

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// served is a server with places for some connections. A request with the field Known is of a client that has shown who it is, and one for /wait is
// answered in full when wait is closed.
type served struct {
	t        *testing.T
	at       string
	listener *Listener
	tls      bool
	wait     chan struct{}
}

func serve(t *testing.T, most int, secure bool) *served {
	t.Helper()
	s := &served{t: t, tls: secure, wait: make(chan struct{})}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Known") != "" {
			Known(r.Context())
		}
		if r.URL.Path == "/wait" {
			_, _ = io.WriteString(w, "begun\n")
			_ = http.NewResponseController(w).Flush()
			<-s.wait
		}
		_, _ = io.WriteString(w, "done\n")
	}))
	s.listener = New(web.Listener, most)
	s.listener.Watch(web.Config)
	web.Listener = s.listener
	if s.at = s.listener.Addr().String(); secure {
		web.StartTLS()
	} else {
		web.Start()
	}
	t.Cleanup(web.Close)
	return s
}

// client is a connection to a server.
type client struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

// dial connects from an address of the loopback.
func (s *served) dial(from string) *client {
	s.t.Helper()
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(s.t.Context(), "tcp", s.at)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	if s.tls {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // The server is the test's.
	}
	return &client{c, s.t, bufio.NewReader(c)}
}

// asks sends a request, and returns an error unless it is answered. The answer is read up to its first line.
func (c *client) asks(path, header string) (*http.Response, error) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", path, header); err != nil {
		return nil, err
	}
	return http.ReadResponse(c.r, nil)
}

// isServed fails the test unless a request is answered in full.
func (c *client) isServed(who, header string) {
	c.t.Helper()
	answer, err := c.asks("/", header)
	if err != nil {
		c.t.Fatalf("%s is not served: %v", who, err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		c.t.Fatalf("%s is not served in full: %v", who, err)
	}
	_ = answer.Body.Close()
}

// isClosed waits until the server has closed the connection.
func (c *client) isClosed(who string) {
	c.t.Helper()
	_, err := io.Copy(io.Discard, c.Conn)
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		c.t.Fatalf("%s is still connected", who)
	}
}

// flood opens connections from addresses in turn. Each sends the first part of a request, and has a place or had one when flood returns.
func (s *served) flood(n, addresses int) {
	s.t.Helper()
	s.listener.mu.Lock()
	before := s.listener.clock
	s.listener.mu.Unlock()
	for i := range n {
		c := s.dial(fmt.Sprintf("127.0.1.%d", 1+i%addresses))
		if !s.tls {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n") // It may be closed by now.
		}
	}
	s.becomes("the flood is in the listener", func() bool { return s.listener.clock >= before+uint64(n) })
}

// becomes waits for a condition of the listener, whose lock is held.
func (s *served) becomes(what string, ok func() bool) {
	s.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); ; {
		s.listener.mu.Lock()
		done := ok()
		s.listener.mu.Unlock()
		if done {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			s.t.Fatalf("it did not come to this: %s", what)
		}
	}
}

const known = "Known: yes\r\n"

// The metrics of the manager were once closed to a reader by four addresses with 16 connections each.
func TestAClientIsServedWhileStrangersHoldAllPlaces(t *testing.T) {
	t.Parallel()
	for name, addresses := range map[string]int{"of one address": 1, "of four addresses": 4, "of as many addresses": 64} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 16, false)
			s.flood(64, addresses)
			s.dial("127.0.0.1").isServed("a client", "")
		})
	}
}

// A client that has not shown who it is keeps its place while others come from few addresses.
func TestAFloodFromFewAddressesTakesPlacesFromItself(t *testing.T) {
	t.Parallel()
	s := serve(t, 8, false)
	c := s.dial("127.0.0.1")
	c.isServed("a client", "")
	s.flood(64, 3)
	c.isServed("the same client after the flood", "")
}

// The oldest connection of a flood goes, so that a client at the address of the flood is served, too.
func TestAClientAtTheAddressOfAFloodIsServed(t *testing.T) {
	t.Parallel()
	s := serve(t, 8, false)
	s.flood(64, 1)
	s.dial("127.0.1.1").isServed("a client", "")
}

func TestAFloodFromManyAddressesLeavesAKnownClientItsPlace(t *testing.T) {
	t.Parallel()
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, 4, secure)
			idle, stranger := s.dial("127.0.0.1"), s.dial("127.0.0.2")
			idle.isServed("a client", known)
			stranger.isServed("a stranger", "")
			s.flood(64, 64)
			stranger.isClosed("the stranger")
			idle.isServed("the client after the flood", "")
		})
	}
}

// Only if all places are those of known clients, one of them gives its own.
func TestTheKnownClientThatHasWaitedLongestGivesItsPlace(t *testing.T) {
	t.Parallel()
	s := serve(t, 3, false)
	var waits []*client
	for range 3 {
		c := s.dial("127.0.0.1")
		c.isServed("a client", known)
		s.standStill(len(waits) + 1)
		waits = append(waits, c)
	}
	waits[0].isServed("the first client again", known)
	s.standStill(3)
	s.dial("127.0.0.1").isServed("another client", "")
	waits[1].isClosed("the client that has waited longest")
	waits[0].isServed("the first client", known)
	waits[2].isServed("the third client", known)
}

// standStill waits until so many known connections have no request. A server notes that after its answer.
func (s *served) standStill(want int) {
	s.t.Helper()
	s.becomes(fmt.Sprintf("%d known connections have no request", want), func() bool {
		n := 0
		for _, c := range s.listener.open {
			if c.known && !c.busy {
				n++
			}
		}
		return n == want
	})
}

func TestARequestOfAKnownClientIsNotBrokenOff(t *testing.T) {
	t.Parallel()
	s := serve(t, 2, false)
	var answers []io.ReadCloser
	for range 2 {
		answer, err := s.dial("127.0.0.1").asks("/wait", known) //nolint:bodyclose // It is closed below.
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, answer.Body)
	}
	got := make(chan error, 1)
	late := s.dial("127.0.0.2")
	go func() {
		answer, err := late.asks("/", "")
		if err == nil {
			_ = answer.Body.Close()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("one without a place is answered: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(s.wait)
	for _, answer := range answers {
		if text, err := io.ReadAll(answer); err != nil || string(text) != "begun\ndone\n" {
			t.Errorf("%q, %v", text, err)
		}
		_ = answer.Close()
	}
	if err := <-got; err != nil {
		t.Errorf("one that has waited: %v", err)
	}
}

func TestAConnectionThatEndsGivesItsPlaceBackOnce(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, at: l.Addr().String(), listener: New(l, 2)}
	t.Cleanup(func() { _ = s.listener.Close() })
	var accepted []net.Conn
	accept := func() *client {
		t.Helper()
		c := s.dial("127.0.0.1")
		got, err := s.listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		accepted = append(accepted, got)
		return c
	}
	accept()
	second := accept()
	for range 3 {
		_ = accepted[0].Close()
	}
	accept()
	accept()
	second.isClosed("the oldest of three")
	if n := len(s.listener.open); n != 2 {
		t.Errorf("%d connections are open", n)
	}
	for _, c := range accepted {
		_ = c.Close()
	}
	if len(s.listener.open) != 0 || len(s.listener.strangers) != 0 {
		t.Errorf("after all have ended: %d connections, %v", len(s.listener.open), s.listener.strangers)
	}
}

// Closing the listener ends a wait for listener.
func TestAListenerWithoutRoomCloses(t *testing.T) {
	t.Parallel()
	s := serve(t, 0, false)
	c := s.dial("127.0.0.1")
	if err := s.listener.Close(); err != nil {
		t.Fatal(err)
	}
	c.isClosed("a client without a place")
}

// Outside of a listener there is nothing to note.
func TestARequestOfAnotherServerIsNoOnesPlace(t *testing.T) {
	t.Parallel()
	Known(t.Context())
}

type from struct {
	net.Conn
	at string
}

func (f from) RemoteAddr() net.Addr { return f }
func (from) Network() string        { return "tcp" }
func (f from) String() string       { return f.at }

func TestSourcesAreAddressesAndNetworksOfIPv6(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]netip.Prefix{
		"192.0.2.1:80":           netip.MustParsePrefix("192.0.2.1/32"),
		"[::ffff:192.0.2.1]:80":  netip.MustParsePrefix("192.0.2.1/32"),
		"[2001:db8:1:2:3::4]:80": netip.MustParsePrefix("2001:db8:1:2::/64"),
		"[fe80::1%eth0]:80":      netip.MustParsePrefix("fe80::/64"),
		"@":                      {},
	} {
		if got := sourceOf(from{at: at}); got != want {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
}
