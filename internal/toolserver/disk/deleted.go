// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxOpen is the most open files that are looked at. Whoever has more than that, of the number that a container may have, has them
// to hide something.
const maxOpen = 4 << 20

// open is what processes hold open.
type open struct {
	// nameless is what files take that have no name any more, by the folder that they were in.
	nameless map[string]Usage
	// hiders are the processes that let nobody see their files.
	hiders []int
	// tooMany says that there are more open files than are looked at.
	tooMany bool
}

// deleted looks at what processes hold open of the folders dirs. spare are processes of the server's own.
func deleted(dirs []string, spare func(pid int) bool, hurry func() bool) open {
	l := &look{dirs: dirs, devices: devicesOf(dirs), seen: make(map[id]bool), found: open{nameless: make(map[string]Usage, len(dirs))}}
	for _, pid := range numbers("/proc") {
		if hurry != nil && hurry() {
			break // Nor will the count be made to its end.
		}
		if pid == os.Getpid() || spare(pid) {
			continue
		}
		if !l.process(pid) && parentOf(pid) != 0 { // What has no parent here was brought in from outside of the sandbox.
			l.found.hiders = append(l.found.hiders, pid)
		}
		if l.found.tooMany {
			break
		}
	}
	return l.found
}

// look is one look at all open files.
type look struct {
	dirs    []string
	devices map[string]uint64
	seen    map[id]bool
	looked  int
	found   open
}

// process looks at the files of a process, and reports whether it could.
func (l *look) process(pid int) (shown bool) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	for _, task := range numbers(tasks) { // A thread may have files of its own.
		folder := tasks + "/" + strconv.Itoa(task)
		entries, err := readNames(folder + "/fd")
		if os.IsPermission(err) && hasMemory(folder) {
			return false
		}
		for _, name := range entries {
			if l.looked++; l.looked > maxOpen {
				l.found.tooMany = true
				return true
			}
			if !l.note(folder+"/fd/"+name) && hasMemory(folder) {
				return false
			}
		}
	}
	return true
}

// hasMemory reports whether a thread has memory. One that has ended has none, and its files are closed; nobody may look at them either.
func hasMemory(folder string) bool {
	content, err := os.ReadFile(folder + "/statm")
	return err == nil && !strings.HasPrefix(string(content), "0 ")
}

// note counts a file that has no name any more in the folder that it was in. The kernel tells no name that is longer than a page: such
// a file counts in each folder of its device, because a program that could choose where it counts would have it count nowhere.
// It reports whether the file may be looked at.
func (l *look) note(file string) (shown bool) {
	var stat unix.Stat_t
	if err := unix.Stat(file, &stat); err != nil {
		return err != unix.EACCES && err != unix.EPERM
	}
	if stat.Nlink != 0 || l.seen[id{stat.Dev, stat.Ino}] {
		return true
	}
	target, err := os.Readlink(file)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	for _, dir := range l.dirs {
		if strings.HasPrefix(target, dir+"/") || err != nil && l.devices[dir] == stat.Dev {
			l.seen[id{stat.Dev, stat.Ino}] = true
			u := l.found.nameless[dir]
			l.found.nameless[dir] = Usage{u.Bytes + stat.Blocks*blockSize, u.Inodes + 1}
		}
	}
	return true
}

// devicesOf gives the device of each folder that can be looked at.
func devicesOf(dirs []string) map[string]uint64 {
	devices := make(map[string]uint64, len(dirs))
	for _, dir := range dirs {
		var stat unix.Stat_t
		if unix.Stat(dir, &stat) == nil {
			devices[dir] = stat.Dev
		}
	}
	return devices
}

// numbers are the entries of a folder that are numbers. A folder that cannot be read has none: its process has ended.
func numbers(folder string) (all []int) {
	names, _ := readNames(folder)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			all = append(all, n)
		}
	}
	return all
}

func readNames(folder string) ([]string, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// parentOf gives the parent of a process, 0 if that cannot be told.
func parentOf(pid int) (parent int) {
	content, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The process chooses its name, which may contain anything: what counts begins after the last parenthesis.
	fields := strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+1:]))
	if len(fields) > 1 {
		parent, _ = strconv.Atoi(fields[1])
	}
	return parent
}
