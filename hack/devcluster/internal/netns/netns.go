// SPDX-License-Identifier: Apache-2.0

// Package netns works with a named network namespace: it makes and removes one, and opens sockets
// in it from a process that lives outside.
package netns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// Namespace is a network namespace by name, as "ip netns" knows it.
type Namespace struct{ Name string }

// Path is the file that refers to the namespace.
func (n Namespace) Path() string { return filepath.Join("/run/netns", n.Name) }

// Exists reports whether the namespace is there; a plain file that was left behind is none.
func (n Namespace) Exists() bool {
	var stat unix.Statfs_t
	return unix.Statfs(n.Path(), &stat) == nil && stat.Type == unix.NSFS_MAGIC
}

// Create makes the namespace and, inside it, a node interface with the address (in CIDR notation).
//
// The interface is one end of a pair whose other end leads nowhere, and the default route points
// at it: programs that look for the node's address and routes find what they expect, and nothing can
// leave. (Not every kernel has the dummy device that would do the same.)
func (n Namespace) Create(ctx context.Context, address string) error {
	if err := n.create(); err != nil {
		return err
	}
	commands := strings.Join([]string{
		"link set lo up",
		"link add node0 type veth peer name node0-end",
		"address add " + address + " dev node0",
		"link set node0 up",
		"link set node0-end up",
		"route add default dev node0",
	}, "\n")
	if err := run(ctx, commands, "ip", "-netns", n.Name, "-batch", "-"); err != nil {
		return err
	}
	// These two belong to the namespace, not to the machine.
	return n.Do(func() error {
		for _, file := range []string{"net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables"} {
			if err := os.WriteFile(filepath.Join("/proc/sys", file), []byte("1"), 0o644); err != nil {
				return fmt.Errorf("set %s in the cluster's network namespace: %w", file, err)
			}
		}
		return nil
	})
}

// create makes an empty namespace and gives it its name. "ip netns add" would also turn its folder
// into a shared mount of the machine, which nobody removes again.
func (n Namespace) create() error {
	if err := os.MkdirAll(filepath.Dir(n.Path()), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(n.Path(), nil, 0o444); err != nil {
		return err
	}
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread must not be used for anything else again
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("create network namespace: %w", err)
			return
		}
		if err := unix.Mount("/proc/thread-self/ns/net", n.Path(), "", unix.MS_BIND, ""); err != nil {
			result <- fmt.Errorf("name network namespace: %w", err)
			return
		}
		result <- nil
	}()
	return <-result
}

// Remove takes the name away. Its links go when the last process in it has ended.
func (n Namespace) Remove() error {
	for {
		err := unix.Unmount(n.Path(), unix.MNT_DETACH)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return fmt.Errorf("unmount %s: %w", n.Path(), err)
		}
	}
	if err := os.Remove(n.Path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Do runs work on a thread that is in the namespace. Sockets that work opens stay in it; goroutines
// that it starts do not.
func (n Namespace) Do(work func() error) error {
	inside, err := os.Open(n.Path())
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer func() { _ = inside.Close() }()
	result := make(chan error, 1)
	go func() {
		// The thread is never unlocked, so it ends with this goroutine: no other code can come to run
		// in the wrong namespace, whatever fails.
		runtime.LockOSThread()
		if err := unix.Setns(int(inside.Fd()), unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("enter network namespace: %w", err)
			return
		}
		result <- work()
	}()
	return <-result
}

// DialContext connects to a numeric address inside the namespace.
func (n Namespace) DialContext(ctx context.Context, network, address string) (conn net.Conn, err error) {
	doErr := n.Do(func() error {
		conn, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return err
	})
	return conn, doErr
}

// Listen opens a TCP listener at a numeric address inside the namespace.
func (n Namespace) Listen(ctx context.Context, address string) (listener net.Listener, err error) {
	doErr := n.Do(func() error {
		listener, err = (&net.ListenConfig{}).Listen(ctx, "tcp4", address)
		return err
	})
	return listener, doErr
}

func run(ctx context.Context, input, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
