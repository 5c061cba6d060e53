// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"motorcortex.dev/motorcortex/internal/toolserver/seccomp"
)

// Start is a program that is to be started in a session of its own.
type Start struct {
	// Path is the program's.
	Path string
	// Args begin with the program's name, and Env is all of its environment.
	Args, Env []string
	// Dir is where it starts.
	Dir string
	// Files become its files from 0 on; nil is /dev/null.
	Files []*os.File
}

// The launcher receives a start as a message of two parts: launchHead, to which the files belong, and as many bytes as the head announces.
// It answers with the process number and the number of the error, one of which is 0.
const (
	launchHead   = 4
	launchAnswer = 8
	maxFiles     = 8
)

// encode joins texts that have no NUL. A text with one cannot be passed to any program.
func (s Start) encode() ([]byte, error) {
	parts := append([]string{s.Path, s.Dir, strconv.Itoa(len(s.Args))}, s.Args...)
	parts = append(parts, s.Env...)
	for _, p := range parts {
		if strings.ContainsRune(p, 0) {
			return nil, syscall.EINVAL
		}
	}
	return []byte(strings.Join(parts, "\x00")), nil
}

func decodeStart(content []byte) (Start, error) {
	parts := strings.Split(string(content), "\x00")
	if len(parts) < 3 {
		return Start{}, errors.New("there is too little to start")
	}
	n, err := strconv.Atoi(parts[2])
	if err != nil || n < 0 || n > len(parts)-3 {
		return Start{}, errors.New("the number of arguments is wrong")
	}
	return Start{Path: parts[0], Dir: parts[1], Args: parts[3 : 3+n], Env: parts[3+n:]}, nil
}

// launcherArgs reads the arguments that follow a launcher's name. A size that cannot be read is none: the server wrote it.
func launcherArgs(args []string) (closed string, fileSize int64, families seccomp.Families) {
	fileSize, _ = strconv.ParseInt(args[1], 10, 64)
	return args[0], fileSize, FamiliesOf(args[2:])
}

// launch is the launcher. It closes the state folder to itself and installs the system call filter; both apply to all processes that it
// starts. Then it starts programs on the server's orders until the server is gone. The processes that it starts are the server's own
// children.
func launch(closed string, fileSize int64, families seccomp.Families) int {
	// With one processor the runtime releases it while this process waits, and is idle. With more it would watch the waiting thread for 10 ms
	// after each start, and disturb the started program.
	runtime.GOMAXPROCS(1)
	// Signals belong to the programs that get them. Started programs would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGXFSZ)
	syscall.CloseOnExec(linkFile)
	if err := becomeLauncher(closed, fileSize, families); err != nil {
		_, _ = syscall.Write(linkFile, []byte(err.Error())) // If that fails, the server sees the end.
		return 1
	}
	answer := make([]byte, launchAnswer)
	for {
		if _, err := syscall.Write(linkFile, answer); err != nil {
			return 0
		}
		s, fds, err := ReceiveStart(linkFile)
		if err != nil {
			return 0 // The server is gone, or it has given up on this process.
		}
		pid, err := syscall.ForkExec(s.Path, s.Args, &syscall.ProcAttr{
			Dir: s.Dir, Env: s.Env, Files: fds,
			Sys: &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_PARENT},
		})
		for _, fd := range fds {
			_ = syscall.Close(int(fd))
		}
		binary.NativeEndian.PutUint32(answer, uint32(pid))
		binary.NativeEndian.PutUint32(answer[4:], 0)
		if err != nil {
			errno, _ := errors.AsType[syscall.Errno](err)
			binary.NativeEndian.PutUint32(answer, 0)
			binary.NativeEndian.PutUint32(answer[4:], uint32(max(errno, 1)))
		}
	}
}

// becomeLauncher sets up what every process that is started inherits.
func becomeLauncher(closed string, fileSize int64, families seccomp.Families) error {
	if err := modest(fileSize); err != nil {
		return err
	}
	if err := closeMemory(); err != nil { // Once closed, this process cannot write its own /proc files either.
		return fmt.Errorf("close the launcher's memory: %w", err)
	}
	if abi := LandlockABI(); abi >= MinLandlock {
		if err := confine(abi, closed); err != nil {
			return fmt.Errorf("close the tool server's state: %w", err)
		}
		if err := closeTerminationLog(abi, terminationLog); err != nil {
			return err
		}
	}
	return seccomp.Install(families) // Last: it removes what the steps before could need.
}

// terminationLog is the kubelet's file for last words. It is on the node's disk, in no volume, and world-writable.
const terminationLog = "/dev/termination-log"

// closeTerminationLog closes the file to programs, as the state is.
func closeTerminationLog(abi int, file string) error {
	if _, err := os.Lstat(file); err != nil {
		return nil //nolint:nilerr // There is none outside of Kubernetes.
	}
	if err := confine(abi, file); err != nil {
		return fmt.Errorf("close %s: %w", file, err)
	}
	return nil
}

// ReceiveStart reads one start, and the files that come with it.
func ReceiveStart(link int) (s Start, fds []uintptr, err error) {
	head := make([]byte, launchHead)
	rights := make([]byte, syscall.CmsgSpace(maxFiles*4))
	n, nRights, _, _, err := recvmsg(link, head, rights)
	if err == nil && n < len(head) {
		err = errors.New("the server is gone")
	}
	if err != nil {
		return s, nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:nRights])
	if err != nil {
		return s, nil, err
	}
	for _, m := range messages {
		files, err := syscall.ParseUnixRights(&m)
		if err != nil {
			return s, nil, err
		}
		for _, fd := range files {
			fds = append(fds, uintptr(fd))
		}
	}
	content := make([]byte, binary.NativeEndian.Uint32(head))
	for rest := content; len(rest) > 0; {
		n, err := syscall.Read(link, rest)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return s, nil, errors.New("the server is gone")
		}
		rest = rest[n:]
	}
	s, err = decodeStart(content)
	return s, fds, err
}

func recvmsg(link int, data, rights []byte) (n, nRights, flags int, from syscall.Sockaddr, err error) {
	for {
		n, nRights, flags, from, err = syscall.Recvmsg(link, data, rights, syscall.MSG_CMSG_CLOEXEC)
		if err != syscall.EINTR {
			return n, nRights, flags, from, err
		}
	}
}
