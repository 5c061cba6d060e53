package limit

import "time"

// bucket holds tokens: rate of them come in a second, and there are never more than burst.
type bucket struct {
	rate   float64
	burst  float64
	tokens float64
	last   time.Time
}

func newBucket(rate, burst float64, now time.Time) *bucket {
	return &bucket{rate: rate, burst: burst, tokens: burst, last: now}
}

// take takes a token if there is one.
func (b *bucket) take(now time.Time) bool {
	seconds := int(now.Sub(b.last).Seconds())
	b.tokens += float64(seconds) * b.rate
	b.last = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
