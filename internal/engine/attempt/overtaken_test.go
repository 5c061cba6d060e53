// SPDX-License-Identifier: Apache-2.0

package attempt

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/engine/enginetest"
	"motorcortex.dev/motorcortex/internal/engine/runenv"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/outcome"
)

// renewedLease is one that is renewed each time that it is looked at, or never.
type renewedLease struct {
	enginetest.Lease
	renewals, version int
}

func (l *renewedLease) Version(context.Context) (string, error) {
	if !l.MayDecide() {
		return "", runenv.ErrNoLease
	}
	l.version += l.renewals
	return strconv.Itoa(l.version), nil
}

func (*renewedLease) RenewedEvery() time.Duration { return 10 * time.Millisecond }

// overtakenRig is a worker whose sandbox has refused it, with its Lease, its run and its journal.
type overtakenRig struct {
	*overtaking
	t     *testing.T
	lease *renewedLease
	api   client.Client
	// stopped is true if the loop was cancelled.
	stopped bool
	// asked counts how often the sandbox was asked again.
	asked int
}

func newOvertakenRig(t *testing.T) *overtakenRig {
	t.Helper()
	run := enginetest.ReadyRun()
	run.UID, run.Status.Execution.Epoch, run.Status.Sandbox.PodName = "run-uid", 3, "run-motor-sandbox"
	r := &overtakenRig{t: t, lease: &renewedLease{renewals: 1}}
	r.api = fake.NewClientBuilder().WithScheme(enginetest.Scheme(t)).WithObjects(run, enginetest.Step(run, 1, 2)).WithStatusSubresource(run).Build()
	env := enginetest.Env(t, r.api, run, time.Now)
	env.Lease = r.lease
	carries := func(live *v1alpha1.MotorRun) bool {
		return !r.stopped && live.Status.Execution.Worker == run.Status.Execution.Worker && live.Status.Execution.Epoch == 3 && live.Status.Sandbox.PodUID == "pod"
	}
	r.overtaking = &overtaking{
		Attempt: &Attempt{Index: 1, Host: &Host{Lease: r.lease}, Env: env, Carries: carries}, hello: r.refuse(func() {}),
	}
	return r
}

// refuse returns a sandbox that refuses the worker again, after something else has happened.
func (r *overtakenRig) refuse(happens func()) func(context.Context) error {
	return func(context.Context) error {
		r.asked++
		happens()
		return runenv.ErrOvertaken
	}
}

