// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A program that does not read what it asked for holds its request for a while, and not for as long as it likes.
func TestARequestEndsWhoseProgramDoesNotRead(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := httptest.NewServer(inTime(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		for part := strings.Repeat("x", 1<<20); err == nil; {
			_, err = io.WriteString(w, part)
		}
		<-r.Context().Done() // As the SDK waits for more to write.
		ended <- err
	}), 100*time.Millisecond))
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ends without an error")
		}
	case <-time.After(time.Minute):
		t.Error("the request goes on")
	}
}

// The time is one of a write: a stream in which nothing happens stays open, and its connection is used again.
func TestAStreamStaysOpen(t *testing.T) {
	t.Parallel()
	const within = 50 * time.Millisecond
	gone := make(chan struct{})
	s := httptest.NewServer(inTime(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
			t.Errorf("the deadlines of the connection are not there: %v", err)
		}
		for _, part := range []string{"a", "b"} {
			_, _ = io.WriteString(w, part+"\n")
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Errorf("flush: %v", err)
			}
			select {
			case <-time.After(4 * within):
			case <-r.Context().Done():
				close(gone)
				return
			}
		}
	}), within))
	defer s.Close()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	from := bufio.NewReader(conn)
	for range 2 {
		r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, s.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Write(conn); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(from, r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || string(body) != "a\nb\n" {
			t.Errorf("got %q, %v", body, err)
		}
		_ = answer.Body.Close()
	}
	if len(gone) > 0 {
		t.Error("the request ended before its handler")
	}
}
