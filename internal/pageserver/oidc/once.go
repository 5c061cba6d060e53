// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"errors"
	"sync"
	"time"
)

// maxOnce is the most names that a once has. Each is of a person who logged in at the issuer.
const maxOnce = 1 << 16

// errOnceFull is why no name is taken.
var errOnceFull = errors.New("too many persons logged in or out in a short time: try again later")

// once takes each name once, until the name means nothing any more. The zero value is ready.
type once struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// take reports whether the name is taken now for the first time. It returns an error when it has no room: a name must not be forgotten before its time.
func (o *once) take(name string, now, until time.Time) (first bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, taken := o.until[name]; taken {
		return false, nil
	}
	if len(o.until) >= maxOnce {
		for n, t := range o.until {
			if !now.Before(t) {
				delete(o.until, n)
			}
		}
	}
	if len(o.until) >= maxOnce {
		return false, errOnceFull
	}
	if o.until == nil {
		o.until = map[string]time.Time{}
	}
	o.until[name] = until
	return true, nil
}

// taken reports whether a name was taken.
func (o *once) taken(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, taken := o.until[name]
	return taken
}
