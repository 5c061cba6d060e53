// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/box"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
)

// A sandbox refuses every epoch below the highest one that it has served. Usually that one is of a worker that was assigned the run later.
// It can also date from a time that the cluster's records have lost: etcd was restored, or status.execution.epoch was lowered by hand. Then no new epoch
// reaches that of the sandbox, so the run would stand still until its timeout.
//
// The leader records an epoch before any worker uses it. So a worker that was overtaken finds the later epoch when it reads from the API
// server after the refusal. A worker that does not find it was not overtaken:
//
//	refused ─► Lease renewed since ─► run and journal have this claim ─► refused again ─► the same once more ─► SandboxLost
//	             └─ no: nothing decided   └─ no: ErrStale                    └─ no: tried again

// Lease is the Lease of this replica as the API server has it.
type Lease interface {
	runenv.Lease
	// Version returns the version of the Lease. The error is runenv.ErrNoLease if this replica does not hold it.
	Version(ctx context.Context) (string, error)
	// RenewedEvery returns how often it is renewed.
	RenewedEvery() time.Duration
}

// overtaking is the state of a loop's check after its sandbox has refused it as overtaken.
type overtaking struct {
	*Attempt
	// hello sends Hello to the sandbox once more.
	hello func(context.Context) error
}

// unlessOvertaken returns the failure of an attempt whose sandbox has refused the loop with a later epoch that no worker has, and every
// other error as it is. An error other than an *outcome.Failure and motorloop.ErrStale decides nothing.
func (a *Attempt) unlessOvertaken(ctx context.Context, err error) error {
	if !errors.Is(err, runenv.ErrOvertaken) {
		return err
	}
	a.Env.Log.Warn("the sandbox refuses this worker, because it has served a later epoch of the run", "pod", a.Env.Run.Status.Sandbox.PodName)
	sandbox, err := box.Open(a.Env, a.Host.Box)
	if err != nil {
		return err
	}
	defer sandbox.Close()
	hello := func(ctx context.Context) error {
		_, err := sandbox.Client.Hello(ctx)
		return a.Env.Classify(ctx, err)
	}
	return (&overtaking{Attempt: a, hello: hello}).judge(ctx)
}

// judge returns motorloop.ErrStale if another worker has the run, and an *outcome.Failure if none has.
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
	case !errors.Is(err, runenv.ErrOvertaken):
		return err
	}
	if err := r.stands(ctx); err != nil {
		return err
	}
	if _, err := r.Host.Lease.Version(ctx); err != nil {
		return err
	}
	return r.lost()
}

// awaitRenewal waits until the API server has accepted a renewal of this worker's Lease. It takes the time of one renewal, and no longer than
// the Lease lasts.
func (r *overtaking) awaitRenewal(ctx context.Context) error {
	first, err := r.Host.Lease.Version(ctx)
	if err != nil {
		return err
	}
	ticker := time.NewTicker(r.Host.Lease.RenewedEvery())
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if version, err := r.Host.Lease.Version(ctx); err != nil || version != first {
			return err
		}
	}
}

// stands returns nil if the run and its journal, read past the cache, still have the claim of this loop.
func (r *overtaking) stands(ctx context.Context) error {
	env := r.Env
	live := &v1alpha1.MotorRun{}
	err := env.Live.Get(ctx, client.ObjectKeyFromObject(env.Run), live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read the run: %w", err)
	}
	if err != nil || !r.Carries(live) {
		return runenv.ErrOvertaken
	}
	now, err := journal.Load(ctx, env.Client, env.Live, env.Run, r.Index, env.Claim, env.APINow)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	if len(now.Everything()) != len(env.Entries.Everything()) {
		return journal.ErrMovedOn
	}
	return nil
}

func (r *overtaking) lost() error {
	return &outcome.Failure{
		Category: outcome.InfraFailure,
		Reason:   outcome.ReasonSandboxLost,
		Message: fmt.Sprintf("The sandbox in Pod %s has served a later epoch of the run than %d, which status.execution.epoch and the journal have, "+
			"while the worker %s holds its Lease: the records of the run are older than its sandbox, as after a restore of etcd or a change of "+
			"status.execution.epoch by hand. The sandbox is given up. What it did after the last recorded step is in no record: find out what that was "+
			"outside of the sandbox before it is done again.", r.Env.Run.Status.Sandbox.PodName, r.Env.Claim.Epoch, r.Env.Claim.Worker),
		Retryable: true,
	}
}
