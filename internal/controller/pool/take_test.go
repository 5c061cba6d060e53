// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// aRun returns a run that needs a sandbox of the usual shape.
func aRun(name string) *v1alpha1.MotorRun {
	return &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name + "-uid")},
		Spec:       v1alpha1.MotorRunSpec{Limits: v1alpha1.RunLimits{ActiveDeadlineSeconds: 600}},
	}
}

// wanted returns what a run of that name wants from these pools.
func wanted(run *v1alpha1.MotorRun, pools ...string) Wanted {
	return Wanted{Run: run, Pools: pools, Pod: sandbox.Pod(run, aConfig), Baseline: "b/1"}
}

// waiting returns a sandbox that waits in a pool, of that age at noon. Its UID is its name in the pool.
func waiting(pool, name string, age time.Duration) *corev1.Pod {
	pod := sandbox.Pooled(&v1alpha1.SandboxPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: pool, UID: types.UID(pool + "-uid")}}, name, aConfig)
	pod.UID, pod.CreationTimestamp, pod.Spec.NodeName = types.UID(name), metav1.NewTime(noon.Add(-age)), "node"
	return runs(pod)
}

// offering returns a rig with these sandboxes, all of them proved.
func offering(t *testing.T, pods ...*corev1.Pod) *rig {
	t.Helper()
	var objects []client.Object
	for _, pod := range pods {
		objects = append(objects, pod)
	}
	r := newRig(t, 1, objects...)
	for _, pod := range pods {
		r.r.memory.knows(pod.UID, "b/1")
	}
	return r
}

// take returns the UID of the Pod that a run got.
func (r *rig) take(w Wanted) string {
	r.t.Helper()
	pod, err := r.r.Take(r.t.Context(), w)
	r.must(err)
	if pod == nil {
		return ""
	}
	return string(pod.UID)
}

func TestTake(t *testing.T) {
	t.Parallel()
	const m = time.Minute
	both := []string{"pool", "other"}
	for name, tt := range map[string]struct {
		pods   []*corev1.Pod
		pools  []string
		change func(*rig, *Wanted)
		want   string
	}{
		"the oldest one first":                   {pods: []*corev1.Pod{waiting("pool", "b", m), waiting("pool", "a", 3*m), waiting("pool", "c", 2*m)}, want: "a"},
		"the pools in their order":               {pods: []*corev1.Pod{waiting("pool", "b", m), waiting("other", "a", 3*m)}, pools: both, want: "b"},
		"another pool if the first is not ready": {pods: []*corev1.Pod{waitingFor("x", m, func(p *corev1.Pod) { p.Status = corev1.PodStatus{} }), waiting("other", "a", 3*m)}, pools: both, want: "a"},
		"a pool that is not named":               {pods: []*corev1.Pod{waiting("third", "a", 3*m)}, pools: both},
		"no pool is named":                       {pods: []*corev1.Pod{waiting("pool", "a", m)}, pools: []string{}},
		"no pool of another namespace": {pods: []*corev1.Pod{waiting("pool", "a", m)}, change: func(_ *rig, w *Wanted) {
			w.Run.Namespace = "another"
		}},
		"another shape": {pods: []*corev1.Pod{waiting("pool", "a", m)}, change: func(_ *rig, w *Wanted) {
			w.Run.Spec.Sandbox = &v1alpha1.RunSandbox{Resources: v1alpha1.SandboxResources{Memory: new(resource.MustParse("2Gi"))}}
			w.Pod = sandbox.Pod(w.Run, aConfig)
		}},
		"one that does not run": {pods: []*corev1.Pod{waitingFor("a", m, func(p *corev1.Pod) { p.Status = corev1.PodStatus{} })}},
		"one that was restarted": {pods: []*corev1.Pod{waitingFor("a", m, func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].RestartCount = 1
		}), waiting("pool", "b", 0)}, want: "b"},
		"one that ended": {pods: []*corev1.Pod{waitingFor("a", m, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })}},
		"one that is being deleted": {pods: []*corev1.Pod{waitingFor("a", m, func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Finalizers = new(metav1.NewTime(noon)), []string{"example.org/slow"}
		})}},
		"one without its owner": {pods: []*corev1.Pod{waitingFor("a", m, func(p *corev1.Pod) { p.OwnerReferences = nil })}},
		"one of a run": {pods: []*corev1.Pod{waitingFor("a", m, func(p *corev1.Pod) {
			p.Labels[v1alpha1.LabelRun] = "another"
		})}},
		"a cordoned node": {pods: []*corev1.Pod{waiting("pool", "a", m)}, change: func(r *rig, _ *Wanted) { r.cordon() }},
		"a cordoned node that the manager may not read": {pods: []*corev1.Pod{waiting("pool", "a", m)}, change: func(r *rig, _ *Wanted) {
			r.cordon()
			r.r.Config.WithoutNodes = true
		}, want: "a"},
		"a node that is gone": {pods: []*corev1.Pod{waiting("pool", "a", m)}, change: func(r *rig, _ *Wanted) {
			r.must(r.server.Delete(r.t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}))
		}, want: "a"},
		"it is not proved": {pods: []*corev1.Pod{waiting("pool", "a", 2*m), waiting("pool", "b", m)}, change: func(r *rig, _ *Wanted) {
			r.r.memory.byPod["a"].proved = false
		}, want: "b"},
		"another closing policy": {pods: []*corev1.Pod{waiting("pool", "a", m)}, change: func(_ *rig, w *Wanted) { w.Baseline = "b/2" }},
		"no closing policy":      {pods: []*corev1.Pod{waiting("pool", "a", m)}, change: func(_ *rig, w *Wanted) { w.Baseline = "" }},
		"another run has it": {pods: []*corev1.Pod{waiting("pool", "a", 2*m), waiting("pool", "b", m)}, change: func(r *rig, _ *Wanted) {
			r.r.memory.claim("a", "another", "b/1", noon)
		}, want: "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, w := offering(t, tt.pods...), wanted(aRun("run"), "pool")
			if tt.pools != nil {
				w.Pools = tt.pools
			}
			if tt.change != nil {
				tt.change(r, &w)
			}
			if got := r.take(w); got != tt.want {
				t.Errorf("took %q, want %q", got, tt.want)
			}
			for _, pod := range r.pods() {
				if owned := metav1.IsControlledBy(pod, w.Run); owned != (string(pod.UID) == tt.want) {
					t.Errorf("%s belongs to the run: %t", pod.UID, owned)
				}
			}
		})
	}
}

