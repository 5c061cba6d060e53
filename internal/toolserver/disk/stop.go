// SPDX-License-Identifier: Apache-2.0

package disk

import "time"

const (
	// share is the part of a bound by which the free space of a filesystem must fall before everything is stopped for a count, if less is
	// left.
	share = 16
	// rest is how long the sandbox runs after a needless stop before the next one, as a multiple of the stop's length. So it is stopped for a
	// quarter of the time at most.
	rest = 3
	// patience is the part of a bound by which a filesystem may lose more space than that within this time: 3/32. A volume that is filled
	// meanwhile has 1/16 and 3/32 above its bound, and the writes until the server has a processor; its maximum is 1/4 above.
	patienceParts, patience = 3, 32
)

// account is the known state of a volume.
type account struct {
	// most is its current limit, and used its usage when everything was stopped for a count.
	most, used Usage
	// bound is its size. It is less than most for a volume that was full already.
	bound Usage
	// fell is the space that the filesystem has lost since. The volume holds used and fell, or less if others took a part of it.
	fell Usage
}

// stop is the last time that everything was stopped for a count.
type stop struct {
	// took is how long everything stood, and ago how long it has gone on since.
	took, ago time.Duration
	// grew is true if a volume of the sandbox had grown: the stop was not needless.
	grew bool
}

// mustStop reports whether everything must be stopped for a count because the volume may be over its bounds. Without a stop, writes of
// other Pods to the filesystem cannot be distinguished from the sandbox's own. So after a needless stop the sandbox runs for a while
// without another one. More may be written in that time, but not more than a volume may have beyond its size.
func mustStop(a account, last stop) bool {
	if !a.lost(0) {
		return false
	}
	resting := !last.grew && last.ago < rest*last.took
	return !resting || a.lost(patienceParts)
}

// lost reports whether the filesystem lost more than the volume has left, or a share of its bound if that is more, and so many parts of
// patience.
func (a account) lost(parts int64) bool {
	lost := func(fell, left, bound int64) bool { return fell > max(left, bound/share)+bound/patience*parts }
	return lost(a.fell.Bytes, a.most.Bytes-a.used.Bytes, a.bound.Bytes) ||
		lost(a.fell.Inodes, a.most.Inodes-a.used.Inodes, a.bound.Inodes)
}

// grew reports whether a volume of that size holds more than before, ignoring a difference that is too small to matter.
func grew(before, now, bound Usage) bool {
	const little = 64
	return now.Bytes-before.Bytes > bound.Bytes/little || now.Inodes-before.Inodes > bound.Inodes/little
}
