// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// neighbour is another run of the rig's namespace, with the condition Accepted.
func (r *rig) neighbour(name string, status metav1.ConditionStatus, reason string, change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	r.t.Helper()
	run := createRun(r.ctx, r.t, r.ns, append(change, func(run *v1alpha1.MotorRun) { run.Name = name })...)
	base := run.DeepCopy()
	apimeta.SetStatusCondition(&run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: status, Reason: reason})
	must(r.t, manager.Status().Patch(r.ctx, run, client.MergeFrom(base)))
	return run
}

func (r *rig) bound(maxActive int32, whenBusy v1alpha1.WhenBusy) {
	r.t.Helper()
	must(r.t, admin.Create(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName), Spec: concurrency(maxActive, whenBusy)}))
}

func TestQueuedRun(t *testing.T) {
	r := newRig(t)
	r.bound(2, v1alpha1.BusyQueue)
	first := r.neighbour("holder-a", metav1.ConditionTrue, v1alpha1.ReasonAccepted)
	r.neighbour("holder-b", metav1.ConditionTrue, v1alpha1.ReasonAccepted)
	if res := r.step(); res.RequeueAfter <= 0 || res.RequeueAfter > 6*time.Second {
		t.Errorf("looks again after %s", res.RequeueAfter)
	}
	r.want(v1alpha1.PhaseCreated, "Accepted False Queued", "Finished False Running", "Reconciling True Running", "Stalled ", "SandboxReady ")
	run := r.run()
	if !strings.Contains(run.Status.Message, "the run holder-a") || r.pod() != nil {
		t.Errorf("message %q, Pod %v", run.Status.Message, r.pod())
	}
	if !slices.Contains(r.events, "Normal Queued") {
		t.Errorf("events %v", r.events)
	}

	// Who is named stays named while it holds its place.
	r.neighbour("a-holder-more", metav1.ConditionTrue, v1alpha1.ReasonAccepted)
	r.step()
	if m := r.run().Status.Message; m != run.Status.Message {
		t.Errorf("message %q, was %q", m, run.Status.Message)
	}
	must(t, admin.Delete(r.ctx, first))
	r.step()
	if m := r.run().Status.Message; strings.Contains(m, "holder-a.") || !strings.Contains(m, "holder") {
		t.Errorf("message %q", m)
	}
	r.patchSpec(`{"cancel":true}`)
	r.step()
	r.wantEnd(v1alpha1.PhaseCancelled, "Cancelled")
}

func TestRunThatIsRejected(t *testing.T) {
	r := newRig(t)
	r.bound(1, v1alpha1.BusyReject)
	holder := r.neighbour("holder", metav1.ConditionTrue, v1alpha1.ReasonAccepted)
	holder.Spec.Suspend = true
	must(t, admin.Update(r.ctx, holder))
	r.step()
	r.want(v1alpha1.PhaseFailed, "Accepted False Busy", "Stalled True Busy")
	run := r.wantEnd(v1alpha1.PhaseFailed, "Busy")
	if m := run.Status.Message; !strings.Contains(m, "is busy: run holder") {
		t.Errorf("message %q", m)
	}
	if f := failureAt(t, run, 1); !f.Retryable || f.Category != v1alpha1.CategoryBudgetExhausted {
		t.Errorf("failure %+v", f)
	}
	if r.pod() != nil {
		t.Error("there is a sandbox")
	}
}

// A run that cannot begin keeps nobody waiting, and one that is suspended before it begins does not stand in the queue.
func TestWhoCannotBeginBlocksNobody(t *testing.T) {
	r := newRig(t)
	r.bound(1, v1alpha1.BusyQueue)
	first := priority(9)
	r.neighbour("lacking", metav1.ConditionFalse, v1alpha1.ReasonInputFileNotFound, first)
	r.neighbour("suspended", metav1.ConditionFalse, v1alpha1.ReasonQueued, first, func(run *v1alpha1.MotorRun) { run.Spec.Suspend = true })
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
}

func TestSuspendedRunIsNotAdmitted(t *testing.T) {
	r := newRig(t, func(run *v1alpha1.MotorRun) { run.Spec.Suspend = true })
	r.bound(1, v1alpha1.BusyQueue)
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted ")
	r.neighbour("holder", metav1.ConditionTrue, v1alpha1.ReasonAccepted)
	r.patchSpec(`{"suspend":false}`)
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted False Queued")
}

// An accepted run stays so, whatever the bound is later.
func TestBoundThatCameLater(t *testing.T) {
	r := newRig(t)
	r.step()
	r.neighbour("holder", metav1.ConditionTrue, v1alpha1.ReasonAccepted)
	r.bound(1, v1alpha1.BusyReject)
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted", "SandboxReady False SandboxStarting")
}

