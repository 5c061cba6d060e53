// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"motorcortex.dev/motorcortex/internal/cli/verb"
	"motorcortex.dev/motorcortex/internal/mcpserver"
	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// path is where the server is.
const path = "/mcp"

// serveHTTP serves programs of this machine until the context ends. Who has the token has the rights of the account.
func serveHTTP(ctx context.Context, s verb.Streams, address string, client *motor.Client, consent bool) error {
	if err := local(address); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", address, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	token := rand.Text()
	server := mcpserver.New(ctx, client, consent, mcpserver.Bounds{})
	fmt.Fprintf(s.Out, "url:   http://%s%s\ntoken: %s\n", listener.Addr(), path, token)
	fmt.Fprintln(s.Err, "Send the token as \"Authorization: Bearer …\". Who has it acts with your rights.")
	h := mcpserver.HTTP(ctx, handler(server, token))
	stop := context.AfterFunc(ctx, func() { _ = h.Close() }) // Streams stay open for ever: they are not waited for.
	defer stop()
	err = h.Serve(listener)
	cancel()
	for session := range server.Sessions() {
		_ = session.Close() // It ends with the program.
	}
	server.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// local returns an error for an address that other machines can reach: the token would go over the network unencrypted.
func local(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return verb.Misusedf("--listen %s is no address, as in 127.0.0.1:8808: %w", address, err)
	}
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return nil
	}
	return verb.Misusedf("--listen %s is not of the loopback: only programs of this machine are served, as at 127.0.0.1:8808", address)
}

// handler serves the sessions of a server to who has the token.
func handler(server *mcpserver.Server, token string) http.Handler {
	verify := func(_ context.Context, given string, _ *http.Request) (*auth.TokenInfo, error) {
		if subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{UserID: "local"}, nil
	}
	mux := http.NewServeMux()
	mux.Handle(path, mcpserver.Handler(verify, func(http.ResponseWriter, *http.Request) *mcpserver.Server { return server }))
	return mux
}
