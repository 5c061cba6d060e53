// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/isolation"
	"motorcortex.dev/motorcortex/internal/controller/pool"
	runs "motorcortex.dev/motorcortex/internal/controller/run"
	"motorcortex.dev/motorcortex/internal/sandbox"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// poolRig is a namespace with the pool "warm" and a reconciler of it beside that of runs.
type poolRig struct {
	*rig
	pool  *v1alpha1.SandboxPool
	pools *pool.Reconciler
	// open is true while sandboxes reach what they must not.
	open atomic.Bool
}

// newPoolRig is a poolRig without a run, whose pool has that many sandboxes that wait.
func newPoolRig(t *testing.T, replicas int32, labels ...string) *poolRig {
	t.Helper()
	r := &poolRig{rig: emptyRig(t, labels...)}
	must(t, admin.Create(r.ctx, &v1alpha1.MotorCortex{
		ObjectMeta: meta(r.ns, v1alpha1.CortexName),
		Spec:       v1alpha1.MotorCortexSpec{Concurrency: &v1alpha1.Concurrency{MaxActive: 10}, Sandbox: &v1alpha1.SandboxBounds{Pools: []string{"warm"}}},
	}))
	r.pool = &v1alpha1.SandboxPool{ObjectMeta: meta(r.ns, "warm"), Spec: v1alpha1.SandboxPoolSpec{Replicas: &replicas}}
	must(t, admin.Create(r.ctx, r.pool))
	r.now = r.pool.CreationTimestamp.Add(time.Second)
	r.pools = r.newPools()
	r.rec.Pools = r.pools
	r.fill()
	return r
}

// newPools is a reconciler of pools that has proved nothing yet, as that of a new leader.
func (r *poolRig) newPools() *pool.Reconciler {
	box := r.rec.Config.Sandbox
	return &pool.Reconciler{
		Client: manager, Live: manager, Recorder: r, Now: func() time.Time { return r.now },
		Closer:  &isolation.Policies{Client: manager, Live: manager, Sandbox: box},
		Connect: func(*corev1.Pod) (pool.Prober, error) { return playedProber{&r.open}, nil },
		// These Pods have no nodes.
		Config: pool.Config{Sandbox: box, StartTimeout: startTimeout, IsolationTimeout: time.Minute, WithoutNodes: true},
	}
}

// newLeader is a reconciler of runs beside the first one, with a reconciler of pools of its own.
func (r *poolRig) newLeader(c client.Client, pools *pool.Reconciler) *runs.Reconciler {
	former := r.rec
	return &runs.Reconciler{
		Client: c, Live: c, Recorder: r, Models: former.Models, Config: former.Config, Workers: former.Workers, Now: former.Now, Pools: pools,
	}
}

// playedProber answers as the tool server of a sandbox.
type playedProber struct{ open *atomic.Bool }

func (playedProber) Hello(context.Context) (toolapi.Hello, error) { return toolapi.Hello{}, nil }

func (p playedProber) Probe(context.Context, toolapi.ProbeRequest) (toolapi.ProbeResponse, error) {
	return toolapi.ProbeResponse{Results: []toolapi.ProbeResult{{Name: "API server", Reached: p.open.Load()}}, Confinement: &toolapi.Confinement{}}, nil
}

func (playedProber) Close() {}

// poolPass reconciles the pool.
func (r *poolRig) poolPass(rec *pool.Reconciler) {
	r.t.Helper()
	_, err := rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.pool)})
	must(r.t, err)
	r.now = r.now.Add(100 * time.Millisecond)
}

// fill reconciles the pool until it says that it is full.
func (r *poolRig) fill() {
	r.t.Helper()
	r.fillBy(r.pools)
}

func (r *poolRig) fillBy(rec *pool.Reconciler) {
	r.t.Helper()
	for range 8 {
		r.poolPass(rec)
		for _, pod := range r.waiting() {
			if pod.Status.Phase != corev1.PodRunning {
				running(&pod.Status)
				must(r.t, admin.Status().Update(r.ctx, &pod))
			}
		}
	}
	must(r.t, admin.Get(r.ctx, client.ObjectKeyFromObject(r.pool), r.pool))
	st := r.pool.Status
	if !apimeta.IsStatusConditionTrue(st.Conditions, v1alpha1.PoolReady) || st.ReadyReplicas != *r.pool.Spec.Replicas {
		r.t.Fatalf("the pool is not full: %+v", st)
	}
}

// waiting are the Pods that wait in the pool, by their names.
func (r *poolRig) waiting() []corev1.Pod {
	r.t.Helper()
	var pods corev1.PodList
	must(r.t, admin.List(r.ctx, &pods, client.InNamespace(r.ns), client.MatchingLabels{v1alpha1.LabelPool: r.pool.Name}))
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return sandbox.RunOf(&p) != "" })
}

// waits reports whether a Pod is among those.
func (r *poolRig) waits(pod *corev1.Pod) bool {
	r.t.Helper()
	return slices.ContainsFunc(r.waiting(), func(p corev1.Pod) bool { return p.UID == pod.UID })
}

// ofRun are the names of the Pods of a run.
func (r *poolRig) ofRun(name string) []string {
	r.t.Helper()
	var pods corev1.PodList
	must(r.t, admin.List(r.ctx, &pods, client.InNamespace(r.ns), client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentSandbox}))
	var names []string
	for i := range pods.Items {
		if sandbox.RunOf(&pods.Items[i]) == name {
			names = append(names, pods.Items[i].Name)
		}
	}
	return names
}

// wantTaken fails unless the run's sandbox, its only one, is a Pod that waited.
func (r *poolRig) wantTaken(from []corev1.Pod) *corev1.Pod {
	r.t.Helper()
	sb := r.run().Status.Sandbox
	if sb == nil || sb.PoolName != "warm" {
		r.t.Fatalf("the run has the sandbox %+v, which is none of the pool's", sb)
	}
	i := slices.IndexFunc(from, func(p corev1.Pod) bool { return string(p.UID) == sb.PodUID && p.Name == sb.PodName })
	if i < 0 {
		r.t.Fatalf("the run has the sandbox %+v, which did not wait", sb)
	}
	if names := r.ofRun(r.key.Name); !slices.Equal(names, []string{sb.PodName}) {
		r.t.Errorf("the run has the Pods %q", names)
	}
	return r.podNamed(sb.PodName)
}

// wantCold fails unless the run's sandbox, its only one, is made for it.
func (r *poolRig) wantCold() {
	r.t.Helper()
	sb := r.run().Status.Sandbox
	if sb == nil || sb.PoolName != "" || sb.PodName != r.key.Name+"-motor-sandbox" {
		r.t.Errorf("the run has the sandbox %+v, and not one of its own", sb)
	}
	if names := r.ofRun(r.key.Name); !slices.Equal(names, []string{r.key.Name + "-motor-sandbox"}) {
		r.t.Errorf("the run has the Pods %q", names)
	}
}
