// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"motorcortex.dev/motorcortex/internal/toolserver/plaintext"
	"motorcortex.dev/motorcortex/internal/toolserver/seccomp"
)

// launcher starts every process of a tool, by a process of its own: this program, confined. All that it starts is in one Landlock domain,
// because from Linux 6.12 on, processes of two domains cannot send each other signals. A command must be able to end a program that an
// earlier one has left in the background. A thread of the server could not start them: it would be in that domain, too, and a signal to any
// thread of a process reaches the process.
//
// The tools can send signals to the launcher. If they end it, there is another one at the next start, and later commands cannot signal the
// programs that are left in the background. If they stop it, it is replaced at launchTimeout.
//
// Without Landlock the state folder stays open, and the programs still get the filter of system calls. Without that filter nothing
// is started at all.
type launcher struct {
	log    *slog.Logger
	closed string
	// families are those of which programs get sockets.
	families seccomp.Families
	// FileSize is the most that a file of theirs may have, 0 if there is no bound.
	fileSize int64
	// self is this program.
	self string
	// null is /dev/null.
	null *os.File
	// process is the launcher that runs, nil if there is none.
	process *exec.Cmd
	// link is this end of the socket to it.
	link *os.File
}

const (
	// launcherName is argument 0 of a launcher; the folder that it closes, the size of files and the families of programs follow.
	launcherName = "motor-launcher"
	// launchTimeout is how long one step of a start may take.
	launchTimeout = 5 * time.Second
	// maxUnread is how often an order is given again that a launcher left unread at its end. A launcher that was killed looks alive
	// until the kernel has ended its threads.
	maxUnread = 2
)

// ErrLauncher means that a program may have been started or not.
var ErrLauncher = errors.New("the launcher ended while it started a program")

// Confinement is what holds programs.
type Confinement struct {
	// State is the folder that is closed to them.
	State string
	// Address is the Pod's own. Programs get sockets of its family; without an address they get none of IP.
	Address netip.Addr
	// FileSize is the most bytes of a file, 0 if there is no bound.
	FileSize int64
}

// newLauncher starts a launcher. If that fails, each program tries it again: the server stays up, and reports why.
func newLauncher(log *slog.Logger, self string, hold Confinement) (*launcher, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	l := &launcher{
		log: log, closed: hold.State, self: self, null: null, families: ProgramFamilies(hold.Address), fileSize: hold.FileSize,
	}
	if LandlockABI() < MinLandlock {
		l.log.Warn("this kernel has no Landlock that is new enough: tools can reach the tool server's state")
	}
	if err := l.renew(); err != nil {
		l.log.Error("no program can be started", "error", err)
	}
	return l, nil
}

// pid is the launcher's, 0 if there is none.
func (l *launcher) pid() int {
	if l.process == nil {
		return 0
	}
	return l.process.Process.Pid
}

// start starts a program as a child of this process and returns its number. After ErrLauncher it is unknown whether the program was
// started.
//
// A launcher that ends before it has read all of an order has started nothing, so the next one gets the order. The kernel tells: the
// other end of a socket reads ECONNRESET if content was left unread, and cannot write, with EPIPE, if the socket was closed before.
func (l *launcher) start(s Start) (int, error) {
	content, err := s.encode()
	if err != nil {
		return 0, err
	}
	fds := make([]int, 0, len(s.Files))
	for _, f := range s.Files {
		if f == nil {
			f = l.null
		}
		fds = append(fds, int(f.Fd()))
	}
	for tries := 0; ; tries++ {
		if err := l.ready(); err != nil {
			return 0, err
		}
		pid, err := l.order(content, fds)
		if !errors.Is(err, ErrLauncher) {
			return pid, err
		}
		l.log.Error("the launcher of tools was ended", "error", err)
		l.end()
		if tries == maxUnread || !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			return 0, err
		}
	}
}

// ready makes sure that there is a launcher. It returns an error if none can be started, for example because the kernel has no filter.
func (l *launcher) ready() error {
	if l.alive() {
		return nil
	}
	return l.renew()
}

