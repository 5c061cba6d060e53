// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// maxTurn is how long a loop may keep a place of a gate: what is done there waits for the sandbox, which can drip, while the runs of
// others wait for the place. The largest skill and the largest archive take seconds.
const maxTurn = time.Minute

// errTimeOver is the cause of the end of what took too long.
var errTimeOver = errors.New("the time for it is over")

// gate lets a few loops at a time do what takes memory, or what must not be done by two at once, in the order in which they come. A
// namespace has at most half of the places, so that it cannot keep the others out. The zero gate is ready.
type gate struct {
	mu sync.Mutex
	// visits are those that wait or are inside, the first one first.
	visits []*visit
}

// visit is the stay of a loop at a gate. inside is closed, and isInside true, from when it has a place.
type visit struct {
	namespace string
	isInside  bool
	inside    chan struct{}
}

// enter waits for one of the places, of which every call for a gate says the same number, and gives what is to be called to leave it.
// To call that again does nothing.
func (g *gate) enter(ctx context.Context, namespace string, places int) (leave func(), err error) {
	v := &visit{namespace: namespace, inside: make(chan struct{})}
	g.change(places, func() { g.visits = append(g.visits, v) })
	leave = func() {
		g.change(places, func() { g.visits = slices.DeleteFunc(g.visits, func(other *visit) bool { return other == v }) })
	}
	select {
	case <-v.inside:
	case <-ctx.Done():
	}
	// With both of them true, either may have been seen.
	if ctx.Err() != nil {
		leave()
		return nil, context.Cause(ctx)
	}
	return leave, nil
}

// change changes the visits, and lets in whoever has a place then. Whose namespace has its half is passed over.
func (g *gate) change(places int, visits func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	visits()
	taken, by := 0, map[string]int{}
	count := func(v *visit) { taken++; by[v.namespace]++ }
	for _, v := range g.visits {
		if v.isInside {
			count(v)
		}
	}
	for _, v := range g.visits {
		if !v.isInside && taken < places && by[v.namespace] < max(1, places/2) {
			v.isInside = true
			close(v.inside)
			count(v)
		}
	}
}

// turn waits for the run's turn at a gate, for as long as the run may wait. What is done then has maxTurn, which is the time of held.
func (s *sandboxTools) turn(ctx context.Context, g *gate, places int) (held context.Context, leave func(), err error) {
	out, err := g.enter(ctx, s.run.Namespace, places)
	if err != nil {
		return nil, nil, err
	}
	if !s.engine.mayDecide() {
		// The process was frozen while it waited.
		out()
		return nil, nil, errNoLease
	}
	held, cancel := context.WithTimeoutCause(ctx, maxTurn, errTimeOver)
	return held, func() { cancel(); out() }, nil
}