// waitingFor returns a changed sandbox of the pool.
func waitingFor(name string, age time.Duration, change func(*corev1.Pod)) *corev1.Pod {
	pod := waiting("pool", name, age)
	change(pod)
	return pod
}

// cordon keeps new Pods from the node.
func (r *rig) cordon() {
	r.t.Helper()
	node := &corev1.Node{}
	r.must(r.server.Get(r.t.Context(), client.ObjectKey{Name: "node"}, node))
	node.Spec.Unschedulable = true
	r.must(r.server.Update(r.t.Context(), node))
}

// The API server has what the rest of the operator goes by: whose the Pod is, for which attempt, and until when it may run.
func TestATakenPodIsThatOfTheRun(t *testing.T) {
	t.Parallel()
	for name, wayOut := range map[string]bool{"that has a way out": true, "that is closed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			takeFor(t, wayOut)
		})
	}
}

func takeFor(t *testing.T, wayOut bool) {
	t.Helper()
	pod := waiting("pool", "a", time.Hour)
	pod.Labels["topology.kubernetes.io/zone"] = "z1"
	pod.Status.StartTime = new(metav1.NewTime(noon.Add(-time.Hour)))
	r, run := offering(t, pod), aRun("run")
	run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}, {Index: 2}}
	w := wanted(run, "pool")
	w.WayOut = wayOut
	labels := map[string]string{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox, v1alpha1.LabelPool: "pool", "topology.kubernetes.io/zone": "z1"}
	if wayOut {
		delete(labels, v1alpha1.LabelPool)
		labels[v1alpha1.LabelRun] = "run"
	}
	taken, err := r.r.Take(t.Context(), w)
	r.must(err)
	stored := r.pods()[0]
	for from, p := range map[string]*corev1.Pod{"returned": taken, "stored": stored} {
		if !metav1.IsControlledBy(p, run) || len(p.OwnerReferences) != 1 || !sandbox.Same(p, w.Pod) || sandbox.PoolName(p) != "pool" || sandbox.AttemptOf(p, run) != 2 {
			t.Errorf("%s: owners %+v, annotations %v", from, p.OwnerReferences, p.Annotations)
		}
		if _, waits := sandbox.PoolOf(p); waits || !maps.Equal(p.Labels, labels) {
			t.Errorf("%s: labels %v", from, p.Labels)
		}
		if p.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] != "false" {
			t.Errorf("%s: an autoscaler may move it: %v", from, p.Annotations)
		}
		if got, want := *p.Spec.ActiveDeadlineSeconds, *w.Pod.Spec.ActiveDeadlineSeconds+3600; got != want {
			t.Errorf("%s: it may run for %d s, want %d s", from, got, want)
		}
	}
	if got := r.take(wanted(aRun("next"), "pool")); got != "" {
		t.Errorf("the next run took %s too", got)
	}
}

