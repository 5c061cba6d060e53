// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// heldTimeout is the time within which a tracer must take notice of the end of its process.
	heldTimeout = time.Second
	// maxTracers bounds the search for the tracers of a process, their tracers, and so on.
	maxTracers = 10

	// How a child has ended, in the codes of waitid: CLD_EXITED, CLD_KILLED, CLD_DUMPED. Higher codes do not mean an end.
	lastEnd = 3
)

// childInfo is the kernel's information about a child: its siginfo_t.
type childInfo struct {
	signal, errno, code int32
	_                   [unsafe.Sizeof(uintptr(0))/4 - 1]int32 // The kernel aligns what follows to a pointer.
	// pid is 0 if there is nothing to report.
	pid int32
	_   [28]int32
}

// ended reports whether the child has ended. The kernel also reports a child that was stopped for a process that traces it, without being
// asked for.
func (i *childInfo) ended() bool { return i.pid != 0 && i.code <= lastEnd }

// waitID waits for a child and leaves its status to be taken, unless it is asked for stops alone.
func waitID(kind, id, flags int) (info childInfo, errno syscall.Errno) {
	if flags&syscall.WEXITED != 0 {
		flags |= syscall.WNOWAIT
	}
	for {
		_, _, errno = syscall.Syscall6(syscall.SYS_WAITID, uintptr(kind), uintptr(id), uintptr(unsafe.Pointer(&info)), uintptr(flags), 0, 0)
		if errno != syscall.EINTR {
			return info, errno
		}
	}
}

// IsOwnChild reports whether the process is a child of this one.
func IsOwnChild(pid int) bool {
	_, errno := waitID(unix.P_PID, pid, syscall.WEXITED|syscall.WNOHANG)
	return errno == 0
}

// isStopped reports whether the child was stopped by a signal.
func isStopped(pid int) bool {
	info, errno := waitID(unix.P_PID, pid, syscall.WSTOPPED|syscall.WNOHANG|syscall.WNOWAIT)
	return errno == 0 && info.pid != 0
}

// isZombie reports whether the child has ended and this process may take its status.
func isZombie(pid int) bool {
	info, errno := waitID(unix.P_PID, pid, syscall.WEXITED|syscall.WNOHANG)
	return errno != 0 || info.ended() // It is a child, so nothing can fail.
}

// AwaitZombie returns when the child has ended, without taking its status.
//
// A process that traces the child, or one of its threads, is notified of its end first. The child is no zombie of ours until that process
// takes notice, or ends. A tracer can also stop the child on its way to the end. A tracer that does so after the child has ended, or after
// the child was killed at its time limit, is killed if it belongs to a tool: the call would never end otherwise.
func (r *Reaper) AwaitZombie(pid int, over <-chan struct{}) {
	end := openEnd(pid)
	defer end.close()
	for !isZombie(pid) {
		if !end.wait(pid, heldTimeout) && (IsOver(over) || isState(pid, 'Z')) {
			r.killTracers(pid, maxTracers)
		}
	}
}

// IsOver reports whether a channel is closed. A nil channel never is.
func IsOver(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// endFile is a file that becomes readable at the end of a process. The zero endFile never does.
type endFile struct {
	file *os.File
	conn syscall.RawConn
}

// openEnd opens the file of a child. There is none in kernels that do not have such files, or if too many files are open.
func openEnd(pid int) endFile {
	// Kernels before 5.10 refuse PIDFD_NONBLOCK.
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return endFile{}
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return endFile{}
	}
	end := endFile{file: os.NewFile(uintptr(fd), "process")}
	conn, err := end.file.SyscallConn()
	if err != nil || end.file.SetReadDeadline(time.Time{}) != nil { // It cannot be waited for.
		end.close()
		return endFile{}
	}
	end.conn = conn
	return end
}

func (e *endFile) close() {
	if e.file != nil {
		_ = e.file.Close()
	}
}

// wait waits until the kernel reports a change of the child, and returns false at the limit. It waits in the way of a network connection
// and so holds no thread. While a thread is blocked, the runtime checks on it some thousand times a second and takes processor time from
// the program that is waited for.
func (e *endFile) wait(pid int, limit time.Duration) bool {
	if e.conn == nil {
		return awaitByLooking(pid, limit)
	}
	_ = e.file.SetReadDeadline(time.Now().Add(limit)) // It can be set, as it was before.
	waited := false
	err := e.conn.Read(func(uintptr) bool {
		done := waited || isZombie(pid)
		waited = true
		return done
	})
	return err == nil
}

// awaitByLooking polls until the child is a zombie, and returns false at the limit.
func awaitByLooking(pid int, limit time.Duration) bool {
	const shortest, longest = time.Millisecond, 50 * time.Millisecond
	until := time.Now().Add(limit)
	for pause := shortest; ; pause = min(2*pause, longest) {
		if isZombie(pid) {
			return true
		}
		if time.Now().After(until) {
			return false
		}
		<-time.After(pause)
	}
}

// isState reports whether the first thread of a process is in a state, by its letter in /proc.
func isState(pid int, state byte) bool {
	stat, err := readStat(strconv.Itoa(pid))
	fields := statFields(stat)
	return err == nil && len(fields) > 0 && fields[0][0] == state
}

// killTracers kills the processes that trace another one, or one of its threads, and are below this process; and those that trace them in
// turn. The server cannot determine which of them withholds the end of which process.
func (r *Reaper) killTracers(pid, most int) {
	if most == 0 {
		return
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		return
	}
	for _, thread := range threads {
		tracer, err := statusField(thread, "TracerPid:")
		if err != nil || tracer <= 0 {
			continue
		}
		// It is a thread that traces.
		if tracer, err = statusField(fmt.Sprintf("/proc/%d/status", tracer), "Tgid:"); err == nil && r.killTracer(tracer) {
			r.killTracers(tracer, most-1)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collectOrphans() // A thread can have made this process the one that traces it.
}

// killTracer kills a process if it belongs to a tool.
func (r *Reaper) killTracer(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if table, _ := r.table(); !table.Below(pid, os.Getpid()) || pid == r.launch.pid() {
		return false
	}
	r.log.Warn("a process that traces another one keeps its end to itself, and is killed", "pid", pid)
	return syscall.Kill(pid, syscall.SIGKILL) == nil
}

// statusField reads a number of the status of a process or thread.
func statusField(file, name string) (int, error) {
	status, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte(name)); ok {
			return strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	return 0, fmt.Errorf("%s has no %s", file, name)
}

// AwaitExit returns when the process has ended, and kills its group when ctx ends. The process stays a zombie. As long as it is one, its
// number cannot become that of another process or group, so kills by number reach only the intended processes.
func (r *Reaper) AwaitExit(ctx context.Context, pid int) {
	killed := make(chan struct{})
	end := context.AfterFunc(ctx, func() {
		defer close(killed)
		_ = syscall.Kill(-pid, syscall.SIGKILL) // It fails only if the group is gone already.
	})
	r.AwaitZombie(pid, ctx.Done())
	if !end() {
		<-killed
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
}
