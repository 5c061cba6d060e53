// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A mapping holds a file without a descriptor, and can write into its holes. The kernel reports which file it is, and not how much space it
// takes. So each mapped file is kept open for as long as it is mapped, from the first look that finds it with a name or a descriptor. Its
// size is known from then on, even if it loses both. A file that had neither at any look is unknown.

const (
	// maxKept is the most files that are kept open because they are mapped, and maxMapped the most that a look distinguishes.
	maxKept   = 4 << 10
	maxMapped = 64 << 10
	// keptShare is the part of the server's descriptors that they may take.
	keptShare = 4
	// socketCost is how many other open files a look at a socket is worth: it reads a file.
	socketCost = 4
)

// kept are the files that are kept open.
type kept struct {
	files map[id]int
	most  int
}

func newKept() *kept {
	k := &kept{files: make(map[id]int), most: maxKept}
	var have unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &have); err == nil && have.Cur/keptShare < maxKept {
		k.most = int(have.Cur / keptShare)
	}
	return k
}

// keep opens a file that is mapped, if path leads to it. It is opened without the right to read or write it.
func (k *kept) keep(path string, file id, flags int) bool {
	if len(k.files) >= k.most {
		return false
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err != nil {
		return false
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || (id{stat.Dev, stat.Ino}) != file {
		_ = unix.Close(fd)
		return false
	}
	k.files[file] = fd
	return true
}

// drop closes the files that are not mapped any more, and returns those of them that had no name.
func (k *kept) drop(mapped func(id) bool) (nameless map[id]int64) {
	nameless = make(map[id]int64)
	for file, fd := range k.files {
		if mapped(file) {
			continue
		}
		if taken, named := k.size(file); !named {
			nameless[file] = taken
		}
		_ = unix.Close(fd)
		delete(k.files, file)
	}
	return nameless
}

// close closes all.
func (k *kept) close() { k.drop(func(id) bool { return false }) }

// size returns the space that a file takes, and whether it has a name.
func (k *kept) size(file id) (taken int64, named bool) {
	var stat unix.Stat_t
	if err := unix.Fstat(k.files[file], &stat); err != nil {
		return 0, true
	}
	return stat.Blocks * blockSize, stat.Nlink > 0
}

// mapping is a file that a process maps.
type mapping struct {
	dir string
	// holders map it, if it was found without a name.
	holders []int
}

// maps looks at the mappings of a process, by one of its threads, and reports whether that has any.
func (l *look) maps(folder string, pid int) (some bool, err error) {
	f, err := os.Open(folder + "/maps")
	if err != nil {
		return false, err
	}
	defer f.Close()
	l.lines.Reset(f)
	for !l.found.tooMany {
		line, rest, err := l.lines.ReadLine()
		if err != nil {
			return some, ignoreEnd(err)
		}
		some = true
		if l.looked++; l.looked > maxOpen {
			l.found.tooMany = true
		}
		file, path, ok := parseMapping(line)
		if !ok {
			continue
		}
		whole := !rest
		for rest && err == nil { // A path that is too long to be opened: only its end counts.
			var end []byte
			end, rest, err = l.lines.ReadLine()
			path = path[:min(len(path), unix.PathMax)] + string(end[max(0, len(end)-len(gone)):])
		}
		for _, dir := range l.dirs {
			if strings.HasPrefix(path, dir+"/") {
				l.noteMapping(id{l.devices[dir], file}, dir, path, whole, pid)
			}
		}
	}
	return some, nil
}

func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// gone is how the kernel marks the path of a file that has lost the name that it was opened by.
const gone = " (deleted)"

// parseMapping reads "FROM-TO RIGHTS OFFSET DEVICE INODE PATH". Memory without a file has no inode.
func parseMapping(line []byte) (inode uint64, path string, ok bool) {
	for range 4 {
		_, after, found := bytes.Cut(line, []byte(" "))
		if !found {
			return 0, "", false
		}
		line = after
	}
	number, after, _ := bytes.Cut(line, []byte(" "))
	inode, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil || inode == 0 {
		return 0, "", false
	}
	return inode, string(bytes.TrimLeft(after, " ")), true
}

// noteMapping notes a mapping of a file in the folder dir.
func (l *look) noteMapping(file id, dir, path string, whole bool, pid int) {
	m := l.mapped[file]
	if m == nil {
		if len(l.mapped) >= maxMapped {
			l.found.tooMany = true
			return
		}
		m = &mapping{dir: dir}
		l.mapped[file] = m
	}
	if _, have := l.kept.files[file]; have || whole && l.kept.keep(path, file, unix.O_NOFOLLOW) {
		return
	}
	if strings.HasSuffix(path, gone) && !slices.Contains(m.holders[max(0, len(m.holders)-1):], pid) {
		m.holders = append(m.holders, pid)
	}
}

// resolve counts the mapped files without a name, and finds the processes that hold unknown ones. complete is true if all processes were
// examined.
func (l *look) resolve(complete bool) {
	for file, m := range l.mapped {
		link, open := l.seen[file]
		if open {
			l.kept.keepOnce(link.path(), file)
			continue // It counts already.
		}
		if _, have := l.kept.files[file]; !have {
			l.found.holders = append(l.found.holders, m.holders...)
			continue
		}
		if taken, named := l.kept.size(file); !named {
			l.found.add(m.dir, taken)
		}
	}
	if !complete {
		return
	}
	for file, taken := range l.kept.drop(func(file id) bool { return l.mapped[file] != nil }) {
		if _, open := l.seen[file]; open {
			continue
		}
		for dir, device := range l.devices {
			if device == file.dev { // It is not known any more where it was. Too much for one volume errs on the safe side.
				u := l.found.released[dir]
				l.found.released[dir] = Usage{u.Bytes + taken, u.Inodes + 1}
			}
		}
	}
}

// keepOnce keeps a file that is not kept yet.
func (k *kept) keepOnce(path string, file id) {
	if _, have := k.files[file]; !have {
		k.keep(path, file, 0)
	}
}

// descriptors reports whether descriptors are on their way in a socket. Linux reports that from 5.6 on.
func descriptors(folder, name string) bool {
	content, err := os.ReadFile(folder + "/fdinfo/" + name)
	if err != nil {
		return false
	}
	_, after, found := strings.Cut(string(content), "\nscm_fds:")
	count, _, _ := strings.Cut(after, "\n")
	return found && strings.TrimSpace(count) != "0"
}

// link is where a file was found open.
type link struct{ task, fd int32 }

// executable is the descriptor of a link that is the program of its process.
const executable = -1

func (l link) path() string {
	folder := "/proc/" + strconv.Itoa(int(l.task))
	if l.fd == executable {
		return folder + "/exe"
	}
	return folder + "/fd/" + strconv.Itoa(int(l.fd))
}

func newLook(dirs []string, k *kept) *look {
	return &look{
		dirs: dirs, devices: devicesOf(dirs), kept: k, seen: make(map[id]link), mapped: make(map[id]*mapping), lines: bufio.NewReaderSize(nil, 16<<10),
		found: open{nameless: make(map[string]Usage, len(dirs)), released: make(map[string]Usage)},
	}
}
