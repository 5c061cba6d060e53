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

// blockSize is the unit in which the kernel reports the space of a file, on every filesystem.
const blockSize = 512

// errHurry means that a count was given up because there was no time for it: the counted volume is filled meanwhile.
var errHurry = errors.New("the volume is filled during the count")

// errMoved means that a folder was moved while it was counted. It cannot happen while every program is stopped.
var errMoved = errors.New("a folder was moved during the count")

// errClosed means that a folder's owner may not read it, and that the count must not change that. Programs would see the change, or would
// find the folder open if they moved it meanwhile.
var errClosed = errors.New("a folder is closed to its owner")

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
	// opens is true if folders that their owner closed are opened for the count, and closed again.
	opens bool
}

// level is a folder on the way to the one that is open.
type level struct {
	id
	pending []string
	// closed is true if its owner has no right to read it: mode is its mode outside of a look.
	closed bool
	mode   uint32
}

// Count returns the usage of the tree below dir, without other filesystems mounted there. It stops when there are more than most inodes: a
// tree may be as large as its filesystem, and the cost of a count must not be. Nothing may change the tree meanwhile: folders that their
// owner may not read are opened for the count, and have their mode again when it ends in any way.
func Count(dir string, most int64) (Usage, error) { return count(dir, most, nil, true) }

// count is Count that ends with errHurry when hurry reports so. Unless it opens folders, the tree may change, and a folder that its
// owner may not read ends the count with errClosed.
func count(dir string, most int64, hurry func() bool, opens bool) (Usage, error) {
	c := &counter{most: most, links: make(map[id]bool), buf: make([]byte, 16<<10), hurry: hurry, opens: opens}
	fd, root, err := c.open(unix.AT_FDCWD, dir)
	if err == nil && fd < 0 {
		err = unix.ENOENT
	}
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
	err = c.walk(&fd, root)
	return c.used, err
}

// walk counts the open folder, and everything below it. fd is replaced on the way. Of the folders that their owner closed, only the current
// one is open, so that none stays open wherever the walk ends.
func (c *counter) walk(fd *int, root level) error {
	stack := []level{root}
	defer func() { stack[len(stack)-1].shut(*fd) }()
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
			top.shut(*fd)
			_ = unix.Close(*fd)
			*fd = child
			stack = append(stack, next)
			if err := c.read(child, &stack[len(stack)-1]); err != nil {
				return err
			}
			continue
		}
		if len(stack) == 1 {
			return nil
		}
		if err := up(fd, top, &stack[len(stack)-2]); err != nil {
			return err
		}
		stack = stack[:len(stack)-1]
	}
	return nil
}

// shut revokes the permissions that were granted for the count.
func (l *level) shut(fd int) {
	if l.closed {
		_ = unix.Fchmod(fd, l.mode) // It fails only for a folder that is not this user's, and that was never opened.
	}
}

// up goes to the folder above, which must be the one that the walk came from.
func up(fd *int, from, to *level) error {
	flags := unix.O_RDONLY
	if to.closed {
		flags = unix.O_PATH
	}
	parent, err := unix.Openat(*fd, "..", flags|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	from.shut(*fd)
	from.closed = false
	if err != nil {
		return fmt.Errorf("%w: %w", errMoved, err)
	}
	_ = unix.Close(*fd)
	*fd = parent
	var stat unix.Stat_t
	if err := unix.Fstat(parent, &stat); err != nil || (id{stat.Dev, stat.Ino}) != to.id {
		return errMoved
	}
	if to.closed {
		if *fd, err = openClosed(parent, to.mode); err != nil {
			*fd = parent
			return err
		}
		_ = unix.Close(parent)
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
				continue // It is gone, or in a folder that no program in the sandbox may search.
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

// needed are the rights of an owner without which a folder cannot be counted.
const needed = 0o500

// open opens a folder below another one. A folder that its owner, which is this user, may not read is opened all the same, or ends the
// count: otherwise gigabytes could be hidden in it. The result is -1 for one that is gone, or is not this user's.
func (c *counter) open(at int, name string) (int, level, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(at, name, flags, 0)
	if err != nil && !errors.Is(err, unix.EACCES) {
		return -1, level{}, ignoreGone(err)
	}
	var stat unix.Stat_t
	if err == nil {
		if err := unix.Fstat(fd, &stat); err != nil {
			return -1, level{}, errors.Join(err, unix.Close(fd))
		}
		if stat.Mode&needed == needed || int(stat.Uid) != os.Geteuid() || os.Geteuid() == 0 {
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
	if int(stat.Uid) != os.Geteuid() {
		return -1, level{}, nil // No program of the sandbox can fill it.
	}
	if !c.opens {
		return -1, level{}, errClosed
	}
	l := level{id: id{stat.Dev, stat.Ino}, closed: true, mode: stat.Mode & 0o7777}
	fd, err = openClosed(path, l.mode)
	return fd, l, err
}

// openClosed opens a folder of this user that has a mode without the needed rights. path may be open without any right.
func openClosed(path int, mode uint32) (int, error) {
	here := "/proc/self/fd/" + strconv.Itoa(path)
	if err := unix.Chmod(here, mode|needed); err != nil {
		return -1, fmt.Errorf("open a folder that is closed to its owner: %w", err)
	}
	fd, err := unix.Open(here, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, errors.Join(fmt.Errorf("open a folder that is closed to its owner: %w", err), unix.Chmod(here, mode))
	}
	return fd, nil
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
