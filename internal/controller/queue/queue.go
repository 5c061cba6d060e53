// SPDX-License-Identifier: Apache-2.0

// Package queue decides whose turn it is among the runs of a namespace. The leader alone admits runs, so what the cache shows and what this process has
// admitted since is all that there is.
package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// unconfirmedFor is how long the cache may take until it shows a run that was admitted. Then the runs are listed past the cache: the run may be gone, or
// the write of its status may have failed.
const unconfirmedFor = 5 * time.Second

// Queue decides whose turn it is.
type Queue struct {
	client.Client
	// Live reads past the cache.
	Live client.Reader
	// State is the memory of this process about the queues.
	State *State
	// Own is the process's own clock. The one of the API, which Take is given, is set now and then.
	Own func() time.Time
}

// State is the memory of a process about queues. The zero value is that of a leader that has just begun.
type State struct {
	looking sync.Once
	since   time.Time

	mu          sync.Mutex
	byNamespace map[string]*line
}

// line is what a leader remembers of the queue of one namespace.
type line struct {
	mu sync.Mutex
	// forgotten is true if another line has the namespace by now.
	forgotten bool
	// listed is true if the runs that a former leader had admitted are known.
	listed bool
	// admitted are the runs with a slot that the cache does not show yet, by their UIDs.
	admitted map[types.UID]admission
}

// admission is a slot that a run has.
type admission struct {
	run v1alpha1.MotorRun
	at  time.Time
	// open is true while the pass goes on that is to write it into the status.
	open bool
}

// Since returns when this process first asked whose turn it is, which it does for the first time as the leader.
func (s *State) Since(now time.Time) time.Time {
	s.looking.Do(func() { s.since = now })
	return s.since
}

// manyLines is how many namespaces are remembered before those are forgotten of which there is nothing to remember.
const manyLines = 1024

// lock returns the locked line of a namespace.
func (s *State) lock(namespace string, now time.Time) *line {
	for {
		l := s.of(namespace, now)
		l.mu.Lock()
		if !l.forgotten {
			return l
		}
		l.mu.Unlock()
	}
}

func (s *State) of(namespace string, now time.Time) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.byNamespace[namespace]; l != nil {
		return l
	}
	if len(s.byNamespace) >= manyLines {
		s.forgetIdle(now)
	}
	if s.byNamespace == nil {
		s.byNamespace = map[string]*line{}
	}
	l := &line{admitted: map[types.UID]admission{}}
	s.byNamespace[namespace] = l
	return l
}

// forgetIdle forgets the lines in which no slot is young. The next look lists the runs past the cache. The caller holds mu.
func (s *State) forgetIdle(now time.Time) {
	for namespace, l := range s.byNamespace {
		if !l.mu.TryLock() {
			continue
		}
		l.forgotten = true
		for _, a := range l.admitted {
			l.forgotten = l.forgotten && !a.open && now.Sub(a.at) > unconfirmedFor
		}
		if l.forgotten {
			delete(s.byNamespace, namespace)
		}
		l.mu.Unlock()
	}
}

// Look returns the turn of a run as the cache shows it, and takes no slot. It reads nothing past the cache, so that runs that wait cost no request.
func (q *Queue) Look(ctx context.Context, run *v1alpha1.MotorRun, now time.Time) (runpolicy.Turn, error) {
	c, err := cortex.Get(ctx, q.Client, run.Namespace)
	if err != nil {
		return runpolicy.Turn{}, err
	}
	runs, err := pass.RunsOf(ctx, q.Client, run.Namespace)
	if err != nil {
		return runpolicy.Turn{}, err
	}
	return runpolicy.TakeTurn(run, c.Spec.Concurrency, runs, q.State.Since(now), now), nil
}

// Take decides about a run that asks for a slot. A run that waits is decided from the cache, because the end of the run that it waits for wakes it. A run
// that is admitted holds its slot for all later decisions of this process, whether or not its status is written yet. One that is rejected is rejected for
// runs that the API server itself has: the cache may show one that has ended.
func (q *Queue) Take(ctx context.Context, run *v1alpha1.MotorRun, now time.Time) (runpolicy.Turn, error) {
	if !runpolicy.HasModel(run) {
		return runpolicy.Turn{Verdict: runpolicy.Admit}, nil
	}
	if turn, err := q.Look(ctx, run, now); err != nil || turn.Verdict == runpolicy.Wait {
		return turn, err
	}
	since := q.State.Since(now)
	c, err := cortex.Get(ctx, q.Live, run.Namespace)
	if err != nil || c.Spec.Concurrency == nil {
		return runpolicy.Turn{Verdict: runpolicy.Admit}, err
	}
	l := q.State.lock(run.Namespace, q.Own())
	defer l.mu.Unlock()
	runs, err := pass.RunsOf(ctx, q.Client, run.Namespace)
	if err != nil {
		return runpolicy.Turn{}, err
	}
	if !l.confirm(runs, q.Own()) {
		if err := q.list(ctx, l, run.Namespace); err != nil {
			return runpolicy.Turn{}, err
		}
	}
	if a, ok := l.admitted[run.UID]; ok {
		a.open = true
		l.admitted[run.UID] = a
		return runpolicy.Turn{Verdict: runpolicy.Admit}, nil
	}
	turn := runpolicy.TakeTurn(run, c.Spec.Concurrency, l.with(runs), since, now)
	if turn.Verdict == runpolicy.Reject {
		heads, err := q.heads(ctx, run.Namespace)
		if err != nil {
			return runpolicy.Turn{}, err
		}
		turn = runpolicy.TakeTurn(run, c.Spec.Concurrency, l.with(heads), since, now)
	}
	if turn.Verdict == runpolicy.Admit {
		l.admitted[run.UID] = admission{holder(run), q.Own(), true}
	}
	return turn, nil
}

