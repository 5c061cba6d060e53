// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"errors"
	"time"

	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// Memory is what one start of a loop leaves to the next. Only the goroutine of the loop changes it while there is one.
type Memory struct {
	// Failures in a row, and the panics in a row among them.
	Failures, Panics int
	// Absence is that of something that the run needs.
	Absence runenv.Absence
	// unrecorded are the last answers of models; see memoModel.
	unrecorded []unrecordedAnswer
	// malformed is the request that was last answered in a way that cannot be read.
	malformed stubborn
}

// gotFurther forgets what ended the loop before: whatever ends it now is something else.
func (m *Memory) gotFurther() { *m = Memory{unrecorded: m.unrecorded, malformed: m.malformed} }

// Note adds how a start of the loop ended.
func (m *Memory) Note(err error) {
	if err == nil {
		*m = Memory{}
		return
	}
	if _, ok := errors.AsType[*motorloop.Outage](err); ok {
		// It is no failure of the loop, and it got as far as it could. It does not end a row of panics: the loop that meets an outage
		// did not come to where the others panicked.
		panics := m.Panics
		m.gotFurther()
		m.Panics = panics
		return
	}
	m.Failures++
	if _, ok := errors.AsType[*motorloop.Panic](err); ok {
		m.Panics++
		// It may be the answer that cannot be borne.
		m.unrecorded = nil
	} else if m.Panics < maxPanics {
		// From maxPanics on nothing is tried but to end the run, however often that fails.
		m.Panics = 0
	}
	if !errors.Is(err, runenv.ErrMissing) {
		m.Absence.Since = time.Time{}
	}
}