// The cache shows a free place that was taken meanwhile.
func TestCacheThatShowsAFreePlace(t *testing.T) {
	for whenBusy, want := range map[v1alpha1.WhenBusy]string{v1alpha1.BusyQueue: "Accepted False Queued", v1alpha1.BusyReject: "Accepted False Busy"} {
		t.Run(string(whenBusy), func(t *testing.T) {
			r := newRig(t)
			r.bound(1, whenBusy)
			r.rec.Client = withoutNeighbours(r.key.Name)
			r.neighbour("holder", metav1.ConditionTrue, v1alpha1.ReasonAccepted)
			r.step()
			if got := r.conditions()["Accepted"]; "Accepted "+got != want {
				t.Errorf("Accepted %s, want %s", got, want)
			}
		})
	}
}

// The cache does not have the MotorCortex yet that came with the runs.
func TestCacheWithoutTheBound(t *testing.T) {
	r := newRig(t)
	r.bound(1, v1alpha1.BusyQueue)
	r.neighbour("holder", metav1.ConditionTrue, v1alpha1.ReasonAccepted)
	r.lag(func(o client.Object) bool { _, ok := o.(*v1alpha1.MotorCortex); return ok })
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted False Queued")
}

// The first run that a new leader looks at is not the one whose turn it is.
func TestQueueThatCameWhileNobodyLooked(t *testing.T) {
	r := newRig(t)
	r.bound(1, v1alpha1.BusyQueue)
	urgent := createRun(r.ctx, t, r.ns, priority(9), func(run *v1alpha1.MotorRun) { run.Name = "urgent" })
	r.now = r.now.Add(time.Minute)
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted False Queued")
	r.key = client.ObjectKeyFromObject(urgent)
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
}

// looked has the reconciler look at a run, which goes again.
func (r *rig) looked() {
	r.t.Helper()
	run := createRun(r.ctx, r.t, r.ns, func(run *v1alpha1.MotorRun) { run.Name = "earlier" })
	_, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(run)})
	must(r.t, err)
	must(r.t, admin.Delete(r.ctx, run))
}

// Two runs find the only place free at the same time. The second one is looked at before the first one's status is written.
func TestTwoRunsAskForTheSamePlace(t *testing.T) {
	r := newRig(t)
	r.looked()
	r.bound(1, v1alpha1.BusyQueue)
	second := createRun(r.ctx, t, r.ns, func(run *v1alpha1.MotorRun) { run.Name = "second" })
	// Nobody has looked at them for so long that neither keeps its turn any more.
	r.now = r.now.Add(time.Minute)
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if o.GetName() == r.key.Name {
				_, err := r.rec.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(second)})
				must(t, err)
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	r.once()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
	r.key = client.ObjectKeyFromObject(second)
	r.want(v1alpha1.PhaseCreated, "Accepted False Queued")
}

// The status of a run that has its slot could not be written, and the run is gone by then.
func TestSlotOfARunThatIsGone(t *testing.T) {
	r := newRig(t)
	r.bound(1, v1alpha1.BusyQueue)
	second := createRun(r.ctx, t, r.ns, func(run *v1alpha1.MotorRun) { run.Name = "second" })
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
			return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), nil)
		},
	})
	r.once()
	r.rec.Client = manager
	must(t, admin.Delete(r.ctx, r.run()))
	r.key = client.ObjectKeyFromObject(second)
	r.once()
	r.want(v1alpha1.PhaseCreated, "Accepted False Queued")
	r.now = r.now.Add(10 * time.Second)
	r.once()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
}

// The cache shows a holder that has ended meanwhile: nobody is rejected for it.
func TestCacheThatShowsAHolderThatHasEnded(t *testing.T) {
	r := newRig(t)
	r.bound(1, v1alpha1.BusyReject)
	holder := r.neighbour("holder", metav1.ConditionTrue, v1alpha1.ReasonAccepted)
	r.rec.Client = withRun(holder.DeepCopy())
	must(t, admin.Delete(r.ctx, holder))
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted")
}

// withoutNeighbours is a cache that has seen no run but one.
func withoutNeighbours(name string) client.Client {
	return listed(func(runs *v1alpha1.MotorRunList) {
		runs.Items = slices.DeleteFunc(runs.Items, func(run v1alpha1.MotorRun) bool { return run.Name != name })
	})
}

// withRun is a cache that shows a run too that is gone.
func withRun(run *v1alpha1.MotorRun) client.Client {
	return listed(func(runs *v1alpha1.MotorRunList) { runs.Items = append(runs.Items, *run) })
}

// listed is a cache that shows other runs of a namespace than there are.
func listed(change func(*v1alpha1.MotorRunList)) client.Client {
	return interceptor.NewClient(manager, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if runs, ok := list.(*v1alpha1.MotorRunList); ok {
				change(runs)
			}
			return err
		},
	})
}
