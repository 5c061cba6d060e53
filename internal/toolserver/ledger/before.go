// SPDX-License-Identifier: Apache-2.0

//go:build linux

package ledger

import (
	"regexp"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// madeAgain finds the ids of calls that were repeated on purpose, although the end of the first one was not seen.
var madeAgain = regexp.MustCompile(`-r[1-9][0-9]*$`)

// Before finds the call that decides about the call c, among those of the same tool and key that began before it. It is the first one that
// succeeded; otherwise one that still runs; otherwise one whose outcome is unknown, unless c is a deliberate repetition. There is none if
// the phase is CallAbsent, and Result is set if it is CallFinished. A program that a call left in the background belongs to its effect: as
// long as that runs, the outcome is not known.
func (l *Ledger) Before(c *Call) (id string, state toolapi.CallState, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := map[toolapi.CallPhase]*Call{}
	for _, other := range l.calls {
		phase, fails := other.effect()
		fails = fails || phase == toolapi.CallUnknown && !other.isRunning() && madeAgain.MatchString(c.ID)
		if other.order >= c.order || other.Tool != c.Tool || other.Key != c.Key || fails {
			continue
		}
		if first := found[phase]; first == nil || other.order < first.order {
			found[phase] = other
		}
	}
	for _, phase := range []toolapi.CallPhase{toolapi.CallFinished, toolapi.CallRunning, toolapi.CallUnknown} {
		if other := found[phase]; other != nil {
			state.Phase = phase
			if phase == toolapi.CallFinished {
				state.Result, err = l.resultOf(other)
			}
			return other.ID, state, err
		}
	}
	state.Phase = toolapi.CallAbsent
	return "", state, nil
}
