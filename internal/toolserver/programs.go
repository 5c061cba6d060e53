// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// A program that a call leaves in the background is an effect that goes on after the call. The ledger has its beginning and its end:
//
//	left ──► Running ──ended──► Succeeded, Failed, Stopped
//	            │
//	            └── the process ends before that ──► Lost
//
// The beginning is on disk before the call has its result, so no program runs of which nothing is known after a restart.

// stopProgramsTimeout bounds the end of the programs in the background. The client waits a little longer.
const stopProgramsTimeout = 10 * time.Second

// leaveProgram records that a call leaves a program in the background.
func (l *ledger) leaveProgram(id string, now time.Time) error {
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

// endProgram records how a program ended. It is known to this process also if it cannot be put on disk; after a restart it is Lost
// then.
func (l *ledger) endProgram(id string, how toolapi.Program, now time.Time) error {
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
func (c *call) replayProgram(r record) bool {
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

// isRunning reports whether what the call left in the background runs.
func (c *call) isRunning() bool { return c.program != nil && c.program.State == toolapi.ProgramRunning }

// effect is how far a call got together with what it left in the background, and whether that failed.
func (c *call) effect() (phase toolapi.CallPhase, fails bool) {
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

// leftRunning reports whether what a call left in the background runs.
func (l *ledger) leftRunning(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[id]
	return c != nil && c.isRunning()
}

// programs are those that run, and of the others those that ended last, the oldest first.
func (l *ledger) programs() []toolapi.Program {
	l.mu.Lock()
	defer l.mu.Unlock()
	var left []*call
	for _, c := range l.calls {
		if c.program != nil {
			left = append(left, c)
		}
	}
	// Those that run come last, so that they are not the ones to be left out.
	slices.SortFunc(left, func(a, b *call) int {
		return cmp.Or(cmp.Compare(running(a), running(b)), cmp.Compare(a.order, b.order))
	})
	left = left[max(0, len(left)-toolapi.MaxPrograms):]
	slices.SortFunc(left, func(a, b *call) int { return cmp.Compare(a.order, b.order) })
	all := make([]toolapi.Program, 0, len(left))
	for _, c := range left {
		all = append(all, *c.program)
	}
	return all
}

func running(c *call) int {
	if c.isRunning() {
		return 1
	}
	return 0
}

// getBackground lists the programs that calls left in the background.
func (s *Server) getBackground(*request) (any, error) {
	return toolapi.BackgroundResponse{Programs: s.ledger.programs()}, nil
}

// endBackground ends them, and returns when their ends are recorded.
func (s *Server) endBackground(r *request) (any, error) {
	content, err := r.body(callOverhead)
	if err != nil {
		return nil, err
	}
	var req toolapi.BackgroundRequest
	if err := tool.DecodeStrictly(content, &req); err != nil {
		return nil, unreadable("the request", err)
	}
	if req.Reason == "" || len(req.Reason) > toolapi.MaxStopReason {
		return nil, badRequest("the reason must have 1 to %d bytes", toolapi.MaxStopReason)
	}
	ctx, cancel := context.WithTimeout(r.Context(), stopProgramsTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		if req.MCP {
			ended <- s.mcp.endPrograms(ctx, req.Reason)
			return
		}
		ended <- nil
	}()
	if err := errors.Join(s.processes.background.stopAll(ctx, req.Reason), <-ended); err != nil {
		return nil, fmt.Errorf("end what runs in the background: %w", err)
	}
	return s.getBackground(r)
}

// stopAll ends all programs in the background, and lets no call leave another one until thaw.
func (b *background) stopAll(ctx context.Context, reason string) error {
	jobs := b.hold(reason)
	for _, job := range jobs {
		go job.stop()
	}
	for _, job := range jobs {
		select {
		case <-job.noted:
		case <-ctx.Done():
			return fmt.Errorf("the program %d does not end: %w", job.pid(), ctx.Err())
		}
	}
	return nil
}

// hold lets no call leave a program behind until thaw, and has those that run say why they are ended. It gives those that run.
func (b *background) hold(reason string) []*backgroundJob {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = reason
	var left []*backgroundJob
	for _, job := range b.jobs {
		if job.noted == nil || isClosed(job.noted) {
			continue
		}
		if job.stopped == "" {
			// What its program started may run on after that has ended.
			job.stopped, job.cut = reason, job.status.Load() != nil
		}
		left = append(left, job)
	}
	return left
}

// thaw lets calls leave programs behind.
func (b *background) thaw() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = ""
}

// leave makes a job a program that outlives its call. It gives the reason for which nothing may be left now, "" if it was left.
func (p *processes) leave(id string, job *backgroundJob) (held string, err error) {
	b := &p.background
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held != "" {
		return b.held, nil
	}
	if err := b.ledger.leaveProgram(id, time.Now()); err != nil {
		return "", err
	}
	job.noted = make(chan struct{})
	b.pumps.Go(func() {
		<-job.ended
		p.noteEnd(id, job)
		close(job.noted)
	})
	return "", nil
}

// noteEnd records how a program ended, unless the end of the server ended it: nobody knows how far it came then.
func (p *processes) noteEnd(id string, job *backgroundJob) {
	if p.supervisors.isClosed() {
		return
	}
	how := p.background.howEnded(job)
	if err := p.background.ledger.endProgram(id, how, time.Now()); err != nil {
		p.log.Error("the end of a program in the background could not be stored", "id", id, "error", err)
	}
	p.log.Info("a program in the background ended", "id", id, "state", string(how.State), "exit", how.ExitCode)
}

func (b *background) howEnded(job *backgroundJob) toolapi.Program {
	b.mu.Lock()
	defer b.mu.Unlock()
	status := job.status.Load()
	byItself := status != nil && status.Exited() && !job.cut
	switch {
	case job.stopped != "" && !byItself:
		return toolapi.Program{State: toolapi.ProgramStopped, Reason: job.stopped}
	case status == nil:
		return toolapi.Program{State: toolapi.ProgramFailed, ExitCode: signalExit + int32(syscall.SIGKILL)}
	case status.Signaled():
		return toolapi.Program{State: toolapi.ProgramFailed, ExitCode: signalExit + int32(status.Signal())}
	case status.ExitStatus() == 0:
		return toolapi.Program{State: toolapi.ProgramSucceeded}
	}
	return toolapi.Program{State: toolapi.ProgramFailed, ExitCode: int32(status.ExitStatus())}
}

// signalExit is what shells add to the number of the signal that ended a program.
const signalExit = 128
