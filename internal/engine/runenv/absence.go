// SPDX-License-Identifier: Apache-2.0

package runenv

import (
	"errors"
	"time"
)

// ErrMissing says that something which the run needs is missing and may come back.
var ErrMissing = errors.New("missing for now")

// MissingFor is how long something that was there when the run was accepted may be missing: a Secret can be changed by
// deleting it and creating it again, and a tool server that ended is started again.
const MissingFor = time.Minute

// Absence is that of something that the run needs. It lasts over the starts of its loop.
type Absence struct {
	// Since is when something was first found missing, zero if nothing is.
	Since time.Time
	// Told says that an Event told of it.
	Told bool
}

// MayEnd reports whether to wait for what is missing now.
func (a *Absence) MayEnd(now time.Time) bool {
	if a.Since.IsZero() {
		a.Since = now
	}
	return now.Sub(a.Since) < MissingFor
}

// MayComeBack reports whether to wait for what is missing now.
func (e *Env) MayComeBack() bool { return e.Absence.MayEnd(e.Now()) }
