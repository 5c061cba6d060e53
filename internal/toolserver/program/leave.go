// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
)

// StopBackground ends all programs in the background, and lets no call leave another one until Thaw. It returns when their ends are
// recorded. The model sees the reason.
func (p *Runner) StopBackground(ctx context.Context, reason string) error {
	jobs := p.background.hold(reason)
	for _, job := range jobs {
		go job.Stop()
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

// hold lets no call leave a program behind until thaw, and records for the running ones why they are ended. It returns the running ones.
func (b *background) hold(reason string) []*backgroundJob {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held = reason
	var left []*backgroundJob
	for _, job := range b.jobs {
		if job.noted == nil || proc.IsOver(job.noted) {
			continue
		}
		if job.stopped == "" {
			// Processes that its program started may run on after the program has ended.
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

// leave makes a job of a program that outlives its call. It returns the reason for which no program may be left now, "" if it was left.
func (p *Runner) leave(id string, job *backgroundJob) (held string, err error) {
	b := &p.background
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held != "" {
		return b.held, nil
	}
	if err := b.ledger.LeaveProgram(id, time.Now()); err != nil {
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

// noteEnd records how a program ended, unless the end of the server ended it: then it is unknown how far the program came.
func (p *Runner) noteEnd(id string, job *backgroundJob) {
	if p.supervisors.isClosed() {
		return
	}
	how := p.background.howEnded(job)
	if err := p.background.ledger.EndProgram(id, how, time.Now()); err != nil {
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
