// SPDX-License-Identifier: Apache-2.0

//go:build linux

package proc

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// maxProcesses is how many processes and threads the programs of a sandbox may have. A fork bomb that gets no further leaves
// the node its process numbers, and a build with a thread per file does not come near.
const maxProcesses = 2048

const rlimitNproc = 6

// limitProcesses bounds the processes of this user, in this process and its children. Without a user namespace the kernel would count the
// processes of all sandboxes of the node, because their user is the same one, so there is no limit then.
func limitProcesses() error {
	if !ownUsers() {
		return nil
	}
	var have syscall.Rlimit
	if err := syscall.Getrlimit(rlimitNproc, &have); err != nil {
		return err
	}
	limit := min(have.Max, maxProcesses)
	return syscall.Setrlimit(rlimitNproc, &syscall.Rlimit{Cur: limit, Max: limit})
}

// ProcessesLimited reports whether the kernel bounds the processes of programs, as far as it can be seen from here.
func ProcessesLimited() bool {
	if ownUsers() {
		return true
	}
	for _, file := range []string{"/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"} {
		if content, err := os.ReadFile(file); err == nil && isNumber(string(content)) {
			return true
		}
	}
	return false
}

func isNumber(content string) bool {
	_, err := strconv.ParseUint(strings.TrimSpace(content), 10, 63)
	return err == nil
}

// ownUsers reports whether the users here are no users of the node.
func ownUsers() bool {
	content, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && mapsUsers(string(content)) // A kernel without user namespaces has no such file.
}

// mapsUsers reads the map of users: the node's own has one line, which maps each to itself.
func mapsUsers(uidMap string) bool {
	fields := strings.Fields(uidMap)
	return len(fields) > 0 && (len(fields) != 3 || fields[0] != "0" || fields[1] != "0")
}
