// SPDX-License-Identifier: Apache-2.0

package runenv

import (
	"errors"
	"time"
)

// ErrMissing reports that a dependency of the run is missing and may come back.
var ErrMissing = errors.New("missing for now")

// MissingFor is how long a dependency that existed when the run was accepted may be missing. A Secret can be changed by
// deleting it and creating it again, and a tool server that ended is started again.
const MissingFor = time.Minute

// Absence is the absence of a dependency of the run. It outlasts the starts of its loop.
type Absence struct {
	// Since is when a dependency was first found missing, zero if none is.
	Since time.Time
	// Told is true if an Event was emitted for it.
	Told bool
}

// MayEnd reports whether to wait for the missing dependency.
func (a *Absence) MayEnd(now time.Time) bool {
	if a.Since.IsZero() {
		a.Since = now
	}
	return now.Sub(a.Since) < MissingFor
}

// MayComeBack reports whether to wait for the missing dependency.
func (e *Env) MayComeBack() bool { return e.Absence.MayEnd(e.Now()) }
