// SPDX-License-Identifier: Apache-2.0

// Package slots decides which runs the replicas of the manager carry on, where there are more runs than slots for loops.
package slots

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Run is a run that waits.
type Run struct {
	Key     types.NamespacedName
	UID     types.UID
	Created time.Time
	// Priority orders the runs of a namespace, the highest first.
	Priority int32
}

// Reserve is how many of all slots are for the first run of each namespace: without it one namespace that came first keeps all others out.
func Reserve(total int) int { return total / 4 }

// Share returns the runs that get a slot, always the first one of the namespace that has the fewest, and the others in the order in which they are next.
// has counts the slots that are taken, by namespace.
func Share(has map[string]int, waiting []Run, total int) (given, next []Run) {
	by := map[string]*line{}
	for _, run := range waiting {
		l := by[run.Key.Namespace]
		if l == nil {
			l = &line{has: has[run.Key.Namespace]}
			by[run.Key.Namespace] = l
		}
		l.runs = append(l.runs, run)
	}
	var lines lines
	for _, l := range by {
		slices.SortFunc(l.runs, before)
		lines = append(lines, l)
	}
	heap.Init(&lines)
	taken := 0
	for _, n := range has {
		taken += n
	}
	for len(lines) > 0 {
		l := lines[0]
		most := total
		if l.has > 0 {
			most -= Reserve(total)
		}
		if taken < most {
			given, taken = append(given, l.runs[0]), taken+1
		} else {
			next = append(next, l.runs[0])
		}
		if l.runs, l.has = l.runs[1:], l.has+1; len(l.runs) == 0 {
			heap.Pop(&lines)
			continue
		}
		heap.Fix(&lines, 0)
	}
	return given, next
}

func before(a, b Run) int { return cmp.Or(cmp.Compare(b.Priority, a.Priority), older(a, b)) }

func older(a, b Run) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
}

// line has the runs of a namespace that wait, the first one first.
type line struct {
	has  int
	runs []Run
}

// lines is a heap of the lines, that of the next run first.
type lines []*line

func (l lines) Len() int { return len(l) }
func (l lines) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].has, l[j].has), older(l[i].runs[0], l[j].runs[0])) < 0
}
func (l lines) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *lines) Push(x any)   { *l = append(*l, x.(*line)) }
func (l *lines) Pop() any {
	old := *l
	last := old[len(old)-1]
	*l = old[:len(old)-1]
	return last
}

// Message says what position a run has among those that wait. Positions beyond ten are rounded up, to 20, 40, 80 and so on: each change of the message is
// a write.
func Message(position, total int) string {
	at := fmt.Sprintf("number %d", position)
	if position > 10 {
		bound := 20
		for bound < position {
			bound *= 2
		}
		at = fmt.Sprintf("among the first %d", bound)
	}
	return fmt.Sprintf("All slots of the replicas, %d, are taken by other runs. Of those that wait, the run is %s. Its time stands still.", total, at)
}
