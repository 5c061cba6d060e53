package limit

import "time"

// Sweep forgets the clients that did not come for longer than Idle, and returns how many it forgot.
func (l *Limiter) Sweep(now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for name, b := range l.buckets {
		if now.Sub(b.last) > l.Idle {
			delete(l.buckets, name)
			n++
		}
	}
	return n
}
