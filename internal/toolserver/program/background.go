// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/internal/toolapi"
	"motorcortex.dev/motorcortex/internal/toolserver/ledger"
	"motorcortex.dev/motorcortex/internal/toolserver/output"
	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

const (
	// maxBackground is how many commands may run in the background at once.
	maxBackground = 8
	// backgroundLook is how long a command that was started in the background is watched: one that fails does so at once.
	backgroundLook = 300 * time.Millisecond
	// maxShownCommand is the most that is shown of a command, in bytes.
	maxShownCommand = 80
)

// background are the commands that outlive the calls that started them.
type background struct {
	// look is how long a command is watched before its call ends.
	look time.Duration

	mu   sync.Mutex
	jobs []*backgroundJob // those that run, and those whose end was not reported yet
	// held is why no call may leave a program behind now, "" if it may.
	held string
	// ledger has the beginnings and the ends of the programs.
	ledger *ledger.Ledger
	// pumps counts the jobs whose output is still read, or whose end is not recorded yet.
	pumps sync.WaitGroup
}

// backgroundJob is one of them.
type backgroundJob struct {
	*Supervised
	command, file string
	out           *output.Collector
	// seen describes the output, once ended is closed.
	seen plaintext.Seen
	// ended is closed when everything is over and nothing is added to the output any more.
	ended chan struct{}
	// overdue reports whether its time was over.
	overdue func() bool
	// noted is closed when its end is recorded; nil as long as its call waits for it. The mutex of background guards it, as well as stopped
	// and cut. stopped is the reason for which it was ended from outside. cut is true if its own program was over by then.
	noted   chan struct{}
	stopped string
	cut     bool
	// told is the last line that the model has seen, guarded by the mutex of background, too.
	told string
}

// runBackground starts a command. It returns the command's result if it ends at once, else its current state.
func (p *Runner) runBackground(ctx context.Context, j tool.Job, command string, lifetime time.Duration) toolapi.Result {
	if running := p.background.running(); running >= maxBackground {
		return tool.Failure(toolapi.CodeInvalidArguments, "%d commands run in the background already, and no more may. End one of them:\n%s",
			running, p.background.list(j.Limit/2))
	}
	if full := p.Disk.Full(); full != nil {
		return tool.Failure(toolapi.CodeDiskFull, "Nothing was started in the background: %s.", full)
	}
	env, note := p.callEnvironment(j)
	job, err := p.startBackground(j, command, env, lifetime)
	if err != nil {
		return p.backgroundFailure(err)
	}
	look := time.NewTimer(p.background.look)
	defer look.Stop()
	select {
	case <-job.ended:
		return p.endedAtOnce(j, job, note)
	case <-ctx.Done():
		job.Stop()
		<-job.ended
		p.background.forget(job)
		return tool.Interrupted(ctx, "and what it had started in the background was killed")
	case <-look.C:
	}
	p.background.tell(job)
	if held, err := p.leave(j.ID, job); err != nil || held != "" {
		job.Stop()
		<-job.ended
		p.background.forget(job)
		if err != nil {
			return tool.Failure(toolapi.CodeInternal, "The tool server could not record what runs in the background, so that was ended; "+
				"what it did until then is not undone.")
		}
		return tool.Failure(toolapi.CodeCancelled, "Nothing may run in the background now (%s), so what was started was ended; "+
			"what it did until then is not undone.", held)
	}
	return tool.Noted("", fmt.Sprintf("[process %d runs in the background; its output goes to the workspace file %q; to end it: kill %d]\n%s%s",
		job.pid(), job.file, job.pid(), note, p.background.report(j.Limit/2, job)))
}

func (p *Runner) backgroundFailure(err error) toolapi.Result {
	var place *outputError
	switch {
	case errors.As(err, &place):
		return p.Workspace.Failure("keep the output in", place.file, place.err)
	case errors.Is(err, errNoProgram):
		return missing("bash")
	}
	return StartFailure("bash", err)
}

// outputError means that the file for an output cannot be made.
type outputError struct {
	file string
	err  error
}

func (e *outputError) Error() string { return e.file + ": " + e.err.Error() }

