// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Usage is what files take. Bytes are those of blocks, so that a hole takes nothing; each entry of a folder counts as an inode.
type Usage struct{ Bytes, Inodes int64 }

// blockSize is the unit in which the kernel tells what a file takes, whatever the filesystem.
const blockSize = 512

// errHurry says that a count was given up because there was no time for it: what it counts is filled meanwhile.
var errHurry = errors.New("the volume is filled during the count")

// errMoved says that a folder was moved while it was counted. It cannot happen while every program is stopped.
var errMoved = errors.New("a folder was moved during the count")

// id is the identity of a file.
type id struct{ dev, ino uint64 }

// counter walks a tree with one open folder, however deep the tree is.
type counter struct {
	used Usage
	most int64
	dev  uint64
	// links are the files with several names, which take their blocks once. There are no more than most.
	links map[id]bool
	buf   []byte
	// hurry is asked again and again whether the count must end; nil means no.
	hurry func() bool
}

// level is a folder on the way to the one that is open.
type level struct {
	id
	pending []string
	// closed says that its owner had no right to read it, which must be taken away again: mode is what it had.
	closed bool
	mode   uint32
}

// Count gives what the tree below dir takes, without other filesystems mounted there. It stops when there are more than most
// inodes: a tree may be as large as its filesystem, and the count is not.
func Count(dir string, most int64) (Usage, error) { return count(dir, most, nil) }

// count is Count that ends with errHurry when hurry reports so.
func count(dir string, most int64, hurry func() bool) (Usage, error) {
	c := &counter{most: most, links: make(map[id]bool), buf: make([]byte, 16<<10), hurry: hurry}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Usage{}, fmt.Errorf("open %s: %w", dir, err)
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return Usage{}, fmt.Errorf("look at %s: %w", dir, err)
	}
	c.dev = stat.Dev
	c.used.Bytes = stat.Blocks * blockSize
	err = c.walk(&fd, level{id: id{stat.Dev, stat.Ino}})
	return c.used, err
}

// walk counts the folder that is open, and what is below it. fd is replaced on the way.
func (c *counter) walk(fd *int, root level) error {
	stack := []level{root}
	if err := c.read(*fd, &stack[0]); err != nil {
		return err
	}
	for c.used.Inodes <= c.most {
		top := &stack[len(stack)-1]
		if n := len(top.pending); n > 0 {
			name := top.pending[n-1]
			top.pending = top.pending[:n-1]
			child, next, err := c.open(*fd, name)
			if err != nil || child < 0 {
				if err != nil {
					return err
				}
				continue
			}
			_ = unix.Close(*fd)
			*fd = child
			if err := c.read(child, &next); err != nil {
				return err
			}
			stack = append(stack, next)
			continue
		}
		if len(stack) == 1 {
			return nil
		}
		if err := up(fd, *top, stack[len(stack)-2].id); err != nil {
			return err
		}
		stack = stack[:len(stack)-1]
	}
	for len(stack) > 1 && stack[len(stack)-1].closed { // What was opened for the count is closed again, as far as the way is known.
		if up(fd, stack[len(stack)-1], stack[len(stack)-2].id) != nil {
			break
		}
		stack = stack[:len(stack)-1]
	}
	return nil //nolint:nilerr // The count is complete. A way back that is gone leaves open what no program can reach.
}

// up goes to the folder above, which must be the one that the walk came from.
func up(fd *int, from level, to id) error {
	parent, err := unix.Openat(*fd, "..", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if from.closed {
		_ = unix.Fchmod(*fd, from.mode)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	_ = unix.Close(*fd)
	*fd = parent
	var stat unix.Stat_t
	if err := unix.Fstat(parent, &stat); err != nil || (id{stat.Dev, stat.Ino}) != to {
		return errMoved
	}
	return nil
}

// read counts the entries of a folder, and notes the folders among them.
func (c *counter) read(fd int, l *level) error {
	var names []string
	for {
		if c.hurry != nil && c.hurry() {
			return errHurry
		}
		n, err := unix.ReadDirent(fd, c.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return ignoreGone(err)
		}
		_, _, names = unix.ParseDirent(c.buf[:n], -1, names[:0])
		for _, name := range names {
			var stat unix.Stat_t
			if err := unix.Fstatat(fd, name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				continue // It is gone, or it is in a folder that nobody in the sandbox may search.
			}
			c.add(&stat)
			if stat.Mode&unix.S_IFMT == unix.S_IFDIR && stat.Dev == c.dev {
				l.pending = append(l.pending, name)
			}
		}
		if c.used.Inodes > c.most {
			return nil
		}
	}
}

func (c *counter) add(stat *unix.Stat_t) {
	c.used.Inodes++
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR && stat.Nlink > 1 {
		file := id{stat.Dev, stat.Ino}
		if c.links[file] {
			return
		}
		c.links[file] = true
	}
	c.used.Bytes += stat.Blocks * blockSize
}

// open opens a folder below another one. A folder that its owner, which is this user, may not read is opened all the same: else it
// would be a place to hide gigabytes. The result is -1 for one that is gone, or is not this user's.
func (c *counter) open(at int, name string) (int, level, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	const needed = 0o500
	fd, err := unix.Openat(at, name, flags, 0)
	if err != nil && err != unix.EACCES {
		return -1, level{}, ignoreGone(err)
	}
	var stat unix.Stat_t
	if err == nil {
		if err := unix.Fstat(fd, &stat); err != nil {
			return -1, level{}, errors.Join(err, unix.Close(fd))
		}
		if stat.Mode&needed == needed || os.Geteuid() == 0 {
			return fd, level{id: id{stat.Dev, stat.Ino}}, nil
		}
		_ = unix.Close(fd)
	}
	path, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, level{}, ignoreGone(err)
	}
	defer func() { _ = unix.Close(path) }()
	if err := unix.Fstat(path, &stat); err != nil {
		return -1, level{}, err
	}
	here := "/proc/self/fd/" + strconv.Itoa(path)
	if err := unix.Chmod(here, stat.Mode&0o7777|needed); err != nil {
		return -1, level{}, nil // It belongs to another user, and no program of the sandbox can fill it.
	}
	fd, err = unix.Open(here, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, level{}, ignoreGone(err)
	}
	return fd, level{id: id{stat.Dev, stat.Ino}, closed: true, mode: stat.Mode & 0o7777}, nil
}

// ignoreGone passes over what programs do to a tree while it is counted.
func ignoreGone(err error) error {
	for _, gone := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES} {
		if errors.Is(err, gone) {
			return nil
		}
	}
	return err
}
