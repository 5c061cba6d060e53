// SPDX-License-Identifier: Apache-2.0

// Package shares bounds how much of something the users of a server have at once, so that no user takes it from all others.
package shares

import (
	"container/list"
	"context"
	"sync"
)

// Shares bounds how much of something is in use at once: by all together, and by each of them.
type Shares struct {
	all, each int64

	mu   sync.Mutex
	used int64
	by   map[string]int64
	// waiting has those that wait, the longest first.
	waiting list.List
}

// waiter is one that waits.
type waiter struct {
	user string
	much int64
	// got is closed when it has what it waits for.
	got chan struct{}
}

// New returns shares of which all users together have so much at once, and each of them so much.
func New(all, each int64) *Shares { return &Shares{all: all, each: each, by: map[string]int64{}} }

// Take reports whether a user gets so much now. What was taken must be given back.
func (s *Shares) Take(user string, much int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(user, much)
}

// Wait waits until a user gets so much. What comes free goes to a user that has the least, and of such to the one that waits the longest: a user with a long
// queue of its own is before no other one. What was taken must be given back. Wait returns the cause of the context's end if that comes before. The caller
// bounds how many wait.
func (s *Shares) Wait(ctx context.Context, user string, much int64) error {
	s.mu.Lock()
	if s.take(user, much) {
		s.mu.Unlock()
		return nil
	}
	w := &waiter{user, much, make(chan struct{})}
	place := s.waiting.PushBack(w)
	s.mu.Unlock()
	select {
	case <-w.got:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.got:
		s.give(user, much) // It came in the same moment, and it is used by none.
	default:
		s.waiting.Remove(place)
	}
	return context.Cause(ctx)
}

// Give returns what was taken.
func (s *Shares) Give(user string, much int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.give(user, much)
}

// take reports whether there was so much for the user. The caller holds mu.
func (s *Shares) take(user string, much int64) bool {
	if !s.fits(user, much) {
		return false
	}
	s.used += much
	s.by[user] += much
	return true
}

// give returns something, and hands it on to those that wait. The caller holds mu.
func (s *Shares) give(user string, much int64) {
	s.used -= much
	if s.by[user] -= much; s.by[user] <= 0 {
		delete(s.by, user) // There are as many entries as users that have something.
	}
	for next := s.next(); next != nil; next = s.next() {
		w := s.waiting.Remove(next).(*waiter)
		s.take(w.user, w.much)
		close(w.got)
	}
}

// next returns who gets what is free, nil if it is enough for none that waits. The caller holds mu.
func (s *Shares) next() (next *list.Element) {
	least := int64(0)
	for place := s.waiting.Front(); place != nil; place = place.Next() {
		w := place.Value.(*waiter)
		if has := s.by[w.user]; s.fits(w.user, w.much) && (next == nil || has < least) {
			next, least = place, has
		}
	}
	return next
}

// fits reports whether there is so much for the user. The caller holds mu.
func (s *Shares) fits(user string, much int64) bool {
	return s.used+much <= s.all && s.by[user]+much <= s.each
}
