// SPDX-License-Identifier: Apache-2.0

package script

import "time"

// FaultKind names one way in which an answer goes wrong.
type FaultKind string

// The faults that a script can ask for. The package comment says what each does.
const (
	FaultStatus        FaultKind = "status"
	FaultSlow          FaultKind = "slow"
	FaultLate          FaultKind = "late"
	FaultTrickle       FaultKind = "trickle"
	FaultHang          FaultKind = "hang"
	FaultStall         FaultKind = "stall"
	FaultDisconnect    FaultKind = "disconnect"
	FaultCutStream     FaultKind = "cutStream"
	FaultEndStream     FaultKind = "endStream"
	FaultCutBody       FaultKind = "cutBody"
	FaultMalformedJSON FaultKind = "malformedJSON"
	FaultTruncatedJSON FaultKind = "truncatedJSON"
	FaultEmpty         FaultKind = "empty"
	FaultNoChoices     FaultKind = "noChoices"
)

// MaxDelay bounds how long a fault may hold a request. The server's write
// timeout has to be above it.
const MaxDelay = 10 * time.Minute

const (
	defaultHang   = 5 * time.Minute
	maxTimes      = 1_000_000
	maxRetryAfter = 3600
)

// faultUsesAnswer tells, for every kind, whether what is sent is made of the
// turn's answer, which then has to exist.
var faultUsesAnswer = map[FaultKind]bool{
	FaultStatus:        false,
	FaultSlow:          true,
	FaultLate:          true,
	FaultTrickle:       true,
	FaultHang:          false,
	FaultStall:         true,
	FaultDisconnect:    false,
	FaultCutStream:     true,
	FaultEndStream:     true,
	FaultCutBody:       true,
	FaultMalformedJSON: true,
	FaultTruncatedJSON: true,
	FaultEmpty:         false,
	FaultNoChoices:     false,
}

// Fault is one way of answering wrongly, and how often.
type Fault struct {
	Kind FaultKind
	// Times is the number of requests that get it; 0 is all of them.
	Times int
	// Delay passes before anything is sent. For a hang and a stall it is the upper bound, for a trickle what passes between the
	// parts altogether.
	Delay time.Duration
	// Status, RetryAfterSeconds, Code and Message belong to FaultStatus; zero
	// values stand for no header and for what the status suggests.
	Status            int
	RetryAfterSeconds int
	Code              string
	Message           string
}

// Faults are used up in order.
type Faults []Fault

// At returns the fault for a request of which n went before it (same turn, same
// conversation), or false if that request gets the real answer.
func (f Faults) At(n int) (Fault, bool) {
	for _, fault := range f {
		if fault.Times == 0 || n < fault.Times {
			return fault, true
		}
		n -= fault.Times
	}
	return Fault{}, false
}
