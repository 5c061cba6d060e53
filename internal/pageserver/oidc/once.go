// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"errors"
	"sync"
	"time"
)

// maxOnce is the most names that a once has. Each is of a person who logged in at the issuer.
const maxOnce = 1 << 16

var (
	// errOnceFull is why no name is taken.
	errOnceFull = errors.New("too many persons logged in or out in a short time: try again later")
	// errOnceOften is why no name of a person is taken.
	errOnceOften = errors.New("the person logged in too often in a short time: try again later")
)

// once takes each name once, until the name means nothing any more. The zero value is ready.
type once struct {
	// of is the most names of one person, 0 for no bound: one person must not take the room of all.
	of int

	mu    sync.Mutex
	names map[string]taken
	// held counts those of each person.
	held map[string]int
}

// taken is whose a name is, and until when it means something.
type taken struct {
	person string
	until  time.Time
}

// take reports whether the name of a person is taken now for the first time. It returns an error when it has no room: a name must not be forgotten before
// its time.
func (o *once) take(person, name string, now, until time.Time) (first bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, was := o.names[name]; was {
		return false, nil
	}
	if len(o.names) >= maxOnce || o.often(person) {
		o.forget(now)
	}
	switch {
	case o.often(person):
		return false, errOnceOften
	case len(o.names) >= maxOnce:
		return false, errOnceFull
	case o.names == nil:
		o.names, o.held = map[string]taken{}, map[string]int{}
	}
	o.names[name] = taken{person, until}
	o.held[person]++
	return true, nil
}

func (o *once) often(person string) bool { return o.of > 0 && o.held[person] >= o.of }

// forget makes room: it forgets the names that mean nothing any more.
func (o *once) forget(now time.Time) {
	for name, t := range o.names {
		if now.Before(t.until) {
			continue
		}
		delete(o.names, name)
		if o.held[t.person]--; o.held[t.person] == 0 {
			delete(o.held, t.person)
		}
	}
}

// taken reports whether a name was taken.
func (o *once) taken(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, was := o.names[name]
	return was
}