// change changes the run in the API server.
func (r *overtakenRig) change(change func(*v1alpha1.MotorRunStatus)) {
	r.t.Helper()
	live := &v1alpha1.MotorRun{}
	err := r.api.Get(r.t.Context(), client.ObjectKeyFromObject(r.Env.Run), live)
	if err == nil {
		change(&live.Status)
		err = r.api.Status().Update(r.t.Context(), live)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *overtakenRig) record(index int32, epoch int64) {
	r.t.Helper()
	if err := r.api.Create(r.t.Context(), enginetest.Step(r.Env.Run, index, epoch)); err != nil {
		r.t.Fatal(err)
	}
}

// A sandbox is abandoned only if neither the Lease, nor the run, nor the journal has another worker, before and after it refuses again.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	away, served := errors.New("the sandbox is away"), errors.New("serves it now")
	giveAway := func(r *overtakenRig) func() {
		return func() {
			r.change(func(st *v1alpha1.MotorRunStatus) { st.Execution.Worker, st.Execution.Epoch = "worker-2", 4 })
		}
	}
	for name, tt := range map[string]struct {
		given func(*overtakenRig)
		// want is the error, nil for the failure of the attempt.
		want error
		// asked is how often the sandbox is asked again.
		asked int
	}{
		"no other worker": {func(*overtakenRig) {}, nil, 1},
		"it has no Lease": {func(r *overtakenRig) { r.lease.Lose(true) }, runenv.ErrNoLease, 0},
		"its Lease is not renewed any more": {func(r *overtakenRig) {
			r.lease.renewals = 0
			time.AfterFunc(time.Second, func() { r.lease.Lose(true) })
		}, runenv.ErrNoLease, 0},
		"another worker has the run":        {func(r *overtakenRig) { giveAway(r)() }, motorloop.ErrStale, 0},
		"the run is its own, a later epoch": {func(r *overtakenRig) { r.change(func(st *v1alpha1.MotorRunStatus) { st.Execution.Epoch = 4 }) }, motorloop.ErrStale, 0},
		"another worker, the same epoch": {func(r *overtakenRig) {
			r.change(func(st *v1alpha1.MotorRunStatus) { st.Execution.Worker = "worker-2" })
		}, motorloop.ErrStale, 0},
		"the sandbox is another one": {func(r *overtakenRig) {
			r.change(func(st *v1alpha1.MotorRunStatus) { st.Sandbox.PodUID = "another" })
		}, motorloop.ErrStale, 0},
		"the run is gone": {func(r *overtakenRig) {
			if err := r.api.Delete(r.t.Context(), r.Env.Run.DeepCopy()); err != nil {
				r.t.Fatal(err)
			}
		}, motorloop.ErrStale, 0},
		"a later epoch in the journal":       {func(r *overtakenRig) { r.record(2, 4) }, motorloop.ErrStale, 0},
		"a step that it does not know":       {func(r *overtakenRig) { r.record(2, 2) }, journal.ErrMovedOn, 0},
		"given away while it asks":           {func(r *overtakenRig) { r.hello = r.refuse(giveAway(r)) }, motorloop.ErrStale, 1},
		"a later step while it asks":         {func(r *overtakenRig) { r.hello = r.refuse(func() { r.record(2, 4) }) }, motorloop.ErrStale, 1},
		"its Lease is taken while it asks":   {func(r *overtakenRig) { r.hello = r.refuse(func() { r.lease.Lose(true) }) }, runenv.ErrNoLease, 1},
		"the sandbox serves it":              {func(r *overtakenRig) { r.hello = func(context.Context) error { return nil } }, served, 0},
		"the sandbox does not answer":        {func(r *overtakenRig) { r.hello = func(context.Context) error { return away } }, away, 0},
		"the loop was told to end meanwhile": {func(r *overtakenRig) { r.stopped = true }, motorloop.ErrStale, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newOvertakenRig(t)
			tt.given(r)
			err := r.judge(t.Context())
			f, lost := errors.AsType[*outcome.Failure](err)
			switch {
			case r.asked != tt.asked:
				t.Errorf("the sandbox was asked %d times", r.asked)
			case errors.Is(tt.want, served):
				if err == nil || lost || errors.Is(err, motorloop.ErrStale) || !strings.Contains(err.Error(), served.Error()) {
					t.Errorf("judged as %v", err)
				}
			case tt.want != nil && !errors.Is(err, tt.want), lost != (tt.want == nil):
				t.Errorf("judged as %v", err)
			case lost && (f.Reason != outcome.ReasonSandboxLost || f.Category != outcome.InfraFailure || !f.Retryable ||
				!strings.Contains(f.Message, "Pod run-motor-sandbox") || !strings.Contains(f.Message, "than 3,") || len(f.Message) > 1000):
				t.Errorf("the failure is %+v", f)
			}
		})
	}
}

// Every other error is independent of the Lease and the journal.
func TestOnlyARefusalIsJudged(t *testing.T) {
	t.Parallel()
	a := &Attempt{}
	for _, err := range []error{nil, motorloop.ErrStale, runenv.ErrMissing, runenv.ErrNoLease, context.Canceled} {
		if got := a.unlessOvertaken(t.Context(), err); got != err { //nolint:errorlint // it must be the same
			t.Errorf("%v became %v", err, got)
		}
	}
}
