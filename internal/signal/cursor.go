// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"slices"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Cursor is what one receiver was told about one run or skill. The zero value is that of a receiver that was told nothing.
type Cursor struct {
	// From is the instant before which everything counts as told, but for asks that are open and for skills.
	From time.Time
	// Once is true if asks, and states of skills, from before that instant count as told too.
	Once bool
	// Started is true if the receiver was told that the run began.
	Started bool
	// Step is the last step that it was told.
	Step Position
	// Asks are the ids of those asks it was told that are open.
	Asks []string
	// Reminded are the ids of those that it was reminded of, or needs no reminder of.
	Reminded []string
	// Ended is true if it was told the end of the run. Nothing comes after that.
	Ended bool
	// Skill is the id of the last signal about a skill.
	Skill string
}

// Position is the place of a step in its run. The zero value is before the first step.
type Position struct{ Attempt, Index int32 }

// After reports whether p comes after other.
func (p Position) After(other Position) bool {
	return p.Attempt > other.Attempt || p.Attempt == other.Attempt && p.Index > other.Index
}

// Of returns the place of a step.
func Of(s *v1alpha1.MotorStep) Position {
	return Position{Attempt: s.Spec.Attempt, Index: s.Spec.Index}
}

// isOld reports whether something happened before the cursor's beginning.
func (c *Cursor) isOld(at time.Time) bool { return at.Before(c.From) }

// withAsk returns the cursor after an ask was told.
func (c Cursor) withAsk(id string, open []v1alpha1.PendingInput) Cursor {
	c.Asks = withID(c.Asks, id, open)
	return c
}

// withReminder returns the cursor after a reminder of an ask was told.
func (c Cursor) withReminder(id string, open []v1alpha1.PendingInput) Cursor {
	c.Reminded = withID(c.Reminded, id, open)
	return c
}

// withID adds an id to those of asks. Asks that are not open any more are forgotten, so that a run that asks often takes no more memory.
func withID(ids []string, id string, open []v1alpha1.PendingInput) []string {
	var kept []string
	for i := range open {
		if open[i].ID == id || slices.Contains(ids, open[i].ID) {
			kept = append(kept, open[i].ID)
		}
	}
	return kept
}