// alive reports whether there is a launcher. It resumes a launcher that a tool has stopped.
func (l *launcher) alive() bool {
	if l.process == nil {
		return false
	}
	// It is not signalled without need: the signal wakes each of its threads, which takes longer than all else that it does.
	if isStopped(l.pid()) {
		_ = l.process.Process.Signal(syscall.SIGCONT) // It fails only if it has ended.
	}
	alive := false
	err := l.control(func(fd int) {
		_, _, err := syscall.Recvfrom(fd, make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		alive = err == syscall.EAGAIN // Anything else is its end, or an invalid message.
	})
	return err == nil && alive
}

func (l *launcher) control(do func(fd int)) error {
	conn, err := l.link.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Control(func(fd uintptr) { do(int(fd)) })
}

// order sends the launcher a program to start.
func (l *launcher) order(content []byte, fds []int) (int, error) {
	if err := l.tell(append(binary.NativeEndian.AppendUint32(nil, uint32(len(content))), content...), fds); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLauncher, err)
	}
	answer, err := l.answer()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrLauncher, err)
	}
	pid := int(binary.NativeEndian.Uint32(answer))
	if errno := syscall.Errno(binary.NativeEndian.Uint32(answer[4:])); errno != 0 {
		return 0, errno
	}
	if !IsOwnChild(pid) {
		return 0, fmt.Errorf("%w: it has another parent", ErrLauncher)
	}
	return pid, nil
}

// tell sends a message whose first bytes carry files.
func (l *launcher) tell(message []byte, fds []int) error {
	conn, err := l.link.SyscallConn()
	if err == nil {
		err = l.link.SetWriteDeadline(time.Now().Add(launchTimeout))
	}
	if err != nil {
		return err
	}
	var sent int
	var failed error
	err = conn.Write(func(fd uintptr) bool {
		for failed = syscall.EINTR; failed == syscall.EINTR; {
			sent, failed = syscall.SendmsgN(int(fd), message, syscall.UnixRights(fds...), nil, syscall.MSG_NOSIGNAL)
		}
		return failed != syscall.EAGAIN
	})
	if err = cmp.Or(err, failed); err == nil && sent < len(message) {
		_, err = l.link.Write(message[sent:])
	}
	return err
}

// answer reads an answer. Content of any other form is the text of an error.
func (l *launcher) answer() ([]byte, error) {
	answer := make([]byte, 1000)
	if err := l.link.SetReadDeadline(time.Now().Add(launchTimeout)); err != nil {
		return nil, err
	}
	n, err := l.link.Read(answer)
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it ended")
	case err != nil:
		return nil, err
	case n != launchAnswer:
		return nil, errors.New(plaintext.Bound(string(answer[:n]), n))
	}
	return answer[:n], nil
}

// renew starts a launcher in place of one that has ended, or must end.
func (l *launcher) renew() error {
	l.end()
	link, theirs, err := NewLink()
	if err != nil {
		return err
	}
	defer theirs.Close()
	cmd := &exec.Cmd{
		Path: l.self, Args: []string{launcherName, l.closed, strconv.FormatInt(l.fileSize, 10), NameOf(l.families)}, Env: []string{}, Dir: "/", ExtraFiles: []*os.File{theirs},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, link.Close())
	}
	l.process, l.link = cmd, link
	_ = theirs.Close() // Else its end could not be seen.
	if _, err := l.answer(); err != nil {
		l.end()
		return fmt.Errorf("start the launcher of tools: %w", err)
	}
	return nil
}

// end ends the launcher. The programs that it has started go on.
func (l *launcher) end() {
	if l.process == nil {
		return
	}
	_ = l.process.Process.Kill() // It fails only if it has ended.
	_ = l.process.Wait()         // It was killed.
	_ = l.link.Close()
	l.process = nil
}

func (l *launcher) close() {
	l.end()
	_ = l.null.Close()
}
