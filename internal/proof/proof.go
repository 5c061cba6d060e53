// SPDX-License-Identifier: Apache-2.0

// Package proof has the rules by which a sandbox counts as closed: what it must not reach, how often, and for how long. It is pure: no client, no clock.
package proof

import (
	"net/netip"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

const (
	// confirmations is how many times in a row every forbidden address must be blocked. confirmedFor is the minimum time
	// from the end of the first of these tries to the beginning of the last. If packets are rejected and not dropped,
	// three tries in a row would be over within a few milliseconds. A policy that is still being set up can look enforced
	// for that long.
	confirmations = 3
	confirmedFor  = 100 * time.Millisecond
	// tryTimeout bounds each try. An address that answers does so within a few milliseconds.
	tryTimeout = 100 * time.Millisecond
	// lookTimeout bounds a try that only confirms a proof.
	lookTimeout = 50 * time.Millisecond
	// Pause lies between the beginnings of two tries, or more if a try takes longer.
	Pause = 50 * time.Millisecond
)

// Try returns the request for one try of a sandbox on a node with these addresses. The common targets are those of all sandboxes.
func Try(common []toolapi.ProbeTarget, nodes []netip.Addr) toolapi.ProbeRequest {
	return toolapi.ProbeRequest{Targets: targets(common, nodes), TimeoutMs: int32(tryTimeout.Milliseconds())}
}

// Look returns a try that confirms a proof in less time.
func Look(try toolapi.ProbeRequest) toolapi.ProbeRequest {
	try.TimeoutMs = int32(lookTimeout.Milliseconds())
	return try
}

// Confirmation counts the tries in a row in which everything was blocked.
type Confirmation struct {
	Tries int32
	// First is when the first of them began.
	First time.Time

	firstEnd time.Time
}

// Add records a try, and reports whether the isolation is proved with it.
func (c *Confirmation) Add(blocked bool, began, ended time.Time) bool {
	if !blocked {
		*c = Confirmation{}
		return false
	}
	if c.Tries == 0 {
		c.First, c.firstEnd = began, ended
	}
	c.Tries++
	return c.Tries >= confirmations && began.Sub(c.firstEnd) >= confirmedFor
}

// Holds reports whether the isolation was proved to the tool server that speaks, against the targets of a try. It is believed as long as it is not
// used: nothing hostile has run in it.
func Holds(p *toolapi.Probed, try toolapi.ProbeRequest) bool {
	return p != nil && p.Tries >= confirmations && p.OverMs >= confirmedFor.Milliseconds() && p.Targets == try.Digest() &&
		p.Confinement != nil && p.Confinement.Refused == ""
}
