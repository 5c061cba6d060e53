// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/sweep"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

func TestRunTakesASandboxThatWaits(t *testing.T) {
	r := newPoolRig(t, 1)
	waited := r.waiting()
	r.create(admin)
	r.step()
	r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady", "Accepted True Accepted", "IsolationVerified Unknown NotTriedYet")
	pod := r.wantTaken(waited)
	run := r.run()
	if e := run.Status.Execution; e.Worker != "replica-1" || e.Epoch != 1 {
		t.Errorf("the run is placed on %q in epoch %d", e.Worker, e.Epoch)
	}
	if !metav1.IsControlledBy(pod, run) || len(pod.OwnerReferences) != 1 || !maps.Equal(pod.Labels, waited[0].Labels) {
		t.Errorf("the Pod has the owners %+v and the labels %v, and had %v", pod.OwnerReferences, pod.Labels, waited[0].Labels)
	}
	if d := pod.Spec.ActiveDeadlineSeconds; d == nil || *d < int64(run.Spec.Limits.ActiveDeadlineSeconds) {
		t.Errorf("the Pod has the deadline %v, and the run %d", d, run.Spec.Limits.ActiveDeadlineSeconds)
	}
	// The pool replaces it after a while, and leaves it alone.
	r.now = r.now.Add(10 * time.Second)
	r.fill()
	if r.waits(pod) || r.podNamed(pod.Name).DeletionTimestamp != nil {
		t.Error("the pool still counts the Pod that the run has, or deletes it")
	}
	replacement := r.waiting()[0]
	r.said(turnAt(1, "done"))
	r.step()
	r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	r.wantNoPod(pod.Name)
	r.fill()
	if !r.waits(&replacement) {
		t.Error("the sandbox that still waited went with the run")
	}
}

// A sandbox that waits has no way out. It gets that of the run with its label, and the grant is for its address.
func TestTakenSandboxGetsTheWayOutOfItsRun(t *testing.T) {
	r := newPoolRig(t, 1)
	r.proxy()
	waited := r.waiting()
	r.create(admin, reaching("example.org"))
	r.step()
	r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady", "EgressReady True Granted")
	pod := r.wantTaken(waited)
	selector, err := metav1.LabelSelectorAsSelector(&r.route().Spec.PodSelector)
	must(t, err)
	if selector.Matches(labels.Set(waited[0].Labels)) || !selector.Matches(labels.Set(pod.Labels)) {
		t.Errorf("the route is for %s, and the Pod had the labels %v and has %v", selector, waited[0].Labels, pod.Labels)
	}
	if _, g := r.grantOf(); g == nil || g.PodUID != string(pod.UID) || len(g.PodIPs) != 1 || g.PodIPs[0].String() != pod.Status.PodIP {
		t.Errorf("the grant is %+v, and the Pod %s has the address %s", g, pod.UID, pod.Status.PodIP)
	}
}

// What the pool does not have is made.
func TestRunThatThePoolHasNothingForStartsCold(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*poolRig)
		change func(*v1alpha1.MotorRun)
	}{
		"another shape": {change: func(run *v1alpha1.MotorRun) {
			run.Spec.Sandbox = &v1alpha1.RunSandbox{Resources: v1alpha1.SandboxResources{Memory: new(resource.MustParse("3Gi"))}}
		}},
		"no pool named": {before: func(r *poolRig) {
			must(r.t, mergePatch(r.ctx, &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, v1alpha1.CortexName)}, `{"spec":{"sandbox":{"pools":["other"]}}}`))
		}},
		"a new leader that has proved nothing": {before: func(r *poolRig) { r.rec.Pools = r.newPools() }},
		"open since the proof": {before: func(r *poolRig) {
			r.open.Store(true)
			r.now = r.now.Add(time.Minute)
			r.poolPass(r.pools)
		}},
		"started again": {before: func(r *poolRig) {
			pod := r.waiting()[0]
			pod.Status.ContainerStatuses[0].RestartCount = 1
			must(r.t, admin.Status().Update(r.ctx, &pod))
		}},
		"all taken": {before: func(r *poolRig) {
			r.create(admin, named("first"))
			r.step()
			r.wantTaken([]corev1.Pod{*r.podNamed(r.run().Status.Sandbox.PodName)})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPoolRig(t, 1)
			if tt.before != nil {
				tt.before(r)
			}
			r.create(admin, func(run *v1alpha1.MotorRun) {
				if tt.change != nil {
					tt.change(run)
				}
			})
			r.step()
			r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting")
			r.wantCold()
		})
	}
}

