// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// listen opens a listener on the loopback for the time of a test.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// shouter answers each connection, once the client has said all, with the same in capitals: an answer
// after the end of the request needs connections that close in one direction only.
func shouter(t *testing.T) string {
	listener := listen(t)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				text, _ := io.ReadAll(conn)
				_, _ = io.WriteString(conn, strings.ToUpper(string(text)))
			}()
		}
	}()
	return listener.Addr().String()
}

// start runs a relay for the time of a test and returns its address.
func start(t *testing.T, serve func(context.Context, net.Listener) error) string {
	listener := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the relay ended with %v", err)
		}
	})
	return listener.Addr().String()
}

func connect(t *testing.T, address string) *net.TCPConn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func TestForward(t *testing.T) {
	target := shouter(t)
	address := start(t, func(ctx context.Context, listener net.Listener) error {
		return Forward(ctx, listener, (&net.Dialer{}).DialContext, target)
	})
	conn := connect(t, address)
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || string(answer) != "HELLO" {
		t.Errorf("answer %q, %v", answer, err)
	}
}

func TestUplink(t *testing.T) {
	target := shouter(t)
	address := start(t, func(ctx context.Context, listener net.Listener) error {
		return Uplink(ctx, listener, (&net.Dialer{}).DialContext)
	})
	cases := map[string]struct {
		request string
		status  int
		answer  string
	}{
		"tunnel":               {request: "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n", status: 200, answer: "EARLY BYTES"},
		"plain HTTP":           {request: "GET http://" + target + "/ HTTP/1.1\r\nHost: " + target + "\r\n\r\n", status: 405},
		"no port":              {request: "CONNECT localhost HTTP/1.1\r\nHost: localhost\r\n\r\n", status: 400},
		"nobody listens there": {request: "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", status: 502},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			conn := connect(t, address)
			// The first bytes for the target come right behind the request.
			if _, err := fmt.Fprint(conn, tc.request, "early bytes"); err != nil {
				t.Fatal(err)
			}
			if err := conn.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			reader := bufio.NewReader(conn)
			response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != tc.status {
				t.Errorf("status %d, want %d", response.StatusCode, tc.status)
			}
			if tc.answer == "" {
				return
			}
			if answer, err := io.ReadAll(reader); err != nil || string(answer) != tc.answer {
				t.Errorf("answer %q, %v", answer, err)
			}
		})
	}
}
