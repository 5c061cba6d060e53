// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"motorcortex.dev/motorcortex/hack/devcluster/internal/cgroup"
)

// Enter is what a child of "up" does before it becomes a daemon: it puts itself into the cluster's
// control group and namespaces, and then runs the program in its own place. (nsenter would do for the
// namespaces, but not for the control group, and "ip netns exec" hides the control groups.)
//
// Its arguments are the place, the process id of the namespaces' holder, and the command.
func Enter(args []string) error {
	if len(args) < 3 {
		return errors.New("usage: PLACE HOLDER COMMAND…")
	}
	// Namespaces are a matter of threads: this one is changed, and this one calls exec.
	runtime.LockOSThread()
	where, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	holder, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	l, err := newLayout("")
	if err != nil {
		return err
	}
	group, err := cgroup.Find(l.name)
	if err != nil {
		return err
	}
	if err := group.Join(); err != nil {
		return err
	}
	if err := l.enter(place(where), holder); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	command := args[2:]
	return fmt.Errorf("run %s: %w", command[0], unix.Exec(command[0], command, os.Environ()))
}

func (l layout) enter(where place, holder int) error {
	if where == onHost {
		return nil
	}
	if err := join(l.namespace().Path(), unix.CLONE_NEWNET); err != nil {
		return err
	}
	// A thread that shares its working directory with others may not change its mounts.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if where == founding {
		return l.foundMounts()
	}
	if err := join(filepath.Join("/proc", strconv.Itoa(holder), "ns", "mnt"), unix.CLONE_NEWNS); err != nil {
		return err
	}
	if where == shielded {
		return l.shieldKernelSettings()
	}
	return nil
}

func join(file string, kind int) error {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open namespace %s: %w", file, err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Setns(fd, kind); err != nil {
		return fmt.Errorf("enter namespace %s: %w", file, err)
	}
	return nil
}

// foundMounts makes the cluster's mount namespace. What is mounted in it vanishes with its last
// process, so nothing of the kubelet's and containerd's many mounts can stay behind; and the places
// outside of our folders that they insist on writing to are replaced by places of our own.
func (l layout) foundMounts() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("create mount namespace: %w", err)
	}
	private := func(dir string) string { return l.private(dir) }
	for _, dir := range []string{"run", "var/lib", "var/log"} {
		if err := os.MkdirAll(private(dir), 0o755); err != nil {
			return err
		}
	}
	steps := []struct {
		from, to, kind string
		flags          uintptr
	}{
		// The machine's later mounts and unmounts are seen here; ours are not seen there.
		{"", "/", "", unix.MS_REC | unix.MS_SLAVE},
		// Among the cluster's processes mounts are shared: a Pod's mount propagation needs that.
		{"", "/", "", unix.MS_REC | unix.MS_SHARED},
		{"tmpfs", private("run"), "tmpfs", 0},
		{l.run, filepath.Join(private("run"), l.name), "", unix.MS_BIND},
		{private("run"), "/run", "", unix.MS_BIND | unix.MS_REC},
		{private("var/log"), "/var/log", "", unix.MS_BIND},
		{l.state, filepath.Join(private("var/lib"), l.name), "", unix.MS_BIND},
		{private("var/lib"), "/var/lib", "", unix.MS_BIND | unix.MS_REC},
	}
	for _, step := range steps {
		if step.flags == unix.MS_BIND {
			if err := os.MkdirAll(step.to, 0o711); err != nil {
				return err
			}
		}
		data := ""
		if step.kind == "tmpfs" {
			data = "mode=755"
		}
		if err := unix.Mount(step.from, step.to, step.kind, step.flags, data); err != nil {
			return fmt.Errorf("mount %s at %s: %w", step.from, step.to, err)
		}
	}
	return nil
}

// kernelSettings are what the kubelet sets on any machine that it starts on.
var kernelSettings = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// shieldKernelSettings lets the kubelet believe that the kernel is set up as it wants: its writes
// would change the whole machine, for example to reboot on an oops. Its own view of /proc gets files
// of ours instead. That view must not be containerd's, for a /proc that is covered in part may not be
// mounted again in a user namespace, which is what "hostUsers: false" does.
func (l layout) shieldKernelSettings() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("create mount namespace: %w", err)
	}
	if err := unix.Mount("", "/proc", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make /proc private: %w", err)
	}
	for setting, value := range kernelSettings {
		fake := filepath.Join(l.private("sysctl"), setting)
		if err := os.MkdirAll(filepath.Dir(fake), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(fake, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		err := unix.Mount(fake, filepath.Join("/proc/sys", setting), "", unix.MS_BIND, "")
		if err != nil && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("cover kernel setting %s: %w", setting, err)
		}
	}
	return nil
}