// Release frees the slot of a run that was admitted in this pass and is not accepted after all.
func (q *Queue) Release(run *v1alpha1.MotorRun) {
	q.State.mu.Lock()
	l := q.State.byNamespace[run.Namespace]
	q.State.mu.Unlock()
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.admitted, run.UID)
}

// Settle notes that the pass of a run is over, whether or not it was admitted: if its status could not be written, the slot is free again after a while.
func (q *Queue) Settle(run *v1alpha1.MotorRun) {
	q.State.mu.Lock()
	l := q.State.byNamespace[run.Namespace]
	q.State.mu.Unlock()
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a, ok := l.admitted[run.UID]; ok {
		a.open, a.at = false, q.Own()
		l.admitted[run.UID] = a
	}
}

// confirm forgets the admissions that the cache shows by now, or whose run it shows as ended. It reports whether the rest is to be believed.
func (l *line) confirm(runs []v1alpha1.MotorRun, now time.Time) bool {
	for i := range runs {
		run := &runs[i]
		if _, ok := l.admitted[run.UID]; ok && (runpolicy.HoldsPlace(run) || ended(run)) {
			delete(l.admitted, run.UID)
		}
	}
	if !l.listed {
		return false
	}
	for _, a := range l.admitted {
		if !a.open && now.Sub(a.at) > unconfirmedFor {
			return false
		}
	}
	return true
}

func ended(run *v1alpha1.MotorRun) bool {
	return !run.DeletionTimestamp.IsZero() || apimeta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionFinished)
}

// list learns the runs with a slot from the API server itself. Those whose pass goes on have theirs too.
func (q *Queue) list(ctx context.Context, l *line, namespace string) error {
	heads, err := q.heads(ctx, namespace)
	if err != nil {
		return err
	}
	maps.DeleteFunc(l.admitted, func(_ types.UID, a admission) bool { return !a.open })
	l.listed = true
	for i := range heads {
		if _, known := l.admitted[heads[i].UID]; !known && runpolicy.HoldsPlace(&heads[i]) {
			l.admitted[heads[i].UID] = admission{run: heads[i], at: q.Own()}
		}
	}
	return nil
}

// with returns the runs with the slots that they do not show yet.
func (l *line) with(runs []v1alpha1.MotorRun) []v1alpha1.MotorRun {
	if len(l.admitted) == 0 {
		return runs
	}
	all := slices.DeleteFunc(slices.Clone(runs), func(run v1alpha1.MotorRun) bool { _, ok := l.admitted[run.UID]; return ok })
	for _, a := range l.admitted {
		all = append(all, a.run)
	}
	slices.SortFunc(all[len(all)-len(l.admitted):], func(a, b v1alpha1.MotorRun) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return all
}

// holder returns the head of a run as it is when its status says that it has a slot.
func holder(run *v1alpha1.MotorRun) v1alpha1.MotorRun {
	h := head(run)
	h.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue}}
	return h
}

// head returns the data about a run that the queue needs: whole runs may not fit into the manager's memory.
func head(run *v1alpha1.MotorRun) v1alpha1.MotorRun {
	return v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{
			Name: run.Name, Namespace: run.Namespace, UID: run.UID, CreationTimestamp: run.CreationTimestamp, DeletionTimestamp: run.DeletionTimestamp,
		},
		Spec:   v1alpha1.MotorRunSpec{Mode: run.Spec.Mode, Priority: run.Spec.Priority, Suspend: run.Spec.Suspend, Cancel: run.Spec.Cancel, Origin: run.Spec.Origin},
		Status: v1alpha1.MotorRunStatus{Conditions: run.Status.Conditions},
	}
}

// headsPage bounds how many runs are in memory with everything that is in them, up to 1.5 MiB each.
const headsPage = 16

// heads lists the runs of a namespace past the cache.
func (q *Queue) heads(ctx context.Context, namespace string) ([]v1alpha1.MotorRun, error) {
	var heads []v1alpha1.MotorRun
	for next := ""; ; {
		var page v1alpha1.MotorRunList
		if err := q.Live.List(ctx, &page, client.InNamespace(namespace), client.Limit(headsPage), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		for i := range page.Items {
			heads = append(heads, head(&page.Items[i]))
		}
		if next = page.Continue; next == "" {
			return heads, nil
		}
	}
}
