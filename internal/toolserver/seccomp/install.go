// SPDX-License-Identifier: Apache-2.0

//go:build linux

package seccomp

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Install puts the filter on all threads of this process, and with that on all processes that it starts from now on. It then tries the
// calls that must be refused: so the server detects a kernel that accepts a filter and does not obey it before a program does. This cannot
// be undone.
func Install(f Families) error {
	filter, err := Filter(f)
	if err != nil {
		return fmt.Errorf("build the filter of system calls: %w", err)
	}
	// Both structs are laid out as the kernel's.
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: (*unix.SockFilter)(unsafe.Pointer(unsafe.SliceData(filter)))}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	switch {
	case errno != 0:
		return fmt.Errorf("put the filter of system calls on (the kernel needs CONFIG_SECCOMP_FILTER): %w", errno)
	case thread != 0: // The kernel names a thread that has another filter, and puts none on.
		return fmt.Errorf("put the filter of system calls on: thread %d has another one", thread)
	}
	return f.verify()
}

// verify tries a socket of each family that programs must not have.
func (f Families) verify() error {
	denied := map[string]int{"packet": unix.AF_PACKET, "netlink": unix.AF_NETLINK}
	if !f.IPv4 {
		denied["IPv4"] = unix.AF_INET
	}
	if !f.IPv6 {
		denied["IPv6"] = unix.AF_INET6
	}
	for name, family := range denied {
		fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		if !errors.Is(err, unix.EAFNOSUPPORT) {
			return fmt.Errorf("the kernel took the filter of system calls and gives %s sockets all the same: %w", name, errors.Join(err, errNotObeyed))
		}
	}
	return nil
}

var errNotObeyed = errors.New("a system call that must be refused was not")
