// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import (
	"bufio"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxOpen is the most open files that are examined. A sandbox with more open files, given the number that a container may have, has them to
// hide something.
const maxOpen = 4 << 20

// open is what processes hold open.
type open struct {
	// nameless is what files take that have no name any more, by the folder that they were in.
	nameless map[string]Usage
	// released is what files took that were kept open here, and are not any more.
	released map[string]Usage
	// hiders are the processes whose files cannot be read.
	hiders []int
	// holders are the processes that hold what cannot be counted: files without a name by a mapping alone, and descriptors in sockets.
	holders []int
	// tooMany is true if there are more open files than are examined.
	tooMany bool
}

// deleted finds the files of the folders dirs that processes hold open without a name. spare are processes of the server's own. Mapped
// files are kept open in k.
func deleted(dirs []string, spare func(pid int) bool, hurry func() bool, k *kept) open {
	l, complete := newLook(dirs, k), true
	for _, pid := range numbers("/proc") {
		if complete = hurry == nil || !hurry(); !complete {
			break // Nor will the count be made to its end.
		}
		if pid == os.Getpid() || spare(pid) {
			continue
		}
		if !l.process(pid) && parentOf(pid) != 0 { // A process without a parent here was brought in from outside of the sandbox.
			l.found.hiders = append(l.found.hiders, pid)
		}
		if complete = !l.found.tooMany; !complete {
			break
		}
	}
	l.resolve(complete)
	return l.found
}

// hides reports whether the files of a process cannot be read.
func hides(pid int) bool {
	l := newLook(nil, &kept{})
	return !l.process(pid)
}

// look is one look at all open files.
type look struct {
	dirs    []string
	devices map[string]uint64
	// seen are the open files without a name, and mapped the mapped ones, with a name or without.
	seen   map[id]link
	mapped map[id]*mapping
	kept   *kept
	lines  *bufio.Reader
	looked int
	found  open
}

// process looks at the files of a process, and reports whether it could.
func (l *look) process(pid int) (shown bool) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	mapped := false
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
			if !l.noteDescriptor(folder, name, link{task: int32(task)}, pid) && hasMemory(folder) {
				return false
			}
		}
		if mapped { // All threads of a process have the same memory.
			continue
		}
		if mapped, err = l.maps(folder, pid); os.IsPermission(err) && hasMemory(folder) {
			return false
		}
		var stat unix.Stat_t
		if mapped && !l.note(folder+"/exe", link{int32(task), executable}, &stat) && hasMemory(folder) {
			return false
		}
	}
	return true
}

// noteDescriptor notes an open file of a process. A socket may have further descriptors in it.
func (l *look) noteDescriptor(folder, name string, from link, pid int) (shown bool) {
	n, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return true
	}
	from.fd = int32(n)
	var stat unix.Stat_t
	if !l.note(folder+"/fd/"+name, from, &stat) {
		return false
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFSOCK {
		l.looked += socketCost
		if descriptors(folder, name) && !slices.Contains(l.found.holders[max(0, len(l.found.holders)-1):], pid) {
			l.found.holders = append(l.found.holders, pid)
		}
	}
	return true
}

// hasMemory reports whether a thread has memory. A thread that has ended has none, and its files are closed; they cannot be read either.
func hasMemory(folder string) bool {
	content, err := os.ReadFile(folder + "/statm")
	return err == nil && !strings.HasPrefix(string(content), "0 ")
}

// note counts a file that has no name any more in the folder that it was in. The kernel reports no name that is longer than a page. Such a
// file counts in each folder of its device: a program that could choose where it counts would have it count nowhere. It reports whether the
// file may be examined.
func (l *look) note(file string, from link, stat *unix.Stat_t) (shown bool) {
	if err := unix.Stat(file, stat); err != nil {
		return err != unix.EACCES && err != unix.EPERM
	}
	if _, before := l.seen[id{stat.Dev, stat.Ino}]; before || stat.Nlink != 0 {
		return true
	}
	target, err := os.Readlink(file)
	if errors.Is(err, os.ErrNotExist) {
		return true
	}
	for _, dir := range l.dirs {
		if strings.HasPrefix(target, dir+"/") || err != nil && l.devices[dir] == stat.Dev {
			l.seen[id{stat.Dev, stat.Ino}] = from
			l.found.add(dir, stat.Blocks*blockSize)
		}
	}
	return true
}

// add counts a file without a name.
func (o *open) add(dir string, taken int64) {
	u := o.nameless[dir]
	o.nameless[dir] = Usage{u.Bytes + taken, u.Inodes + 1}
}

// devicesOf returns the device of each folder that can be looked at.
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

// parentOf returns the parent of a process, 0 if that is unknown.
func parentOf(pid int) (parent int) {
	if fields := statOf(pid); len(fields) > 1 {
		parent, _ = strconv.Atoi(fields[1])
	}
	return parent
}

// stands reports whether a process is stopped, or has ended.
func stands(pid int) bool {
	fields := statOf(pid)
	return len(fields) == 0 || strings.ContainsAny(fields[0], "tTZX")
}

// statOf returns STATE PPID … of a process, none if that is unknown. The process chooses its name, which may contain anything: the fields
// begin after the last parenthesis.
func statOf(pid int) []string {
	content, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return strings.Fields(string(content[strings.LastIndexByte(string(content), ')')+1:]))
}
