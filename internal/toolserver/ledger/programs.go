// SPDX-License-Identifier: Apache-2.0

//go:build linux

package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A program that a call leaves in the background is an effect that goes on after the call. The ledger has its beginning and its end:
//
//	left ──► Running ──ended──► Succeeded, Failed, Stopped
//	            │
//	            └── the process ends before that ──► Lost
//
// The beginning is on disk before the call has its result, so no program runs of which nothing is known after a restart.

// LeaveProgram records that a call leaves a program in the background.
func (l *Ledger) LeaveProgram(id string, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[id]
	if c == nil {
		return fmt.Errorf("the call %s was not started", id)
	}
	p := &toolapi.Program{Call: id, State: toolapi.ProgramRunning, StartedAt: now}
	if _, err := l.log.append(record{Kind: recordLeft, ID: id, Time: now, Program: p}); err != nil {
		return err
	}
	c.program = p
	return nil
}

// EndProgram records how a program ended. It is known to this process also if it cannot be put on disk; after a restart it is Lost
// then.
func (l *Ledger) EndProgram(id string, how toolapi.Program, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[id]
	if c == nil || c.program == nil {
		return fmt.Errorf("the call %s left no program", id)
	}
	how.Call, how.StartedAt, how.EndedAt = id, c.program.StartedAt, now
	c.program = &how
	_, err := l.log.append(record{Kind: recordEnded, ID: id, Time: now, Program: &how})
	return err
}

// replayProgram takes in a record of a program, and reports whether it follows from those before it.
func (c *Call) replayProgram(r record) bool {
	if r.Program == nil {
		return false
	}
	switch {
	case r.Kind == recordLeft && c.program == nil, r.Kind == recordEnded && c.isRunning():
		c.program = r.Program
		return true
	}
	return false
}

// isRunning reports whether the program that the call left in the background runs.
func (c *Call) isRunning() bool { return c.program != nil && c.program.State == toolapi.ProgramRunning }

// effect is how far a call got together with the program that it left in the background, and whether that failed.
func (c *Call) effect() (phase toolapi.CallPhase, fails bool) {
	if c.phase != toolapi.CallFinished || !c.ok {
		return c.phase, c.phase == toolapi.CallFinished
	}
	if c.program == nil {
		return c.phase, false
	}
	switch c.program.State {
	case toolapi.ProgramSucceeded:
		return c.phase, false
	case toolapi.ProgramRunning, toolapi.ProgramLost:
		return toolapi.CallUnknown, false
	default:
		return c.phase, true
	}
}

// LeftRunning reports whether the program that a call left in the background runs.
func (l *Ledger) LeftRunning(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[id]
	return c != nil && c.isRunning()
}

// Programs are those that run, and of the others those that ended last, the oldest first.
func (l *Ledger) Programs() []toolapi.Program {
	l.mu.Lock()
	defer l.mu.Unlock()
	var left []*Call
	for _, c := range l.calls {
		if c.program != nil {
			left = append(left, c)
		}
	}
	// Those that run come last, so that they are not the ones to be omitted.
	slices.SortFunc(left, func(a, b *Call) int {
		return cmp.Or(cmp.Compare(running(a), running(b)), cmp.Compare(a.order, b.order))
	})
	left = left[max(0, len(left)-toolapi.MaxPrograms):]
	slices.SortFunc(left, func(a, b *Call) int { return cmp.Compare(a.order, b.order) })
	all := make([]toolapi.Program, 0, len(left))
	for _, c := range left {
		all = append(all, *c.program)
	}
	return all
}

func running(c *Call) int {
	if c.isRunning() {
		return 1
	}
	return 0
}
