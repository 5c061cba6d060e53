// SPDX-License-Identifier: Apache-2.0

//go:build linux

package toolserver

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

const (
	// heldTimeout is what a process that traces another one has to take notice of its end.
	heldTimeout = time.Second

	// What waitid waits for.
	anyChild = 0 // P_ALL
	oneChild = 1 // P_PID

	sysPidfdOpen = 434 // On all architectures that Go supports.
)

// childInfo is what the kernel tells of a child: its siginfo_t on machines of 64 bits.
type childInfo struct {
	signal, errno, code, _ int32
	// pid is 0 if there is nothing to tell.
	pid int32
	_   [27]int32
}

// waitID waits for a child and leaves its status to be taken.
func waitID(kind, id, flags int) (info childInfo, errno syscall.Errno) {
	for {
		_, _, errno = syscall.Syscall6(syscall.SYS_WAITID, uintptr(kind), uintptr(id), uintptr(unsafe.Pointer(&info)),
			uintptr(flags|syscall.WNOWAIT), 0, 0)
		if errno != syscall.EINTR {
			return info, errno
		}
	}
}

// isChild says whether the process is a child of this one.
func isChild(pid int) bool {
	_, errno := waitID(oneChild, pid, syscall.WEXITED|syscall.WNOHANG)
	return errno == 0
}

// isStopped says whether the child was stopped by a signal.
func isStopped(pid int) bool {
	info, errno := waitID(oneChild, pid, syscall.WSTOPPED|syscall.WNOHANG)
	return errno == 0 && info.pid != 0
}

// isZombie says whether the child has ended and this process may take its status.
func isZombie(pid int) bool {
	info, errno := waitID(oneChild, pid, syscall.WEXITED|syscall.WNOHANG)
	return errno != 0 || info.pid != 0 // It is a child, so nothing can fail.
}

// awaitZombie returns when the child has ended, without taking its status.
//
// A process that traces the child is told of its end first, and the child is no zombie of ours until that process takes
// notice, or ends. One that does not take notice is killed if it belongs to a tool: the call would never end otherwise.
func (r *reaper) awaitZombie(pid int) {
	for {
		err := awaitEnd(pid, heldTimeout)
		if err == nil {
			return
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) { // This kernel has no files for processes, or there are too many files.
			_, _ = waitID(oneChild, pid, syscall.WEXITED)
			return
		}
		r.killTracer(pid)
	}
}

// awaitEnd waits in the way of a network connection and so holds no thread: as long as one is held, the runtime looks at it
// some thousand times a second and takes the processor from the program that is waited for. The error is
// os.ErrDeadlineExceeded if the child has ended and somebody else holds it for longer than the limit.
func awaitEnd(pid int, limit time.Duration) error {
	fd, _, errno := syscall.Syscall(sysPidfdOpen, uintptr(pid), 0, 0)
	if errno != 0 {
		return errno
	}
	if err := syscall.SetNonblock(int(fd), true); err != nil {
		return errors.Join(err, syscall.Close(int(fd)))
	}
	file := os.NewFile(fd, "process")
	defer file.Close()
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	told := false
	var failed error
	err = conn.Read(func(uintptr) bool {
		if isZombie(pid) {
			return true
		}
		if told { // The file tells of nothing but the end.
			failed = file.SetReadDeadline(time.Now().Add(limit))
		}
		told = true
		return failed != nil
	})
	return errors.Join(err, failed)
}

// killTracer kills the process that traces another one if it is below this process.
func (r *reaper) killTracer(pid int) {
	tracer, err := statusField(pid, "TracerPid:")
	if err == nil && tracer > 0 {
		tracer, err = statusField(tracer, "Tgid:") // It is a thread that traces.
	}
	if err != nil || tracer <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if table, _ := r.table(); !table.below(tracer, os.Getpid()) || tracer == r.launch.pid() {
		return
	}
	r.log.Warn("a process that traces another one keeps its end to itself, and is killed", "pid", tracer)
	_ = syscall.Kill(tracer, syscall.SIGKILL) // It fails only if it has just ended.
}

// statusField reads a number of the status of a process.
func statusField(pid int, name string) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte(name)); ok {
			return strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	return 0, fmt.Errorf("the status of process %d has no %s", pid, name)
}
