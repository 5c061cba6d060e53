// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A supervisor is this program as the root of the processes that outlive the call that started them. It is the parent of orphans below it.
// So every process that its program starts, however often it forks, stays below it and can be distinguished from everything else.
//
// It ends when no process is below it any more. It kills the processes below it when the server is gone, and also, after stopGrace, when a
// signal tells it to end.

const (
	// SupervisorName is argument 0 of a supervisor; the program and its arguments follow.
	SupervisorName = "motor-supervisor"
	// linkFile is the supervisor's end of the link to the server. The server writes nothing to it; its end is the
	// server's. The supervisor writes the wait status of its program when that ends, 4 bytes, and linkOrderly when
	// nothing is left.
	linkFile    = 3
	linkOrderly = 1
	// stopGrace is what programs have to end by themselves.
	stopGrace = 2 * time.Second
	// killPause is the time between two looks at the remaining processes.
	killPause = 5 * time.Millisecond
)

// supervise runs the program and returns when everything below this process is gone. This goroutine is on the thread
// whose end would end the program.
func supervise(program []string) int {
	syscall.CloseOnExec(linkFile)
	link := os.NewFile(linkFile, "link")
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	pid, err := startBelow(program)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the tool's program could not be started:", err)
		return 126
	}
	go func() {
		_, _ = io.Copy(io.Discard, link) // It ends with the server.
		killBelow()
	}()
	go func() {
		<-stop
		signalBelow(syscall.SIGTERM)
		signalBelow(syscall.SIGCONT)
		<-time.After(stopGrace)
		killBelow()
	}()
	collectBelow(pid, link)
	_, _ = link.Write([]byte{linkOrderly}) // It fails only if the server is gone.
	return 0
}

// startBelow starts the program and hands over this process's input and outputs, which would otherwise stay open after it. The thread has
// makingName meanwhile; nothing below this process is collected before it has its own name again.
func startBelow(program []string) (pid int, err error) {
	// The signal is a second way to hear that the server is gone.
	for option, value := range map[int]uintptr{unix.PR_SET_CHILD_SUBREAPER: 1, unix.PR_SET_PDEATHSIG: uintptr(syscall.SIGTERM)} {
		if err := unix.Prctl(option, value, 0, 0, 0); err != nil {
			return 0, err
		}
	}
	if err := closeMemory(); err != nil {
		return 0, err
	}
	if err := nameThread(makingName); err != nil {
		return 0, err
	}
	pid, err = syscall.ForkExec(program[0], program, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err := errors.Join(err, nameThread(SupervisorName)); err != nil {
		return 0, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return pid, nil //nolint:nilerr // Who reads the outputs then learns of their end from the end of this process.
	}
	for fd := range 3 {
		_ = syscall.Dup3(int(null.Fd()), fd, 0)
	}
	return pid, nil
}

// collectBelow collects the processes that end below this process until none is left.
func collectBelow(program int, link io.Writer) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return
		}
		if pid == program {
			_, _ = link.Write(binary.NativeEndian.AppendUint32(nil, uint32(status))) // As above.
		}
	}
}

// killBelow goes on until this process ends, which it does when nothing is left.
func killBelow() {
	for {
		signalBelow(syscall.SIGKILL)
		<-time.After(killPause)
	}
}

func signalBelow(sig syscall.Signal) {
	table, _, err := ProcessTable()
	if err != nil {
		return // The next look may be luckier, and the server kills by itself.
	}
	self := os.Getpid()
	for pid := range table {
		if table.Below(pid, self) {
			_ = syscall.Kill(pid, sig) // It fails only for a process that has just ended.
		}
	}
}
