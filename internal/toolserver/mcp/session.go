// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// maxMessage is the longest message that is read, and presetTraffic the default of maxTraffic.
	maxMessage    = 4 << 20
	presetTraffic = 32 << 20
	// replyTimeout bounds the answer to a request of a server.
	replyTimeout = 5 * time.Second
	// protocolVersion is the newest version of the protocol that is spoken. Later ones have no sessions.
	protocolVersion = "2025-11-25"
)

var (
	errTooLong = fmt.Errorf("it sent a message of more than %d MiB", maxMessage>>20)
	errFlood   = errors.New("it sent more than is read from one request to the next")
)

// session is a connection to a server.
type session struct {
	client *mcp.ClientSession
	// toolsChanged is true if the server has announced a change since its tools were listed.
	toolsChanged *atomic.Bool
	traffic      *traffic
	// abort ends the connection at once, and the connection below it.
	abort func()
	// current reports whether the way out is still the one that the server knows.
	current func() bool
	// gone is closed when the session has ended.
	gone chan struct{}
}

// transport is how a server is reached, before the session begins.
type transport struct {
	mcp.Transport
	abort   func()
	current func() bool
	traffic *traffic
	// begun is called with the version of the protocol when it is known.
	begun func(version string)
}

// begin starts a server, or connects to it.
func (m *Servers) begin(ctx context.Context, words toolapi.MCPServer) (*session, error) {
	open := m.openProgram
	if words.URL != "" {
		open = m.openURL
	}
	t, err := open(words)
	if err != nil {
		return nil, err
	}
	changed := &atomic.Bool{}
	// No handler of requests is set, so none of sampling, elicitation and roots is offered.
	client := mcp.NewClient(&mcp.Implementation{Name: "motorcortex", Version: "1"}, &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	// A program that does not read blocks its writer, even after the end of the context.
	stop := context.AfterFunc(ctx, t.abort)
	connected, err := client.Connect(ctx, guardedTransport{t.Transport, changed}, &mcp.ClientSessionOptions{ProtocolVersion: protocolVersion})
	if !stop() && err == nil {
		_ = connected.Close()
		err = ctx.Err()
	}
	if err != nil {
		t.abort()
		return nil, fmt.Errorf("begin the session: %w", err)
	}
	t.begun(connected.InitializeResult().ProtocolVersion)
	s := &session{
		client: connected, toolsChanged: changed, traffic: t.traffic, abort: t.abort, current: t.current, gone: make(chan struct{}),
	}
	go func() {
		_ = connected.Wait()
		close(s.gone)
	}()
	return s, nil
}

// usable reports whether there is a session that has not ended.
func (s *session) usable() bool {
	if s == nil {
		return false
	}
	select {
	case <-s.gone:
		return false
	default:
		return s.current()
	}
}

// end ends the session, in order if that does not take long.
func (s *session) end() {
	timer := time.AfterFunc(endTimeout, s.abort)
	defer timer.Stop()
	_ = s.client.Close()
	s.abort()
}

// traffic bounds the bytes that a server sends from one request to the next.
type traffic struct {
	most int64
	left atomic.Int64
}

func newTraffic(most int64) *traffic {
	t := &traffic{most: most}
	t.refill()
	return t
}

func (t *traffic) refill() { t.left.Store(t.most) }

// measured is a reader that counts.
type measured struct {
	io.ReadCloser
	traffic *traffic
	// message is the remainder of the longest message, negative if it is not measured here.
	message int64
}

// Read reads until too much has come.
func (r *measured) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if r.traffic.left.Add(-int64(n)) < 0 {
		return 0, errFlood
	}
	if r.message >= 0 {
		if r.message -= int64(n); r.message < 0 {
			r.message = 0
			return 0, errTooLong
		}
	}
	return n, err
}

// guardedTransport lets through only what answers a request of ours.
type guardedTransport struct {
	mcp.Transport
	changed *atomic.Bool
}

// Connect connects.
func (t guardedTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &guardedConnection{Connection: c, changed: t.changed}, nil
}

// guardedConnection answers requests of a server as they come. The library would queue them, without a bound.
type guardedConnection struct {
	mcp.Connection
	changed *atomic.Bool
}

var errPanic = errors.New("a message could not be understood")

// Read returns the next answer.
func (c *guardedConnection) Read(ctx context.Context) (msg jsonrpc.Message, err error) {
	defer func() {
		if recover() != nil {
			msg, err = nil, errPanic // It can be recovered only here: the library reads in a goroutine of its own.
		}
	}()
	for {
		msg, err := c.Connection.Read(ctx)
		req, ok := msg.(*jsonrpc.Request)
		if err != nil || !ok {
			return msg, err
		}
		if err := c.reply(ctx, req); err != nil {
			return nil, err
		}
	}
}

func (c *guardedConnection) reply(ctx context.Context, req *jsonrpc.Request) error {
	switch {
	case req.Method == "notifications/tools/list_changed":
		c.changed.Store(true)
		return nil
	case !req.IsCall():
		return nil
	}
	resp := &jsonrpc.Response{ID: req.ID, Result: json.RawMessage("{}")}
	if req.Method != "ping" {
		resp = &jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "not offered"}}
	}
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	if err := c.Write(ctx, resp); err != nil {
		return fmt.Errorf("answer the server: %w", err)
	}
	return nil
}
