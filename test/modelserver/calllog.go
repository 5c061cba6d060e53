// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"
	"time"
)

// logSize bounds the log; older entries are forgotten.
const logSize = 10_000

// Kinds of an entry beside the names of the asides.
const (
	kindTurn  = "turn"
	kindOther = "other"
)

// entry is one completion request and what it was answered.
type entry struct {
	Seq  int64     `json:"seq"`
	Time time.Time `json:"time"`
	// Kind is turn, summary, partial or hint, and other if the request got no further.
	Kind string `json:"kind"`
	// Script is empty and Turn -1 if the request got no further.
	// Turn is -1 in an aside too.
	Script   string `json:"script"`
	Turn     int    `json:"turn"`
	TurnName string `json:"turnName,omitempty"`
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages int    `json:"messages"`
	// PromptTokens is an estimate from the length of the request.
	PromptTokens int `json:"promptTokens"`
	// Conversation is the same for all requests that began alike.
	Conversation  string `json:"conversation,omitempty"`
	RequestSHA256 string `json:"requestSHA256"`
	Status        int    `json:"status"`
	Fault         string `json:"fault,omitempty"`
	// Answered says in short what the answer was, or would have been.
	Answered string `json:"answered"`
	// Outcome is waiting, sent, cut or clientGone.
	Outcome string `json:"outcome"`
}

// callLog is a ring of entries. Numbers are never used twice, also not after a
// reset, so that a late outcome cannot land in another request's entry.
type callLog struct {
	mu      sync.Mutex
	last    int64
	entries []entry // Sorted by number, without gaps.
	size    int
}

func (l *callLog) add(e entry) (seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.Seq = l.last
	if len(l.entries) == l.size {
		// The slice moves along its array and is copied by append only now and then.
		l.entries = l.entries[1:]
	}
	l.entries = append(l.entries, e)
	return e.Seq
}

func (l *callLog) setOutcome(seq int64, outcome string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.entries) == 0 {
		return
	}
	if i := seq - l.entries[0].Seq; i >= 0 && i < int64(len(l.entries)) {
		l.entries[i].Outcome = outcome
	}
}

func (l *callLog) list() []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]entry{}, l.entries...)
}

func (l *callLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}

// maxCounters bounds the number of turns whose faults are counted at a time.
const maxCounters = 10_000

// counters counts requests by turn and conversation. It forgets the oldest
// counter when there are too many.
type counters struct {
	mu    sync.Mutex
	seen  map[string]int
	order []string
}

// next counts a request and gives how many went before it.
func (c *counters) next(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, known := c.seen[key]
	if !known {
		if len(c.order) == maxCounters {
			delete(c.seen, c.order[0])
			c.order = c.order[1:]
		}
		c.order = append(c.order, key)
	}
	c.seen[key] = before + 1
	return before
}

func (c *counters) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.seen)
	c.order = nil
}
