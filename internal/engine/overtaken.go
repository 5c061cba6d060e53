// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// A sandbox refuses every epoch below the highest one that it has served. Usually that one is of a worker that was given the run later.
// It can also be of a time that the cluster's records have lost: etcd was restored, or status.epoch was lowered by hand. No epoch that
// is given then reaches the one of the sandbox, so the run would stand still until its timeout.
//
// The leader records an epoch before any worker uses it. So a worker that was overtaken finds the later epoch in what it reads from the API
// server after the refusal, and a worker that does not find it was overtaken by none:
//
//	refused ─► Lease renewed since ─► run and journal have this claim ─► refused again ─► the same once more ─► SandboxLost
//	             └─ no: nothing decided   └─ no: ErrStale                    └─ no: tried again

// errOvertaken says that the sandbox has served a later epoch of its run.
var errOvertaken = fmt.Errorf("the sandbox has served a later epoch of the run: %w", motorloop.ErrStale)

// overtaking is what a loop looks at when its sandbox has refused it as overtaken.
type overtaking struct {
	engine  *Engine
	loop    *loop
	run     *v1alpha1.MotorRun
	entries *journal.Log
	// hello asks the sandbox once more who it is.
	hello func(context.Context) error
}

// unlessOvertaken gives the failure of an attempt whose sandbox has refused the loop with a later epoch that no worker has, and every
// other error as it is. An error other than a *motorloop.Failure and motorloop.ErrStale decides nothing.
func (e *Engine) unlessOvertaken(
	ctx context.Context, l *loop, run *v1alpha1.MotorRun, entries *journal.Log, log *slog.Logger, err error,
) error {
	if !errors.Is(err, errOvertaken) {
		return err
	}
	log.Warn("the sandbox refuses this worker, because it has served a later epoch of the run", "pod", run.Status.Sandbox.PodName)
	box, err := e.openSandbox(l, run, entries, log)
	if err != nil {
		return err
	}
	defer box.close()
	hello := func(ctx context.Context) error {
		_, err := box.client.Hello(ctx)
		return box.classify(ctx, err)
	}
	return (&overtaking{engine: e, loop: l, run: run, entries: entries, hello: hello}).judge(ctx)
}

// judge gives motorloop.ErrStale if another worker has the run, and a *motorloop.Failure if none has.
func (r *overtaking) judge(ctx context.Context) error {
	if err := r.awaitRenewal(ctx); err != nil {
		return err
	}
	if err := r.stands(ctx); err != nil {
		return err
	}
	switch err := r.hello(ctx); {
	case err == nil:
		return errors.New("the sandbox refused this worker as overtaken, and serves it now")
	case !errors.Is(err, errOvertaken):
		return err
	}
	if err := r.stands(ctx); err != nil {
		return err
	}
	if _, err := r.lease(ctx); err != nil {
		return err
	}
	return r.lost()
}

// awaitRenewal waits until the API server has taken a renewal of this worker's Lease. It takes the time of one renewal, and no longer than
// the Lease lasts.
func (r *overtaking) awaitRenewal(ctx context.Context) error {
	first, err := r.lease(ctx)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(r.engine.newLease().duration / renewals)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if version, err := r.lease(ctx); err != nil || version != first {
			return err
		}
	}
}

// lease gives the version of this worker's Lease. The error is errNoLease if the worker does not hold it.
func (r *overtaking) lease(ctx context.Context) (version string, err error) {
	own := r.engine.newLease()
	found, err := own.client.Get(ctx, own.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", errNoLease
	case err != nil:
		return "", fmt.Errorf("read the Lease %s of this replica: %w", own.name, err)
	case holder(found) != own.worker, !r.engine.mayDecide():
		return "", errNoLease
	}
	return found.ResourceVersion, nil
}

// stands returns nil if the run and its journal, read past the cache, have the claim of this loop.
func (r *overtaking) stands(ctx context.Context) error {
	e := r.engine
	live := &v1alpha1.MotorRun{}
	err := e.Live.Get(ctx, client.ObjectKeyFromObject(r.run), live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the run: %w", err)
	}
	e.mu.Lock()
	carries := err == nil && live.Status.Worker == e.Config.Worker && r.loop.carries(taskOf(live))
	e.mu.Unlock()
	if !carries {
		return errOvertaken
	}
	claim := journal.Claim{Epoch: r.loop.task.epoch, Worker: e.Config.Worker}
	now, err := journal.Load(ctx, e.Client, e.Live, r.run, r.loop.task.attempt, claim, e.apiNow)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if len(now.Everything()) != len(r.entries.Everything()) {
		return journal.ErrMovedOn
	}
	return nil
}

func (r *overtaking) lost() error {
	return &motorloop.Failure{
		Category: motorloop.InfraFailure,
		Reason:   motorloop.ReasonSandboxLost,
		Message: fmt.Sprintf("The sandbox in Pod %s has served a later epoch of the run than %d, which status.epoch and the journal have, "+
			"while the worker %s holds its Lease: the records of the run are older than its sandbox, as after a restore of etcd or a change of "+
			"status.epoch by hand. The sandbox is given up. What it did after the last recorded step is in no record: find out what that was "+
			"outside of the sandbox before it is done again.", r.run.Status.Sandbox.PodName, r.loop.task.epoch, r.engine.Config.Worker),
		Retryable: true,
	}
}
