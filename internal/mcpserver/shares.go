// SPDX-License-Identifier: Apache-2.0

package mcpserver

import "sync"

// Shares bounds how much of something is in use at once: by all together, and by each of them.
type Shares struct {
	all, each int64

	mu   sync.Mutex
	used int64
	by   map[string]int64
}

// NewShares returns shares of which all users together have so much at once, and each of them so much.
func NewShares(all, each int64) *Shares { return &Shares{all: all, each: each, by: map[string]int64{}} }

// Take reports whether a user gets so much. What was taken must be given back.
func (s *Shares) Take(user string, much int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+much > s.all || s.by[user]+much > s.each {
		return false
	}
	s.used += much
	s.by[user] += much
	return true
}

// Give returns what was taken.
func (s *Shares) Give(user string, much int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used -= much
	if s.by[user] -= much; s.by[user] <= 0 {
		delete(s.by, user) // There are as many entries as users that have something.
	}
}