// The write of the status that names the Pod may be lost, or the status itself: the run has its Pod all the same.
func TestTakenSandboxIsFoundAgain(t *testing.T) {
	for name, lose := range map[string]func(*poolRig){
		"its status is lost": func(r *poolRig) {
			r.step()
			run := r.run()
			base := run.DeepCopy()
			run.Status = v1alpha1.MotorRunStatus{}
			must(r.t, manager.Status().Patch(r.ctx, run, client.MergeFrom(base)))
		},
		"the leader ends before it writes the status": func(r *poolRig) {
			r.failedPass(interceptor.Funcs{
				SubResourcePatch: func(_ context.Context, _ client.Client, _ string, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
					if sb := o.(*v1alpha1.MotorRun).Status.Sandbox; sb == nil { //nolint:forcetypeassert // A run's pass patches no other status.
						return errors.New("no status names a sandbox yet")
					}
					return errors.New("the connection is cut")
				},
			})
		},
		"the answer to the take is lost": func(r *poolRig) {
			patch := func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if err := c.Patch(ctx, o, p, opts...); err != nil {
					return err
				}
				return errors.New("the connection is cut")
			}
			former := r.pools.Client
			r.pools.Client = interceptor.NewClient(manager, interceptor.Funcs{Patch: patch})
			r.step()
			r.pools.Client = former
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPoolRig(t, 2)
			waited := r.waiting()
			r.create(admin)
			lose(r)
			names := r.ofRun("run")
			if len(names) != 1 || len(r.waiting()) != 1 {
				t.Fatalf("the run has the Pods %q, and %d wait", names, len(r.waiting()))
			}
			r.settle()
			r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady")
			if pod := r.wantTaken(waited); pod.Name != names[0] {
				t.Errorf("the run has the Pod %s, and it had %s", pod.Name, names[0])
			}
			if n := len(r.waiting()); n != 1 {
				t.Errorf("%d sandboxes wait", n)
			}
			r.wantAttempts("First")
		})
	}
}

// failedPass reconciles the run through a client that fails.
func (r *poolRig) failedPass(fails interceptor.Funcs) {
	r.t.Helper()
	leader := r.newLeader(interceptor.NewClient(manager, fails), r.pools)
	if _, err := leader.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key}); err == nil || !strings.Contains(err.Error(), "the connection is cut") {
		r.t.Fatalf("the pass ended with %v", err)
	}
}

// A sandbox counts as closed under the very policy under which that was proved.
func TestSandboxThatWasOpenIsNotTaken(t *testing.T) {
	for name, change := range policyChanges() {
		t.Run(name, func(t *testing.T) {
			r := newPoolRig(t, 1)
			policy := &networkingv1.NetworkPolicy{}
			must(t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: sandbox.BaselineName}, policy))
			change(r.rig, policy)
			r.create(admin)
			r.settle()
			r.wantCold()
			if n := len(r.waiting()); n != 1 {
				t.Errorf("%d sandboxes wait", n)
			}
			// Proved again, it is as good as before.
			waited := r.waiting()
			r.fill()
			r.create(admin, named("second"))
			r.step()
			r.wantTaken(waited)
		})
	}
}

// A sandbox serves one run and one workspace: the attempt after its loss begins in another one.
func TestNextAttemptTakesAnotherSandbox(t *testing.T) {
	for name, lose := range map[string]func(*poolRig){
		"deleted": func(r *poolRig) { must(r.t, admin.Delete(r.ctx, r.pod())) },
		"evicted": func(r *poolRig) {
			r.play(func(st *corev1.PodStatus) { st.Phase, st.Reason = corev1.PodFailed, "Evicted" })
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPoolRig(t, 2)
			waited := r.waiting()
			r.create(admin)
			r.step()
			first := r.wantTaken(waited)
			lose(r)
			r.settle()
			r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady", "IsolationVerified Unknown NotTriedYet")
			second := r.wantTaken(waited)
			if second.UID == first.UID || second.Annotations[v1alpha1.AnnotationAttempt] != "2" {
				t.Errorf("the second attempt has the Pod %s of the attempt %q, and the first had %s", second.Name, second.Annotations[v1alpha1.AnnotationAttempt], first.Name)
			}
			r.wantNoPod(first.Name)
			// Nothing waits any more, so the third one is made.
			must(t, admin.Delete(r.ctx, second))
			r.settle()
			r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting")
			sb := r.run().Status.Sandbox
			if sb.PoolName != "" || sb.PodName != sandbox.PodName(r.run(), 3) {
				t.Errorf("the third attempt has %+v", sb)
			}
		})
	}
}

