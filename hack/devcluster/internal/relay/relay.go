// SPDX-License-Identifier: Apache-2.0

// Package relay carries connections across the border of the cluster's network, which no packet
// crosses: inwards to the API server, and, only where asked for, outwards through a proxy.
package relay

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"sync"
	"time"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/wait"
)

// dialTimeout bounds how long a caller waits for the other side to answer.
const dialTimeout = 10 * time.Second

// Dial connects to the other side of a relay.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Forward accepts connections and joins each to a new one to the target.
func Forward(ctx context.Context, listener net.Listener, dial Dial, target string) error {
	return serve(ctx, listener, func(ctx context.Context, client net.Conn) error {
		bounded, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		server, err := dial(bounded, "tcp", target)
		if err != nil {
			return err
		}
		join(client, server)
		return nil
	})
}

// serve handles each connection in a goroutine of its own until the context ends.
func serve(ctx context.Context, listener net.Listener, handle func(context.Context, net.Conn) error) error {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			// Out of file descriptors, most likely; connections that end make room.
			log.Printf("accept: %v", err)
			if wait.Pause(ctx, 100*time.Millisecond) != nil {
				return nil
			}
			continue
		}
		go func() {
			defer func() { _ = conn.Close() }()
			if err := handle(ctx, conn); err != nil {
				log.Printf("connection from %s: %v", conn.RemoteAddr(), err)
			}
		}()
	}
}

// halfCloser is a connection whose sending side can end before its receiving side.
type halfCloser interface{ CloseWrite() error }

// join copies both ways until both are done. When one side has nothing more to say the other is told,
// and may still answer.
func join(a, b net.Conn) {
	var copies sync.WaitGroup
	for _, pair := range [][2]net.Conn{{a, b}, {b, a}} {
		copies.Go(func() {
			to, from := pair[0], pair[1]
			_, err := io.Copy(to, from)
			half, ok := to.(halfCloser)
			if err != nil || !ok || half.CloseWrite() != nil {
				_, _ = to.Close(), from.Close()
			}
		})
	}
	copies.Wait()
	_ = b.Close()
}
