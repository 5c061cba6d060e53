// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/journal"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// overtakenRig is a worker whose sandbox has refused it, with its Lease, its run and its journal.
type overtakenRig struct {
	*overtaking
	t      *testing.T
	leases *leaseServer
	api    client.Client
	// asked counts how often the sandbox was asked again.
	asked int
}

func newOvertakenRig(t *testing.T) *overtakenRig {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	run := readyRun()
	run.UID, run.Status.Epoch, run.Status.Sandbox.PodName = "run-uid", 3, "run-motor-sandbox"
	r := &overtakenRig{t: t, leases: &leaseServer{}}
	r.api = fake.NewClientBuilder().WithScheme(scheme).WithObjects(run, stepOf(run, 1, 2)).WithStatusSubresource(run).Build()
	e := &Engine{
		Client: r.api, Live: r.api, Leases: r.leases, Now: time.Now, Logger: slog.New(slog.DiscardHandler), heldUntil: time.Now().Add(time.Hour),
		Config: Config{Worker: run.Status.Worker, PodName: "manager-0", LeaseDuration: 50 * time.Millisecond},
	}
	r.holdBy(e.Config.Worker)
	r.leases.set(func(_ context.Context, carryOut func() error) error {
		err := carryOut()
		r.leases.mu.Lock()
		defer r.leases.mu.Unlock()
		if r.leases.lease != nil {
			r.leases.store(r.leases.lease) // It is renewed all the time.
		}
		return err
	})
	entries, err := journal.Load(t.Context(), r.api, r.api, run, 0, journal.Claim{Epoch: 3, Worker: e.Config.Worker}, e.Now)
	if err != nil {
		t.Fatal(err)
	}
	r.overtaking = &overtaking{engine: e, loop: &loop{task: taskOf(run)}, run: run, entries: entries, hello: r.refuse(func() {})}
	return r
}

// stepOf is a step of the run that a worker of that epoch has recorded.
func stepOf(run *v1alpha1.MotorRun, index int32, epoch int64) *v1alpha1.MotorStep {
	return &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: run.Namespace, Name: journal.StepName(run.Name, 0, index), Labels: map[string]string{v1alpha1.LabelRun: run.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))},
		},
		Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Index: index, Epoch: epoch, Sandbox: &v1alpha1.StepSandbox{PodUID: "pod"}},
	}
}

// refuse gives a sandbox that refuses the worker again, after something else has happened.
func (r *overtakenRig) refuse(happens func()) func(context.Context) error {
	return func(context.Context) error {
		r.asked++
		happens()
		return errOvertaken
	}
}

func (r *overtakenRig) holdBy(worker string) {
	r.leases.mu.Lock()
	defer r.leases.mu.Unlock()
	r.leases.store(&coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &worker}})
}

// change changes the run as the API server has it.
func (r *overtakenRig) change(change func(*v1alpha1.MotorRunStatus)) {
	r.t.Helper()
	live := &v1alpha1.MotorRun{}
	err := r.api.Get(r.t.Context(), client.ObjectKeyFromObject(r.run), live)
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
	if err := r.api.Create(r.t.Context(), stepOf(r.run, index, epoch)); err != nil {
		r.t.Fatal(err)
	}
}