// A run whose write fails starts with a new sandbox, or with another one of the pool. After an answer that is no conflict the pool says so, and offers
// none for a while.
func TestTakeWhenTheWriteFails(t *testing.T) {
	t.Parallel()
	podsOf := schema.GroupResource{Resource: "pods"}
	for name, tt := range map[string]struct {
		err error
		// carried is true if the write is carried out all the same, want is what the run gets, and next what another one gets then.
		carried    bool
		want, next string
		refused    bool
	}{
		"another writer was faster":       {apierrors.NewConflict(podsOf, "x", errors.New("changed")), false, "a", "b", false},
		"it is gone":                      {apierrors.NewNotFound(podsOf, "x"), false, "b", "a", false},
		"a policy is in the way":          {apierrors.NewForbidden(podsOf, "x", errors.New("no")), false, "", "", true},
		"it would be invalid":             {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x", nil), false, "", "", true},
		"the connection broke":            {errors.New("connection reset by peer"), false, "", "", true},
		"the API server is slow":          {apierrors.NewTimeoutError("slow", 1), false, "", "", true},
		"the answer is lost":              {errors.New("connection reset by peer"), true, "a", "b", false},
		"the answer is a conflict by now": {apierrors.NewConflict(podsOf, "x", errors.New("changed")), true, "a", "b", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := offering(t, waiting("pool", "a", 2*time.Minute), waiting("pool", "b", time.Minute))
			failed := false
			r.r.Client = interceptor.NewClient(r.server, interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
					if failed || o.GetUID() != "a" {
						return c.Patch(ctx, o, patch, opts...)
					}
					failed = true
					if tt.carried {
						r.must(c.Patch(ctx, o, patch, opts...))
					}
					return tt.err
				},
			})
			run := wanted(aRun("run"), "pool")
			if got := r.take(run); got != tt.want {
				t.Fatalf("got %q, want %q", got, tt.want)
			}
			if got := r.take(wanted(aRun("another"), "pool")); got != tt.next {
				t.Errorf("another run got %q, want %q", got, tt.next)
			}
			if f := r.r.memory.refused(aPool, noon); (f != nil) != tt.refused {
				t.Errorf("the pool says %v", f)
			}
			if !tt.refused {
				return
			}
			r.now = r.now.Add(refusedPause)
			if got := r.take(run); got != "a" {
				t.Errorf("later the run got %q", got)
			}
		})
	}
}

// The status of the pass that took a sandbox was not written, and the cache does not show the Pod as the run's yet.
func TestTakeAgainBehindTheCache(t *testing.T) {
	t.Parallel()
	r := offering(t, waiting("pool", "a", 2*time.Minute), waiting("pool", "b", time.Minute))
	run := wanted(aRun("run"), "pool")
	var cache corev1.PodList
	r.must(r.server.List(t.Context(), &cache))
	if got := r.take(run); got != "a" {
		t.Fatalf("at first it got %q", got)
	}
	r.r.Client = interceptor.NewClient(r.server, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			cache.DeepCopyInto(list.(*corev1.PodList))
			return nil
		},
	})
	for range 3 {
		if got := r.take(run); got != "a" {
			t.Errorf("then it got %q", got)
		}
	}
}

// The write may be carried out on a Pod that is about to go, or on another one of its name.
func TestTakeLooksAtTheAnswer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(client.Object){
		"it is being deleted": func(o client.Object) { o.SetDeletionTimestamp(new(metav1.NewTime(noon))) },
		"it is another one":   func(o client.Object) { o.SetUID("another") },
	} {
		r := offering(t, waiting("pool", "a", time.Minute))
		r.r.Client = interceptor.NewClient(r.server, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				err := c.Patch(ctx, o, patch, opts...)
				change(o)
				return err
			},
		})
		if got := r.take(wanted(aRun("run"), "pool")); got != "" {
			t.Errorf("%s: took %s", name, got)
		}
	}
}

func TestTakeWithoutAList(t *testing.T) {
	t.Parallel()
	r, away := offering(t), errors.New("away")
	r.r.Client = interceptor.NewClient(r.server, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return away },
	})
	if pod, err := r.r.Take(t.Context(), wanted(aRun("run"), "pool")); pod != nil || !errors.Is(err, away) {
		t.Errorf("%v, %v", pod, err)
	}
}

// Two runs never have the same sandbox: in one process by its memory, in two leaders by the version of the Pod.
func TestOneOfManyRunsGetsASandbox(t *testing.T) {
	t.Parallel()
	const runs = 8
	for name, leaders := range map[string]int{"of one leader": 1, "of several": runs} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := offering(t, waiting("pool", "a", time.Minute))
			// All of them have read the Pod before the first one writes.
			var read, done sync.WaitGroup
			read.Add(runs)
			slow := interceptor.NewClient(r.server, interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					err := c.List(ctx, list, opts...)
					read.Done()
					read.Wait()
					return err
				},
			})
			processes := make([]*Reconciler, leaders)
			for i := range processes {
				processes[i] = r.reconciler()
				processes[i].Client = slow
				processes[i].memory.knows("a", "b/1")
			}
			got := make([]*corev1.Pod, runs)
			errs := make([]error, runs)
			for i := range runs {
				done.Go(func() {
					got[i], errs[i] = processes[i%leaders].Take(t.Context(), wanted(aRun("run-"+strconv.Itoa(i)), "pool"))
				})
			}
			done.Wait()
			r.must(errors.Join(errs...))
			has := slices.IndexFunc(got, func(p *corev1.Pod) bool { return p != nil })
			if has < 0 || slices.ContainsFunc(got[has+1:], func(p *corev1.Pod) bool { return p != nil }) {
				t.Fatalf("not one run has it: %v", got)
			}
			if owner := metav1.GetControllerOf(r.pods()[0]); owner.Name != "run-"+strconv.Itoa(has) {
				t.Errorf("run-%d got it, and it belongs to %s", has, owner.Name)
			}
		})
	}
}
