// SPDX-License-Identifier: Apache-2.0

//go:build linux

package packages

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
)

// relay is a proxy on the loopback interface that sends tunnels on to the egress proxy with the token of the sandbox. It is
// for npm: with the proxy agent that Debian packages beside it, it never sends the user and password of a proxy's address.
type relay struct {
	listener net.Listener
	upstream *url.URL
	ctx      context.Context //nolint:containedctx // connections live as long as the relay
	cancel   context.CancelFunc
	running  sync.WaitGroup
}

// startRelay listens. upstream is the address of the egress proxy with its user and token.
func startRelay(ctx context.Context, upstream string) (*relay, error) {
	to, err := url.Parse(upstream)
	if err != nil {
		return nil, errors.New("the address of the proxy cannot be read") // The error has the token.
	}
	loopback := "127.0.0.1:0"
	if ip, err := netip.ParseAddr(to.Hostname()); err == nil && ip.Is6() {
		loopback = "[::1]:0" // Programs get sockets of one family only, and that is the proxy's.
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", loopback)
	if err != nil {
		return nil, fmt.Errorf("listen for npm: %w", err)
	}
	r := &relay{listener: ln, upstream: to}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.running.Go(r.serve)
	return r, nil
}

// address is the proxy address for npm.
func (r *relay) address() string { return "http://" + r.listener.Addr().String() }

// close ends all tunnels and waits.
func (r *relay) close() {
	r.cancel()
	_ = r.listener.Close() // It is closed nowhere else.
	r.running.Wait()
}

func (r *relay) serve() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.running.Go(func() { r.tunnel(conn) })
	}
}

// tunnel forwards one CONNECT. The answer of the egress proxy is returned unchanged.
func (r *relay) tunnel(client net.Conn) {
	defer client.Close()
	stop := context.AfterFunc(r.ctx, func() { _ = client.Close() })
	defer stop()
	in := bufio.NewReader(client)
	req, err := http.ReadRequest(in)
	if err != nil || req.Method != http.MethodConnect {
		_, _ = io.WriteString(client, "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		return
	}
	server, err := (&net.Dialer{}).DialContext(r.ctx, "tcp", r.upstream.Host)
	if err != nil {
		_, _ = io.WriteString(client, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
		return
	}
	defer server.Close()
	stopServer := context.AfterFunc(r.ctx, func() { _ = server.Close() })
	defer stopServer()
	token := base64.StdEncoding.EncodeToString([]byte(r.upstream.User.String()))
	if _, err := fmt.Fprintf(server, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\n\r\n", req.Host, req.Host, token); err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(client, server) // Either end may close at any time.
		_ = client.Close()
	})
	_, _ = io.Copy(server, in)
	if tcp, ok := server.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	back.Wait()
}
