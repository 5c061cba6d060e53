// Package limit limits how many requests a client may make.
package limit

import (
	"sync"
	"time"
)

// Limiter has a bucket for each client. It can be used by many goroutines at once.
type Limiter struct {
	// Rate is how many requests a client may make in a second, Burst how many at once.
	Rate, Burst float64
	// Idle is how long a client is remembered that does not come.
	Idle time.Duration

	mu      sync.Mutex
	buckets map[string]*bucket
}

// Allow reports whether the client may make a request now.
func (l *Limiter) Allow(client string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.buckets == nil {
		l.buckets = map[string]*bucket{}
	}
	b := l.buckets[client]
	if b == nil {
		b = newBucket(l.Rate, l.Burst, now)
		l.buckets[client] = b
	}
	return b.take(now)
}
