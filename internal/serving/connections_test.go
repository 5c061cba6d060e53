// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// few serves with room for some connections. A request for /wait is answered when the channel is closed.
func few(t *testing.T, most int) (address string, wait chan struct{}) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	wait = make(chan struct{})
	c := newConnections(l, most)
	s := &http.Server{ReadHeaderTimeout: time.Minute, ConnState: c.state, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-wait
		}
	})}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(c) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-ended
	})
	return l.Addr().String(), wait
}

// asks opens a connection and sends a request. The first line of the answer is read.
func asks(t *testing.T, address, path string) (conn net.Conn, answered <-chan error) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(conn).ReadString('\n')
		got <- err
	}()
	return conn, got
}

func within(t *testing.T, what string, c <-chan error) {
	t.Helper()
	select {
	case err := <-c:
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%s takes over a minute", what)
	}
}

// A stranger who keeps connections open without a request keeps no one out.
func TestAnIdleConnectionGivesItsPlaceToANewOne(t *testing.T) {
	t.Parallel()
	address, _ := few(t, 3)
	first, answered := asks(t, address, "/")
	within(t, "the first", answered)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, first) // It may be closed in any way.
	}()
	// A server knows only some time after its answer that a connection is idle.
	for over := time.Now().Add(time.Minute); ; {
		_, answered := asks(t, address, "/")
		within(t, "a further one", answered)
		select {
		case <-ended:
			return
		default:
		}
		if time.Now().After(over) {
			t.Fatal("the one that was idle longest stays open")
		}
	}
}

// A connection at work keeps its place, and a new one waits for the end of a request.
func TestANewConnectionWaitsForTheEndOfARequest(t *testing.T) {
	t.Parallel()
	address, wait := few(t, 2)
	for range 2 {
		_, answered := asks(t, address, "/wait")
		within(t, "one at work", answered)
	}
	_, answered := asks(t, address, "/")
	select {
	case err := <-answered:
		t.Errorf("one without a place is answered: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(wait)
	within(t, "one that has waited", answered)
}

// Closing the listener ends a wait for room.
func TestAListenerWithoutRoomCloses(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newConnections(l, 0)
	ended := make(chan error, 2)
	go func() {
		if _, err := c.Accept(); !errors.Is(err, net.ErrClosed) {
			ended <- fmt.Errorf("accept: %w", err)
		}
		ended <- nil
	}()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	within(t, "Accept", ended)
}
