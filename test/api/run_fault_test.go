// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// lag makes the reconciler use a cache that has not seen what hidden names, and keeps the live reader as it is.
func (r *rig) lag(hidden func(client.Object) bool) {
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := c.Get(ctx, key, o, opts...); err != nil || !hidden(o) {
				return err
			}
			return apierrors.NewNotFound(schema.GroupResource{Resource: "hidden"}, key.Name)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if steps, ok := list.(*v1alpha1.MotorStepList); ok && hidden(&v1alpha1.MotorStep{}) {
				steps.Items = nil
			}
			return err
		},
	})
}

func isPod(o client.Object) bool  { _, ok := o.(*corev1.Pod); return ok }
func isStep(o client.Object) bool { _, ok := o.(*v1alpha1.MotorStep); return ok }

func TestCacheWithoutThePodDoesNotEndTheAttempt(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.lag(isPod)
	r.step()
	r.want(v1alpha1.PhaseRunning, "Finished False Running")
	r.wantAttempts("First")
	must(t, admin.Delete(r.ctx, r.pod()))
	r.once()
	r.wantAttempts("First SandboxLost", "Infrastructure")
}

// The new Pod of an attempt is found although no status names it yet, and the old one is not taken for it.
func TestCacheWithoutTheNewPodFindsIt(t *testing.T) {
	r := newRig(t)
	r.ready()
	old := r.pod()
	r.play(func(st *corev1.PodStatus) { st.Phase, st.Reason = corev1.PodFailed, "Evicted" })
	r.once()
	r.wantAttempts("First SandboxEvicted", "Infrastructure")
	// The cache has neither the old Pod nor the new one: what is there is looked at live.
	r.once()
	r.lag(isPod)
	r.once()
	pod := r.pod()
	if pod == nil || pod.UID == old.UID {
		t.Fatalf("the new Pod is %v", pod)
	}
	run := r.run()
	base := run.DeepCopy()
	run.Status.Sandbox = &v1alpha1.SandboxStatus{PodName: old.Name, PodUID: string(old.UID)}
	must(t, manager.Status().Patch(r.ctx, run, client.MergeFrom(base)))
	r.step()
	if got := r.run().Status.Sandbox.PodUID; got != string(pod.UID) || r.pod().UID != pod.UID {
		t.Errorf("the sandbox is %s, want %s", got, pod.UID)
	}
	r.wantAttempts("First SandboxEvicted", "Infrastructure")
}

func TestCacheWithoutThePodFindsItsOwn(t *testing.T) {
	r := newRig(t)
	r.lag(isPod)
	r.step()
	uid := r.pod().UID
	// The status that names the Pod was never written.
	run := r.run()
	base := run.DeepCopy()
	run.Status = v1alpha1.MotorRunStatus{}
	must(t, manager.Status().Patch(r.ctx, run, client.MergeFrom(base)))
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting")
	if st := r.run().Status.Sandbox; st == nil || st.PodUID != string(uid) {
		t.Errorf("sandbox %+v, want the Pod %s", st, uid)
	}
}

// The journal says how a run ended, even if the cache does not know yet.
func TestCacheWithoutTheLastStepDoesNotDecide(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.said(turnAt(1, "done"))
	r.lag(isStep)
	r.patchSpec(`{"cancel":true}`)
	r.step()
	run := r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	if run.Status.Steps != 1 {
		t.Errorf("%d steps", run.Status.Steps)
	}
}

// stale has the reconciler read the run as it is now, however it changes.
func (r *rig) stale() {
	old := r.run()
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if run, ok := o.(*v1alpha1.MotorRun); ok {
				old.DeepCopyInto(run)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
}

// An answer that came in time saves the sandbox from a controller that has not seen it yet.
func TestStaleRunDoesNotCostTheSandbox(t *testing.T) {
	r := newRig(t)
	r.ready()
	id := r.asked(1, `{"question":"Which?"}`)
	r.stale()
	respond(r.ctx, t, r.run(), id, "this")
	r.now = r.run().Status.Pending().ExpirationTime.Time
	if res := r.once(); res.RequeueAfter <= 0 || res.RequeueAfter > time.Second {
		t.Errorf("a conflict comes back after %s", res.RequeueAfter)
	}
	if r.pod() == nil {
		t.Fatal("the sandbox was removed on an old reading of the run")
	}
	r.rec.Client = manager
	r.step()
	r.want(v1alpha1.PhaseRunning, "Finished False Running", "AwaitingInput False Answered")
}

// The reason for which an attempt ended survives the first try to write it.
func TestReasonSurvivesAFailedWrite(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.play(func(st *corev1.PodStatus) { st.Phase = corev1.PodFailed; ended("OOMKilled", 137)(st) })
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return errors.New("the API server is away")
		},
	})
	events := len(r.events)
	if _, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key}); err == nil {
		t.Error("no error")
	}
	if len(r.events) != events {
		t.Errorf("told of what was not written: %v", r.events[events:])
	}
	if r.pod() == nil {
		t.Error("the Pod was deleted before that was written")
	}
	r.rec.Client = manager
	r.once()
	r.wantAttempts("First SandboxOOMKilled", "Infrastructure")
}

// A Pod of that name that goes between the create and the look at it must not leave the run without a next pass.
func TestForeignPodThatGoesAtOnce(t *testing.T) {
	r := newRig(t)
	taken := true
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if isPod(o) && taken {
				return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, o.GetName())
			}
			return c.Create(ctx, o, opts...)
		},
	})
	if res := r.once(); res.RequeueAfter <= 0 || res.RequeueAfter > time.Minute {
		t.Errorf("comes back after %s", res.RequeueAfter)
	}
	taken = false
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting")
}

// Two runs of a new namespace make its baseline at the same time.
func TestBaselineThatSomebodyElseJustMade(t *testing.T) {
	r := newRig(t)
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if _, ok := o.(*networkingv1.NetworkPolicy); ok {
				must(t, c.Create(ctx, o.DeepCopyObject().(client.Object), opts...))
			}
			return c.Create(ctx, o, opts...)
		},
	})
	r.once()
	r.rec.Client = manager
	r.step()
	r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting")
}
