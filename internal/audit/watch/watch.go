// SPDX-License-Identifier: Apache-2.0

// Package watch writes the decisions of people to the audit as the manager sees them.
package watch

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/audit/decision"
	"motorcortex.dev/motorcortex/internal/audit/ocsf"
	"motorcortex.dev/motorcortex/internal/runpolicy/observed"
)

const (
	// overlap is how long before its beginning a process writes decisions, because the one before it may have ended without. Another one leads within
	// seconds, as a rule.
	overlap = 15 * time.Minute
	// longest is how long before its beginning it writes decisions at most, if none led for so long. Runs that ended earlier are deleted, as a rule.
	longest = 7 * 24 * time.Hour
	// patience is how long a process waits until it is known since when none led, and askAgain how often it looks.
	patience, askAgain = time.Minute, 100 * time.Millisecond
)

// Cache has the objects that record decisions.
type Cache interface {
	GetInformer(ctx context.Context, of client.Object, options ...cache.InformerGetOption) (cache.Informer, error)
}

// Time knows when no manager led.
type Time interface {
	Observed() observed.Time
}

// Watch writes each decision at least once. It keeps nothing: an update is compared with what was there before.
type Watch struct {
	Cache   Cache
	To      *ocsf.Log
	Version string
	Now     func() time.Time
	Time    Time
	Logger  *slog.Logger

	from time.Time
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. Two processes would write everything twice.
func (w *Watch) NeedLeaderElection() bool { return true }

// Start writes decisions until the context ends.
func (w *Watch) Start(ctx context.Context) error {
	if w.from = w.since(ctx); ctx.Err() != nil {
		return nil
	}
	for _, of := range []client.Object{&v1alpha1.MotorRun{}, &v1alpha1.MotorStep{}, &v1alpha1.Skill{}} {
		informer, err := w.Cache.GetInformer(ctx, of)
		if err != nil {
			return fmt.Errorf("watch for decisions: %w", err)
		}
		handle, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) { w.added(ctx, o) }, UpdateFunc: func(was, is any) { w.updated(ctx, was, is) },
		})
		if err != nil {
			return fmt.Errorf("watch for decisions: %w", err)
		}
		defer func() { _ = informer.RemoveEventHandler(handle) }() // The process ends.
	}
	<-ctx.Done()
	return nil
}

// since returns the instant before which other processes wrote the decisions. It waits until the time without a leader is known, which this process
// ends with its first heartbeat.
func (w *Watch) since(ctx context.Context) time.Time {
	begin := w.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(askAgain)
	defer ticker.Stop()
	for {
		known := w.Time.Observed()
		if !known.Until.Before(w.Now()) {
			return from(begin, known)
		}
		select {
		case <-ctx.Done():
			return from(begin, known)
		case <-ticker.C:
		}
	}
}

// from returns since when a process that begins at an instant writes decisions. Those of a time in which none led were written by none, and neither were
// the last ones before it, perhaps.
func from(begin time.Time, known observed.Time) time.Time {
	start := begin.Add(-overlap)
	if known.Until.Before(start) {
		// No heartbeat was seen since.
		start = known.Until.Add(-overlap)
	}
	for _, g := range slices.Backward(known.Gaps) {
		if g.To.Before(start) {
			break
		}
		if before := g.From.Add(-overlap); before.Before(start) {
			start = before
		}
	}
	if earliest := begin.Add(-longest); start.Before(earliest) {
		return earliest
	}
	return start
}

// added writes the decisions of an object that is new to this process. Those of which no time is recorded are written again by each process.
func (w *Watch) added(ctx context.Context, o any) {
	for _, e := range decision.Of(o, w.Version) {
		if e.Time == 0 || e.Time >= w.from.UnixMilli() {
			w.write(ctx, e)
		}
	}
}

// updated writes the decisions that an object did not have before.
func (w *Watch) updated(ctx context.Context, was, is any) {
	known := map[string]bool{}
	for _, e := range decision.Of(was, w.Version) {
		known[e.Metadata.UID] = true
	}
	for _, e := range decision.Of(is, w.Version) {
		if !known[e.Metadata.UID] {
			w.write(ctx, e)
		}
	}
}

func (w *Watch) write(ctx context.Context, e *ocsf.Event) {
	if e.Time == 0 {
		e.Time = w.Now().UnixMilli()
	}
	if err := w.To.Write(e); err != nil {
		w.Logger.ErrorContext(ctx, "a decision is not in the audit", "operation", e.API.Operation, "id", e.Metadata.UID, "error", err)
	}
}
