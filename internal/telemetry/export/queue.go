// SPDX-License-Identifier: Apache-2.0

package export

import "time"

// queue has runs in the order in which they were queued. To take one costs the same however many there are: a collector that was away for long leaves
// very many.
type queue struct {
	keys []key
	// head is how many of the keys were taken.
	head int
}

func (q *queue) push(k key) { q.keys = append(q.keys, k) }

// pop returns the first run. It returns false if there is none.
func (q *queue) pop() (key, bool) {
	if q.head == len(q.keys) {
		return key{}, false
	}
	k := q.keys[q.head]
	q.keys[q.head] = key{}
	if q.head++; q.head > len(q.keys)/2 {
		// At least as many were taken as are moved.
		left := copy(q.keys, q.keys[q.head:])
		clear(q.keys[left:])
		q.keys, q.head = q.keys[:left], 0
	}
	return k, true
}

// due is a run of which there will be something to tell.
type due struct {
	key
	at time.Time
}

// schedule is a heap of runs, the earliest first.
type schedule []due

// Len implements heap.Interface.
func (s schedule) Len() int { return len(s) }

// Less implements heap.Interface.
func (s schedule) Less(i, j int) bool { return s[i].at.Before(s[j].at) }

// Swap implements heap.Interface.
func (s schedule) Swap(i, j int) { s[i], s[j] = s[j], s[i] }

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	if d, ok := x.(due); ok {
		*s = append(*s, d)
	}
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	last := len(*s) - 1
	d := (*s)[last]
	(*s)[last] = due{}
	*s = (*s)[:last]
	return d
}
