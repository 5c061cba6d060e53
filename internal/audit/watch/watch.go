// SPDX-License-Identifier: Apache-2.0

// Package watch writes the decisions of people to the audit as the manager sees them.
package watch

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/audit/decision"
	"motorcortex.dev/motorcortex/internal/audit/ocsf"
)

// overlap is how long before its beginning a process writes decisions, because the one before it may have ended without. Only a leader writes, and another
// one leads within seconds.
const overlap = 15 * time.Minute

// Cache has the objects that record decisions.
type Cache interface {
	GetInformer(ctx context.Context, of client.Object, options ...cache.InformerGetOption) (cache.Informer, error)
}

// Watch writes each decision at least once. It keeps nothing: an update is compared with what was there before.
type Watch struct {
	Cache   Cache
	To      *ocsf.Log
	Version string
	Now     func() time.Time
	Logger  *slog.Logger

	from time.Time
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. Two processes would write everything twice.
func (w *Watch) NeedLeaderElection() bool { return true }

// Start writes decisions until the context ends.
func (w *Watch) Start(ctx context.Context) error {
	w.from = w.Now().Add(-overlap)
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
