// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"motorcortex.dev/motorcortex/internal/egress/allowlist"
)

const (
	// knownNames is how many names of a run are remembered; a run that uses more pays for them again.
	knownNames = 1024
	// denyLines and denyBurst bound the audit lines of a run's refusals, for a second and at once. Misuse has as many again.
	denyLines, denyBurst = 5, 30
	// lineAlways is how often a refusal has a line whatever the bounds are, for each reason.
	lineAlways = time.Minute
	// oneHead is the size of the largest head beyond its first bytes.
	oneHead = maxHead - firstHead
	// reserve is the share, as 1/reserve, of the total for the heads of all sources that sources with more than one head must not use.
	reserve = 2
	// omittedFor is how long a count of lines that were omitted may wait for its own line.
	omittedFor = 10 * time.Second
)

// usage counts the resources that a run uses. It is safe for concurrent use.
type usage struct {
	requests *rate.Limiter
	names    *rate.Limiter
	bytes    *rate.Limiter
	denials  *lineLimit
	// large is how many large buffers the run's tunnels have.
	large atomic.Int32

	mu    sync.Mutex
	max   int
	open  int
	known map[allowlist.Host]struct{}
}

func newUsage(l Limits) *usage {
	return &usage{
		requests: rate.NewLimiter(rate.Limit(float64(l.Requests)/60), l.Requests),
		names:    rate.NewLimiter(rate.Limit(float64(l.Names)/60), l.Names),
		bytes:    rate.NewLimiter(rate.Limit(float64(l.Bytes)/3600), int(l.Bytes)),
		denials:  newLineLimit(),
		max:      l.Connections,
		known:    map[allowlist.Host]struct{}{},
	}
}

func (u *usage) request(now time.Time) Reason {
	if !u.requests.AllowN(now, 1) {
		return ReasonRateLimited
	}
	return ""
}

// name counts a name that the run did not ask for before.
func (u *usage) name(now time.Time, h allowlist.Host) Reason {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.known[h]; ok {
		return ""
	}
	if !u.names.AllowN(now, 1) {
		return ReasonTooManyName
	}
	if len(u.known) >= knownNames {
		clear(u.known)
	}
	u.known[h] = struct{}{}
	return ""
}

// enter counts an open connection; leave must follow if the reason is "".
func (u *usage) enter(now time.Time) Reason {
	if u.bytes.TokensAt(now) <= 0 {
		return ReasonBytes
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open >= u.max {
		return ReasonTooMany
	}
	u.open++
	return ""
}

func (u *usage) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open--
}

// moved counts bytes that have been moved, and reports whether more may be. They count also if they were too many, so that a new connection
// does not start with the bytes that the last one was refused.
func (u *usage) moved(now time.Time, n int64) bool {
	if n <= 0 {
		return true
	}
	r := u.bytes.ReserveN(now, int(min(n, int64(u.bytes.Burst()))))
	return r.OK() && r.DelayFrom(now) == 0
}

// lineLimit bounds the lines of one run, and counts the omitted ones. Misuse has a bound of its own: otherwise a run with many harmless
// refusals would hide the ones that matter.
type lineLimit struct {
	ordinary, misuse *rate.Limiter

	mu sync.Mutex
	// written is when each reason last had a line that the bounds did not matter for.
	written map[Reason]time.Time
	omitted map[Reason]int
	// since is when the first line of omitted was dropped.
	since time.Time
}

func newLineLimit() *lineLimit {
	return &lineLimit{
		ordinary: rate.NewLimiter(denyLines, denyBurst), misuse: rate.NewLimiter(denyLines, denyBurst),
		written: map[Reason]time.Time{}, omitted: map[Reason]int{},
	}
}

// allow reports whether a line may be written. One that may not is counted.
func (l *lineLimit) allow(now time.Time, why Reason) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.ordinary
	if why.Misuse() {
		limiter = l.misuse
	}
	ok := limiter.AllowN(now, 1)
	if at, before := l.written[why]; !before || now.Sub(at) >= lineAlways {
		l.written[why] = now
		ok = true
	}
	if !ok {
		if len(l.omitted) == 0 {
			l.since = now
		}
		l.omitted[why]++
	}
	return ok
}

// take returns how many lines were omitted, by reason, and resets the count. It returns nil while the count is younger than age.
func (l *lineLimit) take(now time.Time, age time.Duration) map[Reason]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.omitted) == 0 || now.Sub(l.since) < age {
		return nil
	}
	omitted := l.omitted
	l.omitted = map[Reason]int{}
	return omitted
}

// sources counts the connections of each source address that have not authenticated.
type sources struct {
	maxOpen, maxWaiting, maxTotal int
	maxHeld, maxHeldTotal         int

	mu    sync.Mutex
	total int
	// heldTotal is how many bytes of heads all of them hold, beyond the first of each.
	heldTotal int
	each      map[netip.Addr]*source
}

type source struct{ open, waiting, held int }

func newSources(l Limits) *sources {
	return &sources{maxOpen: l.Unauthenticated, maxWaiting: l.Waiting, maxTotal: l.Total, maxHeld: l.Heads, maxHeldTotal: l.TotalHeads, each: map[netip.Addr]*source{}}
}

// enter counts a new connection and reports whether it may go on; if it returns true, known and leave must follow.
func (s *sources) enter(a netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.each[a]
	if one == nil {
		one = &source{}
	}
	if one.open >= s.maxOpen || s.total >= s.maxTotal {
		return false
	}
	s.each[a] = one
	s.total++
	one.open++
	return true
}

// hold counts bytes that a connection between enter and known reads before it authenticates, and reports whether it may: heads without an
// end cost the proxy memory that no run pays for. known releases them. A share of the total for all sources is reserved for sources that
// hold no more than one head. A few sources that hold their maximum cannot take that share.
func (s *sources) hold(a netip.Addr, bytes int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.each[a]
	most := s.maxHeldTotal
	if one.held+bytes > oneHead {
		most -= s.maxHeldTotal / reserve
	}
	if one.held+bytes > s.maxHeld || s.heldTotal+bytes > most {
		return false
	}
	one.held += bytes
	s.heldTotal += bytes
	return true
}

// known counts a connection as its run's from now on, or as ended. The connection held so many bytes.
func (s *sources) known(a netip.Addr, held int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.each[a]
	one.open--
	one.held -= held
	s.heldTotal -= held
	if one.open == 0 {
		delete(s.each, a)
	}
}

func (s *sources) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
}

// wait reports whether one more connection of the address may wait for its grant; if it returns true, waited must follow. Only a connection
// between enter and known calls it.
func (s *sources) wait(a netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.each[a]
	if one.waiting >= s.maxWaiting {
		return false
	}
	one.waiting++
	return true
}

func (s *sources) waited(a netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.each[a].waiting--
}
