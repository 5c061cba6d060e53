// SPDX-License-Identifier: Apache-2.0

//go:build linux

package seccomp

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be a process under the filter, for a filter cannot be taken off again.
func TestMain(m *testing.M) {
	families := map[string]Families{"four": {IPv4: true}, "six": {IPv6: true}, "none": {}}
	if f, ok := families[os.Getenv("TEST_FILTER")]; ok {
		if err := Install(f); err != nil {
			fmt.Println("install:", err)
			os.Exit(1)
		}
		tryAll()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tryAll makes the calls and prints their results.
func tryAll() {
	try := func(name string, err error) {
		if errno := syscall.Errno(0); errors.As(err, &errno) && errno != 0 {
			fmt.Println(name, unix.ErrnoName(errno))
			return
		}
		fmt.Println(name, "ok")
	}
	socket := func(name string, family, kind, protocol int) {
		fd, err := unix.Socket(family, kind, protocol)
		if err == nil {
			_ = unix.Close(fd)
		}
		try(name, err)
	}
	socket("unix", unix.AF_UNIX, unix.SOCK_STREAM, 0)
	socket("tcp4", unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	socket("udp4", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDP)
	socket("tcp6", unix.AF_INET6, unix.SOCK_STREAM, 0)
	socket("raw4", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	socket("lite4", unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE)
	socket("mptcp", unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
	socket("netlink", unix.AF_NETLINK, unix.SOCK_RAW, 0)
	socket("packet", unix.AF_PACKET, unix.SOCK_RAW, 0)
	socket("vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	try("pair", err)
	if err == nil {
		try("option", unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_SNDBUF, 1<<16))
		try("broadcast", unix.SetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_BROADCAST, 1))
	}
	tryUDP(try)
	parent := os.Getppid()
	limit := unix.Rlimit{}
	try("read limit", unix.Prlimit(parent, unix.RLIMIT_NOFILE, nil, &limit))
	try("limit", unix.Prlimit(parent, unix.RLIMIT_NOFILE, &limit, nil))
	try("own limit", unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}))
	try("priority", unix.Setpriority(unix.PRIO_PROCESS, parent, 10))
	try("own priority", unix.Setpriority(unix.PRIO_PROCESS, 0, 5))
	var cpus unix.CPUSet
	_ = unix.SchedGetaffinity(0, &cpus)
	try("processors", unix.SchedSetaffinity(parent, &cpus))
	try("own processors", unix.SchedSetaffinity(0, &cpus))
	const batch = 3
	param := int32(0)
	_, _, errno := unix.Syscall(unix.SYS_SCHED_SETSCHEDULER, uintptr(parent), batch, uintptr(unsafe.Pointer(&param)))
	try("scheduler", errno)
	_, _, errno = unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	try("ring", errno)
	var queue uintptr
	_, _, errno = unix.Syscall(unix.SYS_IO_SETUP, 1, uintptr(unsafe.Pointer(&queue)), 0)
	try("asynchronous work", errno)
	try("hide", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	try("hidden", dumpable(1))
	try("hide as the server", unix.Prctl(unix.PR_SET_DUMPABLE, 0, ServerMark, 0, 0))
	try("hidden as the server", dumpable(0))
	if out, err := exec.Command("/bin/sh", "-c", "echo child").Output(); err != nil || string(out) != "child\n" {
		fmt.Println("child", err)
	}
}

// dumpable is an error unless others may look into this process as much as that.
func dumpable(want int) error {
	if got, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || got != want {
		return errors.Join(err, unix.EINVAL)
	}
	return nil
}

// tryUDP uses UDP as every program in Go does, and sends a broadcast on the loopback device with leave to do so.
func tryUDP(try func(string, error)) {
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	try("go udp4", err)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	_, err = conn.WriteTo([]byte("x"), conn.LocalAddr())
	try("send", err)
	_, err = conn.WriteTo([]byte("x"), &net.UDPAddr{IP: net.IPv4(127, 255, 255, 255), Port: 9})
	try("send to all", err)
}

func TestInstall(t *testing.T) {
	for families, ip := range map[string][3]string{
		// TCP of IPv4, a call for raw IPv4, TCP of IPv6.
		"four": {"ok", "EPERM", "EAFNOSUPPORT"}, "six": {"EAFNOSUPPORT", "EAFNOSUPPORT", "ok"}, "none": {"EAFNOSUPPORT", "EAFNOSUPPORT", "EAFNOSUPPORT"},
	} {
		t.Run(families, func(t *testing.T) {
			if fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, 0); err == nil {
				_ = unix.Close(fd)
			} else if families == "six" {
				ip[2] = "EAFNOSUPPORT" // There are machines without IPv6.
			}
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), "TEST_FILTER="+families)
			got, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, got)
			}
			want := []string{
				"unix ok", "tcp4 " + ip[0], "udp4 " + ip[0], "tcp6 " + ip[2], "raw4 " + ip[1], "lite4 " + ip[1], "mptcp " + ip[1],
				"netlink EAFNOSUPPORT", "packet EAFNOSUPPORT", "vsock EAFNOSUPPORT", "pair ok", "option ok", "broadcast ok",
				"go udp4 " + ip[0],
			}
			if ip[0] == "ok" {
				want = append(want, "send ok", "send to all EACCES")
			}
			want = append(want,
				"read limit ok", "limit EPERM", "own limit ok", "priority EPERM", "own priority ok", "processors EPERM", "own processors ok",
				"scheduler EPERM", "ring EPERM", "asynchronous work ENOSYS", "hide ok", "hidden ok", "hide as the server ok", "hidden as the server ok",
			)
			if got := string(bytes.TrimSpace(got)); got != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
		})
	}
}

// The numbers in the table are the kernel's.
func TestNumbersOfCalls(t *testing.T) {
	want := arch{
		audit: native.audit, secondABI: native.secondABI, socket: unix.SYS_SOCKET, socketpair: unix.SYS_SOCKETPAIR, setsockopt: unix.SYS_SETSOCKOPT,
		prlimit64: unix.SYS_PRLIMIT64, setpriority: unix.SYS_SETPRIORITY, ioprioSet: unix.SYS_IOPRIO_SET,
		schedSetscheduler: unix.SYS_SCHED_SETSCHEDULER, schedSetparam: unix.SYS_SCHED_SETPARAM,
		schedSetattr: unix.SYS_SCHED_SETATTR, schedSetaffinity: unix.SYS_SCHED_SETAFFINITY,
		ioUringSetup: unix.SYS_IO_URING_SETUP, ioUringEnter: unix.SYS_IO_URING_ENTER, ioUringRegister: unix.SYS_IO_URING_REGISTER,
		ioSetup:   unix.SYS_IO_SETUP,
		fallocate: unix.SYS_FALLOCATE, ioctl: unix.SYS_IOCTL,
		prctl: unix.SYS_PRCTL,
	}
	if native != want {
		t.Errorf("%+v, want %+v", native, want)
	}
}
