// SPDX-License-Identifier: Apache-2.0

package timekeeper

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

const (
	// LeaseName is the Lease by which the leader shows that time is observed. It survives every manager.
	LeaseName = "motorcortex-time"
	// GapsAnnotation has the gaps that were found, each as from/to, separated by commas.
	GapsAnnotation = "motorcortex.dev/unobserved"

	// DefaultPeriod is between two heartbeats.
	DefaultPeriod = 2 * time.Second
	// DefaultGrace is the time without a heartbeat that is no gap: it covers the change from one leader to the next.
	DefaultGrace = 15 * time.Second
)

// Keeper maintains the record of the time in which a manager led. The leader writes a heartbeat. If the last heartbeat is too long ago, it adds the
// time since to the gaps, in the same write. Every replica reads them.
type Keeper struct {
	Leases coordinationv1client.LeaseInterface
	// Namespace is the namespace of the Lease.
	Namespace string
	// Clock is the API server's.
	Clock  func() time.Time
	Logger *slog.Logger
	// Period and Grace are DefaultPeriod and DefaultGrace if 0.
	Period, Grace time.Duration
	// Failing is called with the error when the leader could write no heartbeat for longer than Grace, and again every ten minutes while that lasts.
	// It is called with nil when the leader has written one after that. A nil Failing is not called.
	Failing func(error)

	// held is the Lease as the leader last saw it.
	held *coordinationv1.Lease
	// failedSince is when the leader first failed to write the heartbeat, zero if it did not fail the last time. toldAt is when Failing was called
	// last.
	failedSince, toldAt time.Time
	// since is when this replica began to look for heartbeats.
	since time.Time

	mu   sync.Mutex
	beat time.Time
	gaps []observed.Gap
}

// SetupWithManager has the leader write the heartbeat and every replica read it.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager) error {
	k.since = k.Clock()
	if err := mgr.Add(k); err != nil {
		return err
	}
	return mgr.Add(&follower{keeper: k, informers: mgr.GetCache()})
}

var _ manager.Runnable = (*Keeper)(nil)

// Now returns the time by the API server's clock.
func (k *Keeper) Now() time.Time { return k.Clock() }

// Observed returns the known gaps. Before the first heartbeat was seen, no time has passed that counts.
func (k *Keeper) Observed() observed.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	// A zero time would mean always.
	return observed.Time{Until: k.beat.Add(k.grace()), Gaps: k.gaps}
}

// Silence returns the age of the last heartbeat that this replica knows of; before the first, the time for which it has looked for one.
func (k *Keeper) Silence() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := k.beat
	if last.IsZero() {
		last = k.since
	}
	return max(0, k.Clock().Sub(last))
}

func (k *Keeper) grace() time.Duration { return cmp.Or(k.Grace, DefaultGrace) }

// Start writes the heartbeat until the manager ends. Like every Runnable that does not declare otherwise, it runs in the leader only.
func (k *Keeper) Start(ctx context.Context) error {
	period := cmp.Or(k.Period, DefaultPeriod)
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		if err := k.Beat(ctx, period); ctx.Err() == nil {
			if err != nil {
				k.Logger.Warn("the heartbeat of the leader was not written, so no deadline passes", "lease", LeaseName, "error", err)
			}
			k.tell(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// tellAgain is the interval after which Failing is called again with the same error.
const tellAgain = 10 * time.Minute

// tell reports the outcome of the last heartbeat to Failing.
func (k *Keeper) tell(err error) {
	if k.Failing == nil {
		return
	}
	now := k.Clock()
	switch {
	case err == nil:
		told := !k.toldAt.IsZero()
		k.failedSince, k.toldAt = time.Time{}, time.Time{}
		if told {
			k.Failing(nil)
		}
	case k.failedSince.IsZero():
		k.failedSince = now
	case now.Sub(k.failedSince) > k.grace() && (k.toldAt.IsZero() || now.Sub(k.toldAt) >= tellAgain):
		k.toldAt = now
		k.Failing(err)
	}
}

// Beat writes one heartbeat, within the timeout.
func (k *Keeper) Beat(ctx context.Context, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	now := k.Clock()
	if k.held == nil {
		found, err := k.Leases.Get(ctx, LeaseName, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			created, err := k.Leases.Create(ctx, k.next(k.remembered(), now), metav1.CreateOptions{})
			return k.note(created, err)
		case err != nil:
			return fmt.Errorf("read it: %w", err)
		}
		k.held = found
	}
	updated, err := k.Leases.Update(ctx, k.next(k.held.DeepCopy(), now), metav1.UpdateOptions{})
	return k.note(updated, err)
}

func (k *Keeper) note(written *coordinationv1.Lease, err error) error {
	if err != nil {
		// Another writer may have written it, or the answer alone was lost.
		k.held = nil
		return fmt.Errorf("write it: %w", err)
	}
	k.held = written
	k.see(written)
	return nil
}

// remembered rebuilds a deleted Lease from what this replica knows of it. Without it, the deletion of the Lease would remove the gaps by which
// deadlines were moved, and the time since the last heartbeat would count.
func (k *Keeper) remembered() *coordinationv1.Lease {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: LeaseName}}
	if !k.beat.IsZero() {
		l.Spec.RenewTime = new(metav1.NewMicroTime(k.beat))
	}
	if len(k.gaps) > 0 {
		l.Annotations = map[string]string{GapsAnnotation: formatGaps(k.gaps)}
	}
	return l
}

// next returns the Lease with the heartbeat of that instant.
func (k *Keeper) next(l *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	gaps := parseGaps(l.Annotations[GapsAnnotation])
	if last := l.Spec.RenewTime; last != nil && now.Sub(last.Time) > k.grace() {
		k.Logger.Warn("no manager led for a time, so it counts for no deadline", "from", last.UTC(), "to", now.UTC())
		// Whole seconds, in favour of the runs.
		gaps = append(gaps, observed.Gap{From: last.Truncate(time.Second), To: now.Add(time.Second - 1).Truncate(time.Second)})
	}
	metav1.SetMetaDataLabel(&l.ObjectMeta, v1alpha1.LabelComponent, v1alpha1.ComponentTime)
	metav1.SetMetaDataLabel(&l.ObjectMeta, v1alpha1.LabelManagedBy, v1alpha1.ManagedBy)
	delete(l.Annotations, GapsAnnotation)
	if gaps = recent(gaps, now); len(gaps) > 0 {
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, GapsAnnotation, formatGaps(gaps))
	}
	l.Spec.RenewTime = new(metav1.NewMicroTime(now))
	l.Spec.LeaseDurationSeconds = new(max(1, int32(k.grace()/time.Second)))
	return l
}

