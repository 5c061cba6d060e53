// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"net/http"
	"sync"
)

// ongoing are the calls that go on. The SDK ends none when a session is closed, and waits for them.
type ongoing struct {
	// life ends all of them.
	life context.Context //nolint:containedctx // It is the life of the server, which calls outlive otherwise.

	mu   sync.Mutex
	last int
	// of has what ends the calls of a session, by the session's id.
	of map[string]map[int]context.CancelFunc
}

// begin returns the context of a call of a session, and what must be called when it has ended.
func (c *ongoing) begin(ctx context.Context, session string) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	number := c.last
	if c.of[session] == nil {
		if c.of == nil {
			c.of = map[string]map[int]context.CancelFunc{}
		}
		c.of[session] = map[int]context.CancelFunc{}
	}
	c.of[session][number] = cancel
	return ctx, func() {
		stop()
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.of[session], number); len(c.of[session]) == 0 {
			delete(c.of, session)
		}
	}
}

// end ends the calls of a session.
func (c *ongoing) end(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.of[session] {
		cancel()
	}
}

// endCalls has the calls of a session end that its program closes.
func (s *Server) endCalls(r *http.Request) {
	if id := r.Header.Get(sessionHeader); r.Method == http.MethodDelete && id != "" {
		s.calls.end(id)
	}
}
