// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"cmp"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/proc"
)

// Program is a program to run for a call.
type Program struct {
	// Name is what people call it.
	Name string
	// Args are the arguments that follow its name.
	Args  []string
	stdin *os.File // nil means no input
	// Dir is the folder that it starts in, "" for the workspace.
	Dir string
	// Env is its whole environment. The last one of the variables of a name counts.
	Env []string
	// Timeout is the time limit of the program, from its start.
	Timeout time.Duration
	// tells passes the program a pipe for its value; see told.
	tells bool
	// notes returns lines that follow the output, when the program has ended; nil adds none.
	notes func() string
}

// Ending is how a program ended.
type Ending struct {
	// Status is how its first process ended.
	Status syscall.WaitStatus
	// cause is why the program was killed, nil if it was not.
	cause error
	// Left is the number of processes that would not die.
	Left int
	told toldBuffer
	seen plaintext.Seen
}

// Execute starts the program, passes its output to out, and returns when it and everything that it started is dead. An
// error means that nothing was started.
func (p *Runner) Execute(ctx context.Context, exe string, prog Program, out io.Writer) (end Ending, err error) {
	// One pipe for both streams, so that the kernel keeps their order. It is ours and not made by exec.Cmd, whose Wait
	// would stay until every process that inherited the pipe has closed it.
	console, err := newDrain()
	if err != nil {
		return end, err
	}
	values := &drain{}
	if prog.tells {
		if values, err = newDrain(); err != nil {
			console.end(0)
			return end, err
		}
	}
	text := &plaintext.Writer{To: out}
	path, args := exe, append([]string{exe}, prog.Args...)
	if p.Disk.Full() != nil {
		path, args = p.self, append([]string{proc.CleanerName}, args...)
	}
	pid, err := p.reaper.Start(proc.Start{
		Path: path, Args: args, Env: lastOfEach(prog.Env), Dir: cmp.Or(prog.Dir, p.Workspace.Dir),
		Files: append([]*os.File{prog.stdin, console.write, console.write}, values.files()...),
	}, proc.Foreground)
	console.begin(text)
	values.begin(&end.told)
	if err != nil {
		p.reaper.KillAll() // It is unknown whether it was started.
		console.end(drainTimeout)
		values.end(drainTimeout)
		return end, err
	}
	ctx, cancel := context.WithTimeout(ctx, prog.Timeout)
	defer cancel()
	p.reaper.AwaitExit(ctx, pid)
	end.cause = context.Cause(ctx)
	end.Left = p.reaper.KillAll()
	end.Status = p.reaper.Wait(pid)
	console.end(drainTimeout)
	values.end(drainTimeout)
	_ = text.Close()
	end.seen = text.Seen
	return end, nil
}

// lastOfEach keeps the last of the variables that have the same name.
func lastOfEach(env []string) []string {
	at := make(map[string]int, len(env))
	kept := make([]string, 0, len(env))
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if i, known := at[name]; known {
			kept[i] = v
			continue
		}
		at[name] = len(kept)
		kept = append(kept, v)
	}
	return kept
}

// drain is a pipe from a program, whose other end is read by a goroutine. The zero drain is none.
type drain struct {
	read, write *os.File
	done        chan struct{}
}

func newDrain() (*drain, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &drain{read: read, write: write}, nil
}

// files are the files that the program gets.
func (d *drain) files() []*os.File {
	if d.write == nil {
		return nil
	}
	return []*os.File{d.write}
}

// begin closes this process's end for writing and begins to read.
func (d *drain) begin(to io.Writer) {
	if d.read == nil {
		return
	}
	_ = d.write.Close()
	d.done = make(chan struct{})
	go func() {
		defer close(d.done)
		_, _ = io.Copy(to, d.read) // Ends at the last close of the pipe, or when it is closed below.
	}()
}

// end waits until everything is read. A pipe that an unkillable process holds open is closed at the limit.
func (d *drain) end(limit time.Duration) {
	if d.read == nil {
		return
	}
	defer d.read.Close()
	if d.done == nil {
		_ = d.write.Close()
		return
	}
	select {
	case <-d.done:
	case <-time.After(limit):
		_ = d.read.Close()
		<-d.done
	}
}
