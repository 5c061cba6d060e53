// SPDX-License-Identifier: Apache-2.0

//go:build linux

package disk

import "golang.org/x/sys/unix"

// spare is the part of a filesystem that a volume leaves free where the filesystem is no larger than the volume's bounds. Without it the
// writes of a program would fail at the filesystem's own end, and no count would find the volume over its bounds.
const spare = 32

// within applies to the volume the bounds of the filesystem that it is on, if those are lower. The filesystem of a dedicated volume has
// less space than was requested, because the filesystem itself needs some.
func (v Volume) within(total room) Volume {
	if most := total.free - total.free/spare; total.free > 0 && most < v.Bytes {
		v.Bytes = most
	}
	if most := total.inodes - total.inodes/spare; total.inodes > 0 && most < v.Inodes {
		v.Inodes = most
	}
	return v
}

// capacityOf is the total capacity of a filesystem for users other than root. It is 0 where the filesystem does not report it.
func capacityOf(dir string) room {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return room{}
	}
	return room{int64(stat.Blocks-stat.Bfree+stat.Bavail) * stat.Bsize, int64(stat.Files)}
}
