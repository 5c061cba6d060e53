// SPDX-License-Identifier: Apache-2.0

package export

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

const (
	// LeaseName is the Lease whose renewTime is the instant before which all runs that ended were told. It survives every manager.
	LeaseName = "motorcortex-traces"
	// noteEvery is between two writes of it, and noteTimeout bounds one.
	noteEvery, noteTimeout = time.Minute, 10 * time.Second
	// overlap is how long before its beginning, and before that instant, a process tells runs that have ended.
	overlap = 5 * time.Minute
	// furthest is how long before its beginning it tells them at most. Those that ended earlier and were not told are counted.
	furthest = 24 * time.Hour
)

// Leases are those of the operator's namespace.
type Leases interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (*coordinationv1.Lease, error)
	Create(ctx context.Context, lease *coordinationv1.Lease, opts metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(ctx context.Context, lease *coordinationv1.Lease, opts metav1.UpdateOptions) (*coordinationv1.Lease, error)
}

// resume returns the instant before which runs that ended are not told, and the one before which the process before this one has told them, zero if that
// is not known.
func (e *Exporter) resume(ctx context.Context) (from, settled time.Time) {
	now := e.Now()
	from = now.Add(-overlap)
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	note, err := e.Leases.Get(ctx, LeaseName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && note.Spec.RenewTime == nil:
		return from, time.Time{}
	case err != nil:
		e.Logger.WarnContext(ctx, "it is not known which runs were told, so all of a day are", "lease", LeaseName, "error", err)
		return now.Add(-furthest), time.Time{}
	}
	settled = note.Spec.RenewTime.Time
	if before := settled.Add(-overlap); before.Before(from) {
		from = before
	}
	if earliest := now.Add(-furthest); from.Before(earliest) {
		from = earliest
	}
	return from, settled
}

// keepNote writes the note now and then until the context ends, from when all runs that are there are in the backlog.
func (e *Exporter) keepNote(ctx context.Context, synced []func() bool) {
	ticker := time.NewTicker(noteEvery)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if !every(synced) {
			continue
		}
		err := e.writeNote(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			e.Logger.WarnContext(ctx, "it is not noted which runs were told, so that the next leader tells some again", "lease", LeaseName, "error", err)
		}
		failing = err != nil
	}
}

func every(are []func() bool) bool {
	for _, is := range are {
		if !is() {
			return false
		}
	}
	return true
}

func (e *Exporter) writeNote(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	settled := metav1.NewMicroTime(e.backlog.settledAt(e.Now()))
	note, err := e.Leases.Get(ctx, LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		note = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: LeaseName, Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}}}
		note.Spec.RenewTime = &settled
		_, err = e.Leases.Create(ctx, note, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	note.Spec.RenewTime = &settled
	_, err = e.Leases.Update(ctx, note, metav1.UpdateOptions{})
	return err
}
