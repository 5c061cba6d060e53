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

// deleted gives what files take that have no name any more and are still open, by the folder of dirs that they were in. hidden
// reports whether a process lets nobody see its files, or has too many. spare are processes of the server's own.
func deleted(dirs []string, spare func(pid int) bool, hurry func() bool) (used map[string]Usage, hidden bool) {
	used = make(map[string]Usage, len(dirs))
	devices := devicesOf(dirs)
	seen := make(map[id]bool)
	looked := 0
	for _, pid := range numbers("/proc") {
		if hurry != nil && hurry() {
			return used, hidden // Nor will the count be made to its end.
		}
		if pid == os.Getpid() || spare(pid) {
			continue
		}
		tasks := "/proc/" + strconv.Itoa(pid) + "/task"
		for _, task := range numbers(tasks) { // A thread may have files of its own.
			folder := tasks + "/" + strconv.Itoa(task) + "/fd"
			entries, err := readNames(folder)
			hidden = hidden || os.IsPermission(err)
			for _, name := range entries {
				if looked++; looked > maxOpen {
					return used, true
				}
				noteDeleted(folder+"/"+name, dirs, devices, seen, used)
			}
		}
	}
	return used, hidden
}

// noteDeleted counts a file that has no name any more in the folder that it was in. The kernel tells no name that is longer than a page: such
// a file counts in each folder of its device, because a program that could choose where it counts would have it count nowhere.
func noteDeleted(file string, dirs []string, devices map[string]uint64, seen map[id]bool, used map[string]Usage) {
	var stat unix.Stat_t
	if unix.Stat(file, &stat) != nil || stat.Nlink != 0 || seen[id{stat.Dev, stat.Ino}] {
		return
	}
	target, err := os.Readlink(file)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	for _, dir := range dirs {
		if strings.HasPrefix(target, dir+"/") || err != nil && devices[dir] == stat.Dev {
			seen[id{stat.Dev, stat.Ino}] = true
			u := used[dir]
			used[dir] = Usage{u.Bytes + stat.Blocks*blockSize, u.Inodes + 1}
		}
	}
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
