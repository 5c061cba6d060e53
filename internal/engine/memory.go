// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"time"

	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// memory is what one start of a loop leaves to the next. Only the goroutine of the loop changes it while there is one.
type memory struct {
	// failures in a row, and the panics in a row among them.
	failures, panics int
	// absence is that of something that the run needs.
	absence runenv.Absence
	// unrecorded are the last answers of models; see memoModel.
	unrecorded []unrecordedAnswer
	// malformed is the request that was last answered in a way that cannot be read.
	malformed stubborn
}

// gotFurther forgets what ended the loop before: whatever ends it now is something else.
func (m *memory) gotFurther() { *m = memory{unrecorded: m.unrecorded, malformed: m.malformed} }

// note adds how a start of the loop ended.
func (m *memory) note(err error) {
	if err == nil {
		*m = memory{}
		return
	}
	if _, ok := errors.AsType[*motorloop.Outage](err); ok {
		// It is no failure of the loop, and it got as far as it could. It does not end a row of panics: the loop that meets an outage
		// did not come to where the others panicked.
		panics := m.panics
		m.gotFurther()
		m.panics = panics
		return
	}
	m.failures++
	if _, ok := errors.AsType[*motorloop.Panic](err); ok {
		m.panics++
		// It may be the answer that cannot be borne.
		m.unrecorded = nil
	} else if m.panics < maxPanics {
		// From maxPanics on nothing is tried but to end the run, however often that fails.
		m.panics = 0
	}
	if !errors.Is(err, runenv.ErrMissing) {
		m.absence.Since = time.Time{}
	}
}
