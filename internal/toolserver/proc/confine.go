// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"motorcortex.dev/motorcortex/internal/toolserver/disk"
	"motorcortex.dev/motorcortex/internal/toolserver/seccomp"
)

// Tool processes have the server's user id, because a container has one. Four measures protect the server from them anyway:
//
//   - Prepare makes the server's memory and files in /proc unreadable to them (not dumpable).
//   - They are started by the launcher, to which Landlock closes the state folder. Landlock also forbids them to trace processes
//     outside of its domain and, from Linux 6.12 on, to send those signals. Processes that they start cannot undo that.
//   - The launcher installs a system call filter on them. It allows limits, priorities and processors only for themselves.
//   - They are the first to be killed when memory runs out.
//
// Without Landlock (gVisor, kernels before 5.19) the server works all the same, and reports that to the manager: a hostile program only
// gains a way to lie about its own sandbox. Without the filter no program is started: it is a barrier to the network.

// IsChild reports whether this process was started by a server to be a part of it: a launcher, a supervisor, or a cleaner. The main
// function calls RunChild then, and nothing else.
func IsChild() bool {
	return len(os.Args) > 1 && (os.Args[0] == launcherName || os.Args[0] == SupervisorName || os.Args[0] == CleanerName)
}

// RunChild runs such a part, and returns its exit status.
func RunChild() int {
	runtime.LockOSThread() // Confinement is per thread, and so is the parent whose death signals a child.
	if os.Args[0] == launcherName {
		return launch(launcherArgs(os.Args[1:]))
	}
	if os.Args[0] == CleanerName {
		return clean(os.Args[1:])
	}
	return supervise(os.Args[1:])
}

// programNice is the nice value of programs, relative to nothing but the server: other Pods have weights of their own.
const programNice = 5

// modest sets the limits and the priority of tools, in this process and its children. fileSize bounds each of their files; 0 means no
// bound.
func modest(fileSize int64) error {
	// A core dump would fill the workspace with the memory of a program.
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("switch core dumps off: %w", err)
	}
	if err := limitProcesses(); err != nil {
		return fmt.Errorf("limit the number of processes: %w", err)
	}
	if err := disk.LimitFiles(fileSize); err != nil {
		return err
	}
	// The server must have a processor when it wants one: a program fills a disk in the time that it waits. Only a wish.
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, programNice)
	// Only a wish: there are systems where the value cannot be changed.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	return nil
}

// closeMemory keeps other processes of this user from looking into this one. The filter lets those do so that have its mark.
func closeMemory() error {
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, seccomp.ServerMark, 0, 0)
}

// Prepare protects the server's process, and bounds its writes by the sizes of the volumes. It is called once, before New, by a process
// that is nothing but a server.
func Prepare(sizes disk.Sizes) error {
	disk.Survive()
	if err := disk.LimitFiles(max(sizes.Workspace, sizes.Temp, sizes.State)); err != nil {
		return err
	}
	if err := closeMemory(); err != nil {
		return fmt.Errorf("close the server's memory: %w", err)
	}
	spareThreads(32)
	return nil
}

// spareThreads makes the runtime create n threads, which it keeps for later. When a fork bomb has used up the
// container's processes, no thread can be created any more, and the runtime would end the server if it needed one.
func spareThreads(n int) {
	var there, done sync.WaitGroup
	there.Add(n)
	for range n {
		done.Go(func() {
			runtime.LockOSThread() // Each needs a thread of its own, and all wait for each other.
			there.Done()
			there.Wait()
			runtime.UnlockOSThread()
		})
	}
	done.Wait()
}

// MinLandlock is the first version of Landlock that lets files be moved between folders.
const MinLandlock = 2

// LandlockABI is the version of Landlock that the kernel has, 0 if none. Below 2, tool processes are not confined.
func LandlockABI() int {
	abi, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// accessMake is the right to make an entry of any kind in a folder.
const accessMake = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
	unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM

// confine forbids this thread, and its children, to read or change files in the folder closed. Landlock only grants permissions, so
// everything beside the folder and beside its parent folders is permitted. Entries made directly in one of those parents after this are
// closed too; in a container, that is its read-only root.
func confine(abi int, closed string) error {
	rights := uint64(unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | accessMake | unix.LANDLOCK_ACCESS_FS_REFER)
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	attr := unix.LandlockRulesetAttr{Access_fs: rights}
	size := unsafe.Sizeof(attr.Access_fs) // A kernel refuses fields that it does not know.
	if abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
		size = unsafe.Sizeof(attr)
	}
	ruleset, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("create a Landlock ruleset: %w", errno)
	}
	dir := "/"
	for name := range strings.SplitSeq(strings.Trim(closed, "/"), "/") {
		if err := permitOthers(ruleset, rights, dir, name); err != nil {
			return err
		}
		dir = filepath.Join(dir, name)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("apply the Landlock ruleset: %w", errno)
	}
	return syscall.Close(int(ruleset))
}

// permitOthers permits everything in dir but name.
func permitOthers(ruleset uintptr, rights uint64, dir, name string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // A folder that cannot be listed stays closed.
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == name || e.Type() == fs.ModeSymlink {
			continue // The target of a link is permitted at its own path.
		}
		if err := permit(ruleset, rights, filepath.Join(dir, e.Name()), e.IsDir()); err != nil {
			return fmt.Errorf("permit %s: %w", filepath.Join(dir, e.Name()), err)
		}
	}
	return nil
}

func permit(ruleset uintptr, rights uint64, path string, isDir bool) error {
	fd, err := syscall.Open(path, unix.O_PATH|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil // Gone, or closed to us anyway.
	}
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(fd) }()
	if !isDir {
		rights &= unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := syscall.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
