// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// maxWatches is the most runs that the sessions of a server are subscribed to.
const maxWatches = 64

// watches are the runs that sessions are subscribed to. A run has one watch, whatever the number of its subscribers.
type watches struct {
	watch  func(ctx context.Context, run string) iter.Seq2[motor.Event, error]
	notify func(ctx context.Context, run string)
	all    context.Context //nolint:containedctx // It is the life of the server, which watches end with and not the request that began them.

	mu       sync.Mutex
	runs     map[string]*watched
	sessions map[*mcp.ServerSession]bool
	goes     sync.WaitGroup
}

// watched is a run with its subscribers.
type watched struct {
	by     map[*mcp.ServerSession]bool
	cancel context.CancelFunc
}

func newWatches(
	ctx context.Context, watch func(context.Context, string) iter.Seq2[motor.Event, error], notify func(ctx context.Context, run string),
) *watches {
	return &watches{watch: watch, notify: notify, all: ctx, runs: map[string]*watched{}, sessions: map[*mcp.ServerSession]bool{}}
}

// begin subscribes a session to a run. The subscription ends with the session, at the latest.
func (w *watches) begin(session *mcp.ServerSession, run string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all.Err() != nil {
		return context.Cause(w.all)
	}
	if !w.sessions[session] {
		w.sessions[session] = true
		w.goes.Go(func() {
			_ = session.Wait() // How it ended does not matter here.
			w.leave(session)
		})
	}
	if there := w.runs[run]; there != nil {
		there.by[session] = true
		return nil
	}
	if len(w.runs) >= maxWatches {
		return fmt.Errorf("%d runs are watched already: unsubscribe from one", maxWatches)
	}
	ctx, cancel := context.WithCancel(w.all)
	now := &watched{by: map[*mcp.ServerSession]bool{session: true}, cancel: cancel}
	w.runs[run] = now
	w.goes.Go(func() {
		defer w.drop(run, now)
		for _, err := range w.watch(ctx, run) {
			if ctx.Err() != nil {
				return
			}
			// A run that cannot be watched any more is a change too: its reader finds out why.
			w.notify(ctx, run)
			if err != nil {
				return
			}
		}
	})
	return nil
}

// end takes a subscription back.
func (w *watches) end(session *mcp.ServerSession, run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if there := w.runs[run]; there != nil {
		w.without(run, there, session)
	}
}

// leave takes all subscriptions of a session back.
func (w *watches) leave(session *mcp.ServerSession) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sessions, session)
	for run, there := range w.runs {
		w.without(run, there, session)
	}
}

// without ends the watch of a run with its last subscriber. The lock is held.
func (w *watches) without(run string, there *watched, session *mcp.ServerSession) {
	delete(there.by, session)
	if len(there.by) == 0 {
		there.cancel()
		delete(w.runs, run)
	}
}

// drop forgets a watch that has ended.
func (w *watches) drop(run string, ended *watched) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended.cancel()
	if w.runs[run] == ended {
		delete(w.runs, run)
	}
}

// count is how many runs are watched.
func (w *watches) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.runs)
}
