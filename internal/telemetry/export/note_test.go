// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// notes are the Leases of a namespace with one or none of them.
type notes struct {
	mu     sync.Mutex
	note   *coordinationv1.Lease
	err    error
	writes int
}

func (n *notes) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		return nil, n.err
	}
	if n.note == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, name)
	}
	return n.note.DeepCopy(), nil
}

func (n *notes) Create(_ context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.note != nil {
		return nil, errors.New("it exists")
	}
	n.note, n.writes = l, n.writes+1
	return l, nil
}

func (n *notes) Update(_ context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.note == nil {
		return nil, errors.New("it does not exist")
	}
	n.note, n.writes = l, n.writes+1
	return l, nil
}

// fail has each request end with an error, none of them if it is nil.
func (n *notes) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}

// written returns the note, and how often one was written.
func (n *notes) written() (*coordinationv1.Lease, int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.note, n.writes
}

func noteOf(settled time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: new(metav1.NewMicroTime(settled))}}
}

// What the process before has not told is told, within a day.
func TestNextProcessBeginsWhereThisOneEnded(t *testing.T) {
	t.Parallel()
	now := at(100).Time
	for name, tt := range map[string]struct {
		notes   *notes
		from    time.Duration
		settled time.Duration
	}{
		"no note":                {&notes{}, overlap, 0},
		"a note without a time":  {&notes{note: &coordinationv1.Lease{}}, overlap, 0},
		"all was told":           {&notes{note: noteOf(now.Add(-time.Second))}, overlap + time.Second, time.Second},
		"an hour was not told":   {&notes{note: noteOf(now.Add(-time.Hour))}, overlap + time.Hour, time.Hour},
		"two days were not told": {&notes{note: noteOf(now.Add(-48 * time.Hour))}, furthest, 48 * time.Hour},
		"it is not known":        {&notes{err: errors.New("away")}, furthest, 0},
	} {
		e, _, _ := rig(t, 0)
		e.Leases = tt.notes
		from, settled := e.resume(t.Context())
		if !from.Equal(now.Add(-tt.from)) || tt.settled == 0 != settled.IsZero() || tt.settled > 0 && !settled.Equal(now.Add(-tt.settled)) {
			t.Errorf("%s: from %s, settled at %s", name, from, settled)
		}
	}
}

func TestNoteIsWrittenOnceAllRunsAreKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, _, _ := rig(t, 1)
		n := &notes{}
		e.Leases = n
		ctx, cancel := context.WithCancel(t.Context())
		var synced atomic.Bool
		done := make(chan struct{})
		go func() {
			e.keepNote(ctx, []func() bool{func() bool { return true }, synced.Load})
			close(done)
		}()
		later(10*noteEvery + time.Second)
		if _, writes := n.written(); writes != 0 {
			t.Error("it says that all was told, before the runs are known")
		}
		synced.Store(true)
		later(noteEvery)
		if note, writes := n.written(); writes != 1 || note.Name != LeaseName || !note.Spec.RenewTime.Equal(new(metav1.NewMicroTime(at(50).Time))) {
			t.Errorf("after %d writes the note is %+v", writes, note)
		}
		all(t, e)
		later(noteEvery)
		if note, writes := n.written(); writes != 2 || !note.Spec.RenewTime.Equal(new(metav1.NewMicroTime(at(100).Time))) {
			t.Errorf("after %d writes the note is %+v", writes, note)
		}
		// A note that cannot be written is written later.
		n.fail(errors.New("away"))
		later(3 * noteEvery)
		n.fail(nil)
		later(noteEvery)
		if _, writes := n.written(); writes != 3 {
			t.Errorf("%d writes", writes)
		}
		cancel()
		<-done
	})
}

// later lets time of the bubble pass.
func later(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