// see adopts the content of a Lease, unless this replica knows more: a watch is late. A value of a wrong clock does not count as more.
func (k *Keeper) see(l *coordinationv1.Lease) {
	if l.Name != LeaseName || l.Namespace != k.Namespace || l.Spec.RenewTime == nil {
		return
	}
	gaps := parseGaps(l.Annotations[GapsAnnotation])
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.Spec.RenewTime.After(k.beat) || k.beat.After(k.Clock().Add(tolerated)) {
		k.beat, k.gaps = l.Spec.RenewTime.Time, gaps
	}
}

const (
	// maxGaps bounds the annotation. The run's own time has every gap already; dropped gaps could only move the time for an answer.
	maxGaps = 512
	// reach is the age up to which a gap can matter: the longest time for an answer is 30 days.
	reach = 31 * 24 * time.Hour
)

// recent returns the gaps that may still move a deadline: not those that lie further back than reach, not counting other gaps.
func recent(gaps []observed.Gap, now time.Time) []observed.Gap {
	gaps = gaps[max(0, len(gaps)-maxGaps):]
	later := time.Duration(0)
	for i, g := range slices.Backward(gaps) {
		if now.Sub(g.To)-later > reach {
			return gaps[i+1:]
		}
		later += g.To.Sub(g.From)
	}
	return gaps
}

func formatGaps(gaps []observed.Gap) string {
	var list []string
	for _, g := range gaps {
		list = append(list, g.From.UTC().Format(time.RFC3339)+"/"+g.To.UTC().Format(time.RFC3339))
	}
	return strings.Join(list, ",")
}

// parseGaps reads what formatGaps wrote, in order. It skips invalid entries and merges overlapping ones.
func parseGaps(text string) []observed.Gap {
	var gaps []observed.Gap
	for part := range strings.SplitSeq(text, ",") {
		from, to, _ := strings.Cut(part, "/")
		f, err := time.Parse(time.RFC3339, from)
		if err != nil {
			continue
		}
		if t, err := time.Parse(time.RFC3339, to); err == nil && t.After(f) {
			gaps = append(gaps, observed.Gap{From: f, To: t})
		}
	}
	slices.SortFunc(gaps, func(a, b observed.Gap) int { return a.From.Compare(b.From) })
	var merged []observed.Gap
	for _, g := range gaps {
		if n := len(merged); n > 0 && !g.From.After(merged[n-1].To) {
			if g.To.After(merged[n-1].To) {
				merged[n-1].To = g.To
			}
			continue
		}
		merged = append(merged, g)
	}
	return merged
}

// follower reads the heartbeat in every replica.
type follower struct {
	keeper    *Keeper
	informers cache.Informers
}

// NeedLeaderElection is false: engines use the record too, and a new leader has it already.
func (f *follower) NeedLeaderElection() bool { return false }

// Start follows the Lease until the manager ends.
func (f *follower) Start(ctx context.Context) error {
	informer, err := f.informers.GetInformer(ctx, &coordinationv1.Lease{})
	if err != nil {
		return err
	}
	see := func(o any) {
		if l, ok := o.(*coordinationv1.Lease); ok {
			f.keeper.see(l)
		}
	}
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, o any) { see(o) }}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
