// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// errOtherProcess reports that another process with the same Pod name holds the Lease. That process started later, so it takes
// precedence.
var errOtherProcess = errors.New("another process holds it")

// errRenewed reports that an earlier renewal succeeded although its answer was lost.
var errRenewed = errors.New("it was renewed after all")

// lease is the Lease by which the leader sees that this worker is alive. Only one goroutine uses it.
type lease struct {
	client coordinationv1client.LeaseInterface
	name   string
	worker string
	// version of this replica, for people and for the leader.
	version string
	// slots is how many runs this replica carries on at once, 0 for no bound.
	slots    int
	owner    []metav1.OwnerReference
	duration time.Duration

	// held is the Lease as this process last wrote it, nil before the first write and after another process took it.
	held *coordinationv1.Lease
	// other is the Lease as another process, which took it from this one, was last seen to renew it, at otherSeen.
	other     string
	otherSeen time.Time
}

// lost reports whether another process took the Lease.
func (l *lease) lost() bool { return l.other != "" }

// renew writes the Lease, within the timeout. The first renewal takes the Lease from its holder: an earlier process with the same
// Pod name has ended. The process that loses the Lease does not take it back for as long as the other renews it: it gets
// errOtherProcess.
func (l *lease) renew(ctx context.Context, now time.Time, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if l.held == nil {
		return l.take(ctx, now)
	}
	err := l.update(ctx, l.held, now)
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return err
	}
	// Another writer changed it, or the answer to an earlier renewal was lost.
	found, err := l.client.Get(ctx, l.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		l.held = nil
		return l.create(ctx, now)
	case err != nil:
		return fmt.Errorf("look who holds it: %w", err)
	case holder(found) != l.worker:
		l.held, l.other, l.otherSeen = nil, found.ResourceVersion, now
		return errOtherProcess
	}
	return l.update(ctx, found, now)
}

// take writes the Lease for the first time, or after another process took it.
func (l *lease) take(ctx context.Context, now time.Time) error {
	found, err := l.client.Get(ctx, l.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return l.create(ctx, now)
	}
	if err != nil {
		return fmt.Errorf("look who holds it: %w", err)
	}
	if l.lost() && holder(found) != "" && holder(found) != l.worker {
		if found.ResourceVersion != l.other {
			l.other, l.otherSeen = found.ResourceVersion, now
		}
		if now.Sub(l.otherSeen) < l.duration {
			return errOtherProcess
		}
	}
	return l.update(ctx, found, now)
}

func (l *lease) create(ctx context.Context, now time.Time) error {
	created, err := l.client.Create(ctx, l.fill(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.name}}, now), metav1.CreateOptions{})
	return l.note(created, err)
}

func (l *lease) update(ctx context.Context, from *coordinationv1.Lease, now time.Time) error {
	updated, err := l.client.Update(ctx, l.fill(from.DeepCopy(), now), metav1.UpdateOptions{})
	return l.note(updated, err)
}

func (l *lease) note(written *coordinationv1.Lease, err error) error {
	if err != nil {
		return fmt.Errorf("write it: %w", err)
	}
	l.held, l.other = written, ""
	return nil
}

func (l *lease) fill(o *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	metav1.SetMetaDataLabel(&o.ObjectMeta, v1alpha1.LabelComponent, v1alpha1.ComponentWorker)
	metav1.SetMetaDataLabel(&o.ObjectMeta, v1alpha1.LabelManagedBy, v1alpha1.ManagedBy)
	if l.version != "" {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, v1alpha1.AnnotationVersion, l.version)
	} else {
		delete(o.Annotations, v1alpha1.AnnotationVersion)
	}
	if l.slots > 0 {
		metav1.SetMetaDataAnnotation(&o.ObjectMeta, v1alpha1.AnnotationSlots, strconv.Itoa(l.slots))
	} else {
		delete(o.Annotations, v1alpha1.AnnotationSlots)
	}
	o.OwnerReferences = l.owner
	if holder(o) != l.worker {
		if o.Spec.HolderIdentity != nil {
			transitions := int32(0)
			if o.Spec.LeaseTransitions != nil {
				transitions = *o.Spec.LeaseTransitions
			}
			o.Spec.LeaseTransitions = new(transitions + 1)
		}
		o.Spec.HolderIdentity, o.Spec.AcquireTime = &l.worker, new(metav1.NewMicroTime(now))
	}
	o.Spec.RenewTime = new(metav1.NewMicroTime(now))
	o.Spec.LeaseDurationSeconds = new(max(1, int32(l.duration/time.Second)))
	return o
}

func holder(o *coordinationv1.Lease) string {
	if o.Spec.HolderIdentity == nil {
		return ""
	}
	return *o.Spec.HolderIdentity
}

// podOwner makes the Lease go with the Pod, also if the process had no time to remove it.
func podOwner(name, uid string) []metav1.OwnerReference {
	if uid == "" {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID(uid)}}
}

const (
	// releaseTimeout is short: a Lease that is not removed runs out.
	releaseTimeout = time.Second
	// releasePause is between two tries.
	releasePause = 100 * time.Millisecond
)

// release removes the Lease, unless another process has taken it. ctx has ended by then.
func (l *lease) release(ctx context.Context, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	for l.held != nil {
		err := l.remove(ctx)
		if err == nil {
			return
		}
		select {
		case <-time.After(releasePause):
		case <-ctx.Done():
			log.Warn("the Lease of this replica was not removed, and runs out", "lease", l.name, "error", err)
			return
		}
	}
}

// remove tries once to remove the Lease. Afterwards held is nil if the Lease no longer belongs to this process.
func (l *lease) remove(ctx context.Context) error {
	err := l.client.Delete(ctx, l.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &l.held.UID, ResourceVersion: &l.held.ResourceVersion}})
	if apierrors.IsConflict(err) {
		// Another process has taken it. Or the end of this process interrupted its last renewal, which was carried out.
		var found *coordinationv1.Lease
		if found, err = l.client.Get(ctx, l.name, metav1.GetOptions{}); err == nil && holder(found) == l.worker {
			l.held = found
			return errRenewed
		}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	l.held = nil
	return nil
}
