// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/runpolicy/replica"
)

// DefaultLeaseDuration is how long the runs of a manager that was killed stand still.
const DefaultLeaseDuration = 10 * time.Second

// renewals is how many times the Lease is renewed, or tried to be, within its duration. Each try may take its share of the duration.
const renewals = 5

// keep renews the Lease until ctx ends, and stops the loops for as long as the renewal fails.
//
//	no Lease ── renewed ──► held ── not renewed for its duration, or another process holds it ──► no Lease
//	no loop runs            loops run                                                            loops are cancelled
func (e *Engine) keep(ctx context.Context, l *lease) {
	lapse := time.AfterFunc(l.duration, e.lapse)
	defer lapse.Stop()
	every := l.duration / renewals
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		// A process that was frozen for longer than its Lease has lost its runs, even if it can renew the Lease now.
		e.lapse()
		sent := e.Now()
		err := l.renew(ctx, sent, every)
		switch {
		case err == nil:
			// Other replicas count from when they see the renewal, which is later.
			e.hold(sent.Add(l.duration))
			lapse.Reset(sent.Add(l.duration).Sub(e.Now()))
		case ctx.Err() == nil:
			e.Logger.Warn("the Lease of this replica was not renewed", "lease", l.name, "error", err)
			if l.lost() {
				e.lose()
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// held reports whether this replica may carry runs on.
func (e *Engine) held() bool { return e.Now().Before(e.heldUntil) }

// hold allows loops to run until then.
func (e *Engine) hold(until time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	waited := !e.held()
	e.heldUntil = until
	if waited && len(e.queue) > 0 {
		waiting := slices.Clone(e.queue)
		e.wg.Go(func() { e.notify(waiting) })
	}
}

// lapse ends the loops if the Lease has run out. Until it is renewed the runs may be assigned to others.
func (e *Engine) lapse() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.held() {
		e.endLoops()
	}
}

// lose ends the loops because the Lease belongs to another process.
func (e *Engine) lose() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endLoops()
}

func (e *Engine) endLoops() {
	if e.heldUntil.IsZero() {
		return
	}
	e.heldUntil = time.Time{}
	e.Logger.Error("this replica has no Lease any more, so its loops stand still until it has one", "running", e.running)
	for _, l := range e.loops {
		if l.running && !l.stopped {
			l.stop(true)
		}
	}
}

// mayDecide reports whether this replica may decide now how a run goes on. A process that was frozen can reach this point before its
// loops are ended.
func (e *Engine) mayDecide() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held()
}

func (e *Engine) newLease() *lease {
	return &lease{
		client:   e.Leases.Leases(e.Config.LeaseNamespace),
		name:     replica.LeaseName(e.Config.PodName),
		worker:   e.Config.Worker,
		version:  e.Config.Version,
		slots:    e.Config.MaxLoops,
		owner:    podOwner(e.Config.PodName, e.Config.PodUID),
		duration: cmp.Or(e.Config.LeaseDuration, DefaultLeaseDuration),
	}
}

// ownLease is this replica's Lease as attempts see it.
type ownLease struct{ engine *Engine }

// MayDecide reports whether this replica may decide now how a run goes on.
func (l ownLease) MayDecide() bool { return l.engine.mayDecide() }

// Version returns the version of the Lease as the API server has it. The error is runenv.ErrNoLease if this replica does not hold it.
func (l ownLease) Version(ctx context.Context) (string, error) {
	own := l.engine.newLease()
	found, err := own.client.Get(ctx, own.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", runenv.ErrNoLease
	case err != nil:
		return "", fmt.Errorf("read the Lease %s of this replica: %w", own.name, err)
	case holder(found) != own.worker, !l.engine.mayDecide():
		return "", runenv.ErrNoLease
	}
	return found.ResourceVersion, nil
}

// RenewedEvery returns how often the Lease is renewed.
func (l ownLease) RenewedEvery() time.Duration { return l.engine.newLease().duration / renewals }
