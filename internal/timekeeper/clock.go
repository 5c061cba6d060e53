// SPDX-License-Identifier: Apache-2.0

// Package timekeeper provides the time by which the deadlines of runs are judged: the API server's clock, and only the part of it in which a
// manager led.
package timekeeper

import (
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	// tolerated is the difference up to which two clocks count as equal: answers have a resolution of one second and take their time.
	tolerated = 2 * time.Second
	// widest is the largest uncertainty about the API server's clock that an answer may leave. An answer that took longer is ignored.
	widest = 4 * time.Second
	// odd is a difference that a person should look at.
	odd = 5 * time.Second
)

// Clock is the clock of the API server, derived from its answers: creation times and all other times that it writes follow it. Before the first
// answer it is the clock of the process. It advances evenly, also when the machine's clock is set.
type Clock struct {
	log   *slog.Logger
	local func() time.Time
	start time.Time

	mu sync.Mutex
	// offset is how far the API server's clock is ahead of this one.
	offset time.Duration
	// doubted is an answer that speaks against offset. The next one decides.
	doubted window
	told    bool
}

// window holds the offsets that an answer leaves possible. The zero window stands for no answer.
type window struct{ least, most time.Duration }

// NewClock makes a Clock of the process's own, time.Now where local is nil.
func NewClock(local func() time.Time, log *slog.Logger) *Clock {
	if local == nil {
		local = time.Now
	}
	return &Clock{log: log, local: local, start: local()}
}

// Now returns the time by the API server's clock.
func (c *Clock) Now() time.Time { return c.own().Add(c.Offset()) }

// Offset returns how far the API server's clock is ahead of the process's; 0 if they agree to within seconds.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offset
}

// own returns the process's clock, which no setting of the machine's moves.
func (c *Clock) own() time.Time { return c.start.Add(c.local().Sub(c.start)) }

// Wrap reads the clock from the answers to the requests of a client: see rest.Config.Wrap.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper { return &reader{clock: c, next: next} }

type reader struct {
	clock *Clock
	next  http.RoundTripper
}

// RoundTrip makes the request, and reads the date of the answer.
func (r *reader) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := r.clock.own()
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	// An answer with another status may come from a proxy in between, with a clock of its own.
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
			r.clock.see(date, sent, r.clock.own())
		}
	}
	return resp, nil
}

// WrappedRoundTripper returns the transport below, for callers that look for a certain one.
func (r *reader) WrappedRoundTripper() http.RoundTripper { return r.next }

// see records an answer: some time between the two instants the API server's clock showed that second. One answer alone changes nothing.
func (c *Clock) see(date, sent, got time.Time) {
	w := window{least: date.Sub(got), most: date.Add(time.Second).Sub(sent)}
	if w.most-w.least > widest {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.has(c.offset) {
		c.doubted = window{}
		return
	}
	if middle := (w.least + w.most) / 2; c.doubted != (window{}) && c.doubted.has(middle) {
		c.set(w, middle)
		return
	}
	c.doubted = w
}

func (w window) has(offset time.Duration) bool {
	return offset > w.least-tolerated && offset < w.most+tolerated
}

func (c *Clock) set(w window, offset time.Duration) {
	if w.has(0) {
		offset = 0
	}
	c.offset, c.doubted = offset, window{}
	switch {
	case offset.Abs() < odd:
		c.told = false
	case !c.told:
		c.told = true
		c.log.Warn("the clock of this machine is not the API server's: deadlines go by the API server's. Set it right, and look at the clocks of the nodes",
			"apiServerAheadSeconds", int64(offset/time.Second))
	}
}