// A sandbox is given up only if neither the Lease, nor the run, nor the journal has another worker, before and after it refuses again.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	away, served := errors.New("the sandbox is away"), errors.New("serves it now")
	giveAway := func(r *overtakenRig) func() {
		return func() { r.change(func(st *v1alpha1.MotorRunStatus) { st.Worker, st.Epoch = "worker-2", 4 }) }
	}
	for name, tt := range map[string]struct {
		given func(*overtakenRig)
		// want is the error, nil for the failure of the attempt.
		want error
		// asked is how often the sandbox is asked again.
		asked int
	}{
		"no other worker":                   {func(*overtakenRig) {}, nil, 1},
		"its Lease is another process's":    {func(r *overtakenRig) { r.holdBy("worker-9") }, errNoLease, 0},
		"its Lease is deleted":              {func(r *overtakenRig) { r.leases.lease = nil }, errNoLease, 0},
		"its Lease has lapsed":              {func(r *overtakenRig) { r.engine.heldUntil = time.Time{} }, errNoLease, 0},
		"its Lease is not renewed any more": {func(r *overtakenRig) { r.leases.set(nil); r.engine.heldUntil = time.Now().Add(time.Second) }, errNoLease, 0},
		"another worker has the run":        {func(r *overtakenRig) { giveAway(r)() }, motorloop.ErrStale, 0},
		"the run is its own, a later epoch": {func(r *overtakenRig) { r.change(func(st *v1alpha1.MotorRunStatus) { st.Epoch = 4 }) }, motorloop.ErrStale, 0},
		"another worker, the same epoch":    {func(r *overtakenRig) { r.change(func(st *v1alpha1.MotorRunStatus) { st.Worker = "worker-2" }) }, motorloop.ErrStale, 0},
		"the sandbox is another one": {func(r *overtakenRig) {
			r.change(func(st *v1alpha1.MotorRunStatus) { st.Sandbox.PodUID = "another" })
		}, motorloop.ErrStale, 0},
		"the run is gone": {func(r *overtakenRig) {
			if err := r.api.Delete(r.t.Context(), r.run.DeepCopy()); err != nil {
				r.t.Fatal(err)
			}
		}, motorloop.ErrStale, 0},
		"a later epoch in the journal":       {func(r *overtakenRig) { r.record(2, 4) }, motorloop.ErrStale, 0},
		"a step that it does not know":       {func(r *overtakenRig) { r.record(2, 2) }, journal.ErrMovedOn, 0},
		"given away while it asks":           {func(r *overtakenRig) { r.hello = r.refuse(giveAway(r)) }, motorloop.ErrStale, 1},
		"a later step while it asks":         {func(r *overtakenRig) { r.hello = r.refuse(func() { r.record(2, 4) }) }, motorloop.ErrStale, 1},
		"its Lease is taken while it asks":   {func(r *overtakenRig) { r.hello = r.refuse(func() { r.holdBy("worker-9") }) }, errNoLease, 1},
		"its Lease lapses while it asks":     {func(r *overtakenRig) { r.hello = r.refuse(func() { r.engine.heldUntil = time.Time{} }) }, errNoLease, 1},
		"the sandbox serves it":              {func(r *overtakenRig) { r.hello = func(context.Context) error { return nil } }, served, 0},
		"the sandbox does not answer":        {func(r *overtakenRig) { r.hello = func(context.Context) error { return away } }, away, 0},
		"the loop was told to end meanwhile": {func(r *overtakenRig) { r.loop.stopped = true }, motorloop.ErrStale, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newOvertakenRig(t)
			tt.given(r)
			err := r.judge(t.Context())
			f, lost := errors.AsType[*motorloop.Failure](err)
			switch {
			case r.asked != tt.asked:
				t.Errorf("the sandbox was asked %d times", r.asked)
			case errors.Is(tt.want, served):
				if err == nil || lost || errors.Is(err, motorloop.ErrStale) || !strings.Contains(err.Error(), served.Error()) {
					t.Errorf("judged as %v", err)
				}
			case tt.want != nil && !errors.Is(err, tt.want), lost != (tt.want == nil):
				t.Errorf("judged as %v", err)
			case lost && (f.Reason != motorloop.ReasonSandboxLost || f.Category != motorloop.InfraFailure || !f.Retryable ||
				!strings.Contains(f.Message, "Pod run-motor-sandbox") || !strings.Contains(f.Message, "than 3,") || len(f.Message) > 1000):
				t.Errorf("the failure is %+v", f)
			}
		})
	}
}

// Every other error is none that the Lease and the journal say anything about.
func TestOnlyARefusalIsJudged(t *testing.T) {
	t.Parallel()
	e := &Engine{}
	for _, err := range []error{nil, motorloop.ErrStale, errMissing, errNoLease, context.Canceled} {
		if got := e.unlessOvertaken(t.Context(), nil, nil, nil, nil, err); got != err { //nolint:errorlint // it must be the same
			t.Errorf("%v became %v", err, got)
		}
	}
}
