// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A cleaner is this program on its way to become one that can read and delete, and not write: what runs while the disk is full. A
// limit of files alone would let it make files without end, and fill holes by way of memory.

// CleanerName is argument 0 of a cleaner; the program and its arguments follow.
const CleanerName = "motor-cleaner"

// clean becomes the program.
func clean(program []string) int {
	if err := forbidWriting(); err != nil {
		fmt.Fprintln(os.Stderr, "writing cannot be forbidden to a program on a full disk:", err)
		return 126
	}
	err := syscall.Exec(program[0], program, os.Environ())
	fmt.Fprintln(os.Stderr, "the tool's program could not be started:", err)
	return 126
}

// forbidWriting holds for this thread and the program that it becomes. Without Landlock the limit of files is all there is.
func forbidWriting() error {
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("limit files: %w", err)
	}
	abi := LandlockABI()
	if abi < MinLandlock {
		return nil
	}
	rights := uint64(unix.LANDLOCK_ACCESS_FS_WRITE_FILE | accessMake)
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	ruleset, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rights)), unsafe.Sizeof(rights), 0)
	if errno != 0 {
		return fmt.Errorf("create a Landlock ruleset: %w", errno)
	}
	// Nothing there is on the disk, and hardly a command does without /dev/null.
	if err := permit(ruleset, rights&^accessMake, "/dev", true); err != nil {
		return fmt.Errorf("permit /dev: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("apply the Landlock ruleset: %w", errno)
	}
	return syscall.Close(int(ruleset))
}
