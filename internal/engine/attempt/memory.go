// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"errors"
	"time"

	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/engine/spending"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/chat"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// Memory is the state that one start of a loop passes to the next. Only the goroutine of the loop changes it while there is one.
type Memory struct {
	// Failures in a row, and the panics in a row among them.
	Failures, Panics int
	// Absence is the absence of a dependency of the run.
	Absence runenv.Absence
	// unrecorded are the last answers of models; see memoModel.
	unrecorded []unrecordedAnswer
	// malformed is the last request with a malformed answer.
	malformed stubborn
	// Outage is the outage in which the last start of the loop ended, nil if it ended otherwise, or if the model must be looked up anew.
	Outage *runpolicy.Outage
	// refused is the call for which the run had no room in its budget when the last start of the loop ended.
	refused *spending.Refusal
	// counts is true if no answer can be lost that the run has paid for: an earlier start of the loop, in this process, knew of all.
	counts bool
	// paid is what was paid for answers that are in no step.
	paid paid
}

// gotFurther forgets what ended the loop before: its next end has another cause.
func (m *Memory) gotFurther() {
	*m = Memory{unrecorded: m.unrecorded, malformed: m.malformed, Outage: m.Outage, refused: m.refused, counts: m.counts, paid: m.paid}
}

// Note adds how a start of the loop ended.
func (m *Memory) Note(err error) {
	if err == nil {
		*m = Memory{paid: m.paid}
		return
	}
	if _, ok := errors.AsType[*chat.Outage](err); ok {
		// An outage is no failure of the loop, and the loop made all progress that it could. An outage does not end a series of panics: the loop
		// did not reach the code where the others panicked.
		panics := m.Panics
		m.gotFurther()
		m.Panics = panics
		return
	}
	if errors.Is(err, motorloop.ErrGivenBack) {
		m.gotFurther()
		return
	}
	m.Failures++
	if _, ok := errors.AsType[*motorloop.Panic](err); ok {
		m.Panics++
		m.counts = false
		// The stored answer itself may cause the panic.
		m.unrecorded = nil
	} else if m.Panics < maxPanics {
		// From maxPanics on the loop only tries to end the run, however often that fails.
		m.Panics = 0
	}
	if !errors.Is(err, runenv.ErrMissing) {
		m.Absence.Since = time.Time{}
	}
}
