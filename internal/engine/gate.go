// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
)

// gate lets a few loops at a time do what takes memory, or what must not be done by two at once. The zero gate is ready.
type gate struct {
	once   sync.Once
	places chan struct{}
}

// enter waits for one of the places, of which there are as many as the first call says, and gives what is to be called to leave it.
func (g *gate) enter(ctx context.Context, places int) (leave func(), err error) {
	g.once.Do(func() { g.places = make(chan struct{}, places) })
	select {
	case g.places <- struct{}{}:
		return func() { <-g.places }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
