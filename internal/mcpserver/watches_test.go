// SPDX-License-Identifier: Apache-2.0

package mcpserver

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"motorcortex.dev/motorcortex/pkg/client/motor"
)

// sessionsOf are sessions of a server, which tests close.
func sessionsOf(t *testing.T, n int) []*mcp.ServerSession {
	t.Helper()
	var all []*mcp.ServerSession
	for range n {
		here, there := mcp.NewInMemoryTransports()
		s, err := mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil).Connect(t.Context(), here, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := mcp.NewClient(&mcp.Implementation{Name: "y", Version: "1"}, nil).Connect(t.Context(), there, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		all = append(all, s)
	}
	return all
}

// forEver is a watch of a run in which nothing happens. It says when it begins and ends.
func forEver(said chan<- string) func(context.Context, string) iter.Seq2[motor.Event, error] {
	return func(ctx context.Context, run string) iter.Seq2[motor.Event, error] {
		return func(yield func(motor.Event, error) bool) {
			said <- "begin " + run
			<-ctx.Done()
			said <- "end " + run
			yield(motor.Event{}, ctx.Err())
		}
	}
}

// next returns what was said next.
func next(t *testing.T, said <-chan string) string {
	t.Helper()
	select {
	case s := <-said:
		return s
	case <-time.After(time.Minute):
		t.Fatal("nothing was said")
		return ""
	}
}

func TestARunHasOneWatchForAllOfItsSubscribers(t *testing.T) {
	t.Parallel()
	said := make(chan string, 10)
	w := newWatches(t.Context(), forEver(said), func(context.Context, string) { t.Error("there is news of the end of a watch") })
	s := sessionsOf(t, 2)
	for _, session := range s {
		if err := w.begin(session, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if got := next(t, said); got != "begin a" {
		t.Errorf("%s", got)
	}
	w.end(s[0], "a")
	if n := w.count(); n != 1 {
		t.Errorf("%d watches while one subscriber is left", n)
	}
	// A session that closes takes its subscriptions with it.
	_ = s[1].Close()
	if got := next(t, said); got != "end a" || w.count() != 0 {
		t.Errorf("%s, and %d watches", got, w.count())
	}
}

func TestWatchesAreBounded(t *testing.T) {
	t.Parallel()
	said := make(chan string, 3*maxWatches)
	ctx, cancel := context.WithCancel(t.Context())
	w := newWatches(ctx, forEver(said), func(context.Context, string) {})
	s := sessionsOf(t, 1)
	for i := range maxWatches {
		if err := w.begin(s[0], fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.begin(s[0], "one more"); err == nil {
		t.Error("there is one more")
	}
	// All of them end with the server.
	cancel()
	_ = s[0].Close()
	w.goes.Wait()
	if n := w.count(); n != 0 {
		t.Errorf("%d watches are left", n)
	}
	if err := w.begin(s[0], "later"); err == nil {
		t.Error("a server that has ended watches a run")
	}
}
