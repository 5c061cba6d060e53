// SPDX-License-Identifier: Apache-2.0

// Package slots decides which runs the replicas of the manager carry on, where there are more runs than slots for loops.
package slots

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// State is how a run stands towards the slots.
type State string

const (
	// Has is the state of a run that a replica carries on, or is about to.
	Has State = "has"
	// Waits is the state of a run that has no sandbox because all slots are taken.
	Waits State = "waits"
	// Apart is the state of all others: they have ended, wait for their namespace, for a person, or are suspended.
	Apart State = "apart"
)

// Of returns the state of a run.
func Of(run *v1alpha1.MotorRun) State {
	st := &run.Status
	switch {
	case !run.DeletionTimestamp.IsZero(), st.Ending != nil, apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionFinished):
		return Apart
	case run.Spec.Suspend, run.Spec.Cancel, !apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionAccepted):
		return Apart
	case runpolicy.LacksSlot(run):
		return Waits
	case st.Pending() != nil && !runpolicy.Answered(run, st.Pending()), st.Sandbox == nil:
		return Apart
	}
	return Has
}

// Run is a run that waits.
type Run struct {
	Key     types.NamespacedName
	UID     types.UID
	Created time.Time
}

// NewRun returns the data of a run that counts here.
func NewRun(run *v1alpha1.MotorRun) Run {
	return Run{types.NamespacedName{Namespace: run.Namespace, Name: run.Name}, run.UID, run.CreationTimestamp.Time}
}

// Order returns the runs in the order in which they get slots: always the oldest run of the namespace that has the fewest. has counts the slots of each
// namespace.
func Order(has map[string]int, waiting []Run) []Run {
	by := map[string]*line{}
	for _, run := range waiting {
		l := by[run.Key.Namespace]
		if l == nil {
			l = &line{has: has[run.Key.Namespace]}
			by[run.Key.Namespace] = l
		}
		l.runs = append(l.runs, run)
	}
	var next lines
	for _, l := range by {
		slices.SortFunc(l.runs, older)
		next = append(next, l)
	}
	heap.Init(&next)
	ordered := make([]Run, 0, len(waiting))
	for len(next) > 0 {
		l := next[0]
		ordered = append(ordered, l.runs[0])
		if l.runs, l.has = l.runs[1:], l.has+1; len(l.runs) == 0 {
			heap.Pop(&next)
			continue
		}
		heap.Fix(&next, 0)
	}
	return ordered
}

func older(a, b Run) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
}

// line has the runs of a namespace that wait, the oldest first.
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

// Message says what position a run has among those that wait. Positions beyond ten are rounded up to tens: each change of the message is a write.
func Message(position, total int) string {
	at := fmt.Sprintf("number %d", position)
	if position > 10 {
		at = fmt.Sprintf("among the first %d", (position+9)/10*10)
	}
	return fmt.Sprintf("All slots of the replicas, %d, are taken by other runs. Of those that wait, the run is %s. Its time stands still.", total, at)
}