// startBackground starts a command under a supervisor, and the goroutine that stores its output and ends it in time.
func (p *Runner) startBackground(j tool.Job, command string, env []string, lifetime time.Duration) (*backgroundJob, error) {
	job := &backgroundJob{command: command, file: toolapi.OutputPath(j.ID), ended: make(chan struct{})}
	job.out = output.NewCollector(j.Limit, p.Outputs.Spill(job.file, true))
	if job.out.StartSpill(); job.out.SpillError != nil {
		return nil, &outputError{job.file, job.out.SpillError}
	}
	console, err := newDrain()
	if err == nil {
		// After -- a command that begins with a dash is still a command.
		job.Supervised, err = p.StartSupervised([]string{"bash", "-c", "--", command}, env, nil, console.write, console.write)
		if err != nil {
			console.end(0)
		}
	}
	if err != nil {
		job.out.CloseSpill()
		_ = p.Workspace.Root.Remove(job.file) // There is nothing in it.
		return nil, err
	}
	job.overdue = func() bool { return false }
	var due *time.Timer
	if lifetime > 0 {
		due = time.AfterFunc(lifetime, job.Stop)
		job.overdue = sync.OnceValue(func() bool { return !due.Stop() })
	}
	p.background.add(job)
	text := &plaintext.Writer{To: job.out}
	console.begin(text)
	go func() {
		defer p.background.pumps.Done()
		<-job.done()
		console.end(drainTimeout)
		_ = text.Close()
		job.seen = text.Seen
		job.out.CloseSpill()
		job.overdue() // It is decided now, and the timer is free.
		close(job.ended)
	}()
	return job, nil
}

// endedAtOnce is the result of a command that was over before its start was reported.
func (p *Runner) endedAtOnce(j tool.Job, job *backgroundJob, note string) toolapi.Result {
	p.background.forget(job)
	result, notes := verdict(Ending{Status: job.waitStatus()}, 0)
	notes = p.fileLimit(&result, job.waitStatus()) + notes
	output.Finish(p.Workspace, &result, job.out, &job.seen, job.file, "", notes+"[the command has ended already, nothing of it runs in the background]\n"+note+
		p.background.report(j.Limit/2, nil))
	return result
}

// waitStatus is how the command ended. If its supervisor was killed, only that is known.
func (s *Supervised) waitStatus() syscall.WaitStatus {
	if status := s.status.Load(); status != nil {
		return *status
	}
	return syscall.WaitStatus(syscall.SIGKILL)
}

func (b *background) add(job *backgroundJob) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = append(b.jobs, job)
	b.pumps.Add(1)
}

func (b *background) forget(job *backgroundJob) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs = slices.DeleteFunc(b.jobs, func(other *backgroundJob) bool { return other == job })
}

// tell records that the model was informed of a running job.
func (b *background) tell(job *backgroundJob) {
	b.mu.Lock()
	defer b.mu.Unlock()
	job.told = job.line(false)
}

// running counts the jobs that run.
func (b *background) running() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, job := range b.jobs {
		if !proc.IsOver(job.ended) {
			n++
		}
	}
	return n
}

// report returns a line for each job with news, except for but, in at most room bytes.
func (b *background) report(room int, but *backgroundJob) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []string
	left := b.jobs[:0]
	for _, job := range b.jobs {
		over := proc.IsOver(job.ended)
		if line := job.line(over); job != but && line != job.told {
			job.told = line
			lines = append(lines, line)
		}
		if !over {
			left = append(left, job)
		}
	}
	clear(b.jobs[len(left):])
	b.jobs = left
	return firstLines(lines, room)
}

// list returns a line for each job.
func (b *background) list(room int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := make([]string, 0, len(b.jobs))
	for _, job := range b.jobs {
		lines = append(lines, job.line(proc.IsOver(job.ended)))
	}
	return firstLines(lines, room)
}

// line is the description of a job.
func (job *backgroundJob) line(over bool) string {
	command := strings.Join(strings.Fields(job.command), " ")
	shown := plaintext.Bound(command, maxShownCommand)
	if len(command) > maxShownCommand {
		shown += "…"
	}
	state := fmt.Sprintf("runs; to end it: kill %d", job.pid())
	status := job.status.Load()
	switch {
	case over && job.stopped != "" && (job.cut || status == nil || status.Signaled()):
		state = "was killed from outside of the sandbox: " + job.stopped
	case over && job.overdue():
		state = "was killed: its time was over"
	case over && status == nil:
		state = "was killed"
	case over && status.Signaled():
		state = fmt.Sprintf("was killed by signal %d (%v)", status.Signal(), status.Signal())
	case over:
		state = fmt.Sprintf("ended with exit status %d", status.ExitStatus())
	case status != nil:
		state = fmt.Sprintf("ended with exit status %d, and what it started %s", status.ExitStatus(), state)
	}
	return fmt.Sprintf("[background: process %d %s; output in %s: %q]\n", job.pid(), state, job.file, shown)
}

// firstLines joins the lines that fit.
func firstLines(lines []string, room int) string {
	var all strings.Builder
	for i, line := range lines {
		more := fmt.Sprintf("[background: %d more]\n", len(lines)-i)
		if all.Len()+len(line)+len(more) > room {
			return all.String() + more
		}
		all.WriteString(line)
	}
	return all.String()
}