// Nobody else looks after a Pod that has left its pool.
func TestTakenSandboxGoesWithItsRun(t *testing.T) {
	for name, end := range map[string]func(*poolRig){
		"completed": func(r *poolRig) {
			r.said(turnAt(1, "done"))
			r.step()
			r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
		},
		"cancelled": func(r *poolRig) {
			r.patchSpec(`{"cancel":true}`)
			r.settle()
			r.wantEnd(v1alpha1.PhaseCancelled, "Cancelled")
		},
		"being deleted": func(r *poolRig) {
			r.deleteHeld()
			r.step()
			r.letGo()
		},
		"cancelled, its status without the sandbox": func(r *poolRig) {
			run := r.run()
			base := run.DeepCopy()
			run.Status.Sandbox = nil
			must(r.t, manager.Status().Patch(r.ctx, run, client.MergeFrom(base)))
			r.patchSpec(`{"cancel":true}`)
			r.settle()
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newPoolRig(t, 2)
			waited := r.waiting()
			r.create(admin)
			r.step()
			pod := r.wantTaken(waited)
			end(r)
			r.wantNoPod(pod.Name)
			if n := len(r.waiting()); n != 1 {
				t.Errorf("%d sandboxes wait, and one was not taken", n)
			}
		})
	}
}

// A sandbox that waits belongs to no run, and is no orphan for that.
func TestSandboxWithoutAPoolIsRemoved(t *testing.T) {
	r := newPoolRig(t, 2)
	r.create(admin)
	r.step()
	taken := r.wantTaken([]corev1.Pod{*r.pod()})
	sweeper := &sweep.Sweeper{Client: within{manager, r.ns}, Live: manager, Namespace: managerNamespace}
	must(t, sweeper.Sweep(r.ctx))
	if n := len(r.waiting()); n != 1 || r.podNamed(taken.Name) == nil {
		t.Fatalf("%d sandboxes wait beside that of the run, %v", n, r.podNamed(taken.Name))
	}
	// There is no garbage collector here, which would delete it with the pool.
	must(t, admin.Delete(r.ctx, r.pool))
	must(t, sweeper.Sweep(r.ctx))
	if left := r.waiting(); len(left) != 0 {
		t.Errorf("the sandboxes of a pool that is gone stay: %d", len(left))
	}
	if r.podNamed(taken.Name) == nil {
		t.Error("the sandbox of a run went with the pool that it was from")
	}
}

// The former leader may still be in a pass while the new one takes the same Pod. The API server lets one of them have it, with and without the policies.
func TestTwoLeadersTakeOneSandbox(t *testing.T) {
	for name, labels := range map[string][]string{"": nil, "without policies": {withoutChecks, "true"}} {
		t.Run(name, func(t *testing.T) {
			r := newPoolRig(t, 1, labels...)
			waited := r.waiting()
			r.create(admin, named("second"))
			r.create(admin, named("first"))
			r.overtaken("second")
			r.wantCold()
			r.key.Name = "second"
			pod := r.wantTaken(waited)
			if !metav1.IsControlledBy(pod, r.run()) {
				t.Errorf("the Pod has the owners %+v", pod.OwnerReferences)
			}
		})
	}
}

// A former leader finds that the run has the Pod already.
func TestTwoLeadersTakeSandboxesForOneRun(t *testing.T) {
	r := newPoolRig(t, 2)
	r.create(admin)
	r.overtaken("run")
	sb := r.run().Status.Sandbox
	if names := r.ofRun("run"); len(names) != 1 || sb == nil || sb.PoolName != "warm" {
		t.Fatalf("the run has the Pods %q, and the sandbox %+v", names, sb)
	}
	r.settle()
	if now := r.run().Status.Sandbox; now.PodUID != sb.PodUID {
		t.Errorf("the run had the sandbox %+v, and has %+v", sb, now)
	}
	r.said(turnAt(1, "done"))
	r.settle()
	r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	if names := r.ofRun("run"); len(names) != 0 {
		t.Errorf("the Pods %q are left", names)
	}
}

// overtaken has the leader carry out a pass over the run. Just before it takes a sandbox, a new leader carries out one over the run of that name.
func (r *poolRig) overtaken(name string) {
	r.t.Helper()
	next, tried := r.newPools(), 0
	waited := r.waiting()
	r.fillBy(next)
	if !r.waits(&waited[0]) {
		r.t.Fatal("the new leader does not keep the sandboxes that waited")
	}
	leader := r.newLeader(manager, next)
	former := r.pools.Client
	r.pools.Client = interceptor.NewClient(manager, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if tried++; tried == 1 {
				if _, err := leader.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: r.ns, Name: name}}); err != nil {
					return err
				}
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	r.once()
	r.pools.Client = former
	if tried == 0 {
		r.t.Fatal("the former leader tried to take nothing")
	}
}
