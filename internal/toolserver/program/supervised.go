// SPDX-License-Identifier: Apache-2.0

//go:build linux

package program

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/internal/toolserver/proc"
	"motorcortex.dev/motorcortex/internal/toolserver/tool"
)

// Supervised is a program that outlives the call that started it, with everything that it starts; see package proc.
type Supervised struct {
	runner *Runner
	number int
	// link ends with the server, which signals that to the supervisor.
	link *os.File
	// status is how the program ended, nil as long as it runs; processes that it started may go on after it.
	status atomic.Pointer[syscall.WaitStatus]
	ended  chan struct{}
	// leave reports its end to the watch of the disk.
	leave func()
	// end closes ended and takes it off the list. It is called when nothing is left, or when Stop has given up.
	end func()
}

// StartSupervised starts argv, in the workspace, under a supervisor of its own; Stop kills everything below it and waits.
// A name without a slash is looked for on the search path. env is the whole environment; a nil file is /dev/null. The
// caller closes its files when this has returned.
func (p *Runner) StartSupervised(argv, env []string, stdin, stdout, stderr *os.File) (*Supervised, error) {
	if len(argv) == 0 {
		return nil, errors.New("there is no program to start")
	}
	exe, err := p.lookUp(argv[0])
	if err != nil {
		return nil, err
	}
	if err := p.Disk.Full(); err != nil {
		return nil, err
	}
	link, theirs, err := proc.NewLink()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	s := &Supervised{runner: p, link: link, ended: make(chan struct{})}
	s.end = sync.OnceFunc(func() {
		p.supervisors.remove(s)
		close(s.ended)
		s.leave()
	})
	launch := proc.Start{
		Path: p.self, Args: append([]string{proc.SupervisorName, exe}, argv[1:]...), Env: lastOfEach(env), Dir: p.Workspace.Dir,
		Files: []*os.File{stdin, stdout, stderr, theirs},
	}
	s.leave = p.Disk.watch.Enter()
	if err := p.supervisors.add(s, func() error {
		s.number, err = p.reaper.Start(launch, proc.Supervisor)
		return err
	}); err != nil {
		s.leave()
		err = errors.Join(err, link.Close())
		if errors.Is(err, proc.ErrLauncher) {
			p.reaper.KillLost() // It is unknown whether it was started.
		}
		return nil, err
	}
	go s.watch()
	return s, nil
}

// lookUp finds a program by its name or path.
func (p *Runner) lookUp(name string) (string, error) {
	if !strings.Contains(name, "/") {
		return p.Find(name)
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(p.Workspace.Dir, name)
	}
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return "", errNoProgram
	}
	return name, nil
}

// watch waits for the end and collects it.
func (s *Supervised) watch() {
	defer s.runner.supervisors.running.Done()
	zombie := make(chan struct{})
	go func() {
		s.runner.reaper.AwaitZombie(s.number, nil)
		_ = s.link.SetReadDeadline(time.Now().Add(proc.LinkTimeout)) // Its message is there already.
		close(zombie)
	}()
	var said [5]byte
	n, _ := io.ReadFull(s.link, said[:4])
	if n == 4 {
		s.status.Store(new(syscall.WaitStatus(binary.NativeEndian.Uint32(said[:]))))
		m, _ := io.ReadFull(s.link, said[4:])
		n += m
	}
	<-zombie
	_ = s.link.Close()
	s.runner.reaper.Wait(s.number)
	s.end()
	if n < len(said) {
		// It was killed, and the processes below it are below the server now, where they look like a part of a call.
		s.runner.killStrays()
	}
}

// Stop kills everything below the supervisor and waits. It gives up on processes that the kernel does not let end. It is idempotent.
func (s *Supervised) Stop() {
	s.runner.reaper.KillTree(s.number)
	select {
	case <-s.ended:
	case <-time.After(proc.StopTimeout):
		s.runner.log.Error("a supervisor could not be killed", "pid", s.number)
		s.end()
	}
}

// done is closed when the program and everything that it started has ended.
func (s *Supervised) done() <-chan struct{} { return s.ended }

// pid is the supervisor's. A signal to it that ends programs ends the whole tree.
func (s *Supervised) pid() int { return s.number }

// supervisors are the supervisors that run.
type supervisors struct {
	mu     sync.Mutex
	all    map[*Supervised]bool
	closed bool
	// frozen is true while nothing may start.
	frozen  bool
	running sync.WaitGroup
}

// ErrFrozen means that nothing may start because the files of the workspace are being read.
var ErrFrozen = errors.New("the sandbox is frozen: nothing starts in it until the next call")

// add starts a supervisor, unless the server stops.
func (v *supervisors) add(s *Supervised, start func() error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return tool.ErrStopped
	}
	if v.frozen {
		return ErrFrozen
	}
	if err := start(); err != nil {
		return err
	}
	v.all[s] = true
	v.running.Add(1)
	return nil
}

func (v *supervisors) remove(s *Supervised) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.all, s)
}

// close lets no more start, stops all, and waits until the processes below them are gone.
func (v *supervisors) close() {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.stop()
	v.running.Wait()
}

func (v *supervisors) isClosed() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.closed
}

// freeze lets none start until thaw.
func (v *supervisors) freeze() { v.setFrozen(true) }

func (v *supervisors) thaw() { v.setFrozen(false) }

func (v *supervisors) setFrozen(frozen bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.frozen = frozen
}

func (v *supervisors) isFrozen() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.frozen
}

// stop stops all.
func (v *supervisors) stop() {
	var stopped sync.WaitGroup
	v.mu.Lock()
	for s := range v.all {
		stopped.Go(s.Stop)
	}
	v.mu.Unlock()
	stopped.Wait()
}
