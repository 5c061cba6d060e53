// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"math"

	"k8s.io/apimachinery/pkg/api/resource"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// defaultBound is the bound of a namespace whose MotorCortex sets none, and of one without a MotorCortex. Several such namespaces fit into the 8 GiB
// that etcd is commonly given, and one fits into the 2 GiB that it has by default.
const defaultBound = 1 << 30

// Bound returns the most bytes that the runs of a namespace may keep in the cluster.
func Bound(keep v1alpha1.Retention) int64 {
	switch most := keep.MaxStorage; {
	case most == nil:
		return defaultBound
	case most.Cmp(*resource.NewQuantity(math.MaxInt64, resource.BinarySI)) >= 0:
		// Value returns 0 for what an integer cannot hold.
		return math.MaxInt64
	default:
		return most.Value()
	}
}

// Level is how close the runs of a namespace are to their bound.
type Level int

const (
	// Free: there is room.
	Free Level = iota
	// Low: 80 % of the bound are used. Archived runs are deleted early, and people are warned.
	Low
	// Full: all of the bound is used. No further run begins.
	Full
	// Over: the runs that had begun use a quarter more than the bound. None of them asks its model for a further step.
	Over
)

// LevelOf returns the level of so many bytes. The bound must not be negative.
func LevelOf(used, bound int64) Level {
	switch {
	case used-bound >= bound/4 && used > bound:
		return Over
	case used >= bound:
		return Full
	case used >= low(bound):
		return Low
	}
	return Free
}

// low returns where Low begins. A bound can be the largest number, so it must not be multiplied.
func low(bound int64) int64 { return bound - bound/5 }

// Shown returns the level that is shown where before was shown last. Full and Low are left a twentieth of the bound below where they begin, so that a
// use which goes up and down around a bound is no news each time. Over is shown as Full.
func Shown(before Level, used, bound int64) Level {
	now := min(LevelOf(used, bound), Full)
	if before > now {
		return min(before, LevelOf(addUpTo(used, bound/20), bound), Full)
	}
	return now
}

// addUpTo returns a + b, or the largest number if that is larger than it.
func addUpTo(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return math.MaxInt64
}

// Coarse returns the use that the status shows where before was shown last. It changes only when the use has changed by a twentieth of the bound: a
// status that follows each step would cost a write for each.
func Coarse(before, used, bound int64) int64 {
	if moved := max(used-before, before-used); moved < max(1, bound/20) {
		return before
	}
	return used
}

// Quantity returns so many bytes for people, in the largest unit of which there are at least ten, rounded up.
func Quantity(bytes int64) resource.Quantity {
	unit := int64(1)
	for u := int64(1 << 10); u <= 1<<40 && bytes/u >= 10; u <<= 10 {
		unit = u
	}
	if rest := bytes % unit; rest != 0 {
		bytes = addUpTo(bytes, unit-rest)
	}
	return *resource.NewQuantity(bytes, resource.BinarySI)
}
