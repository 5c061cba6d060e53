// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/isolation"
	"motorcortex.dev/motorcortex/internal/controller/pool"
	runs "motorcortex.dev/motorcortex/internal/controller/run"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

const (
	// pooledSandboxes is how many sandboxes wait in the pool of a chaosRig.
	pooledSandboxes = 2
	// poolShowPause is how long the status of that pool may wait to show that one was taken.
	poolShowPause = 5 * time.Second
)

// setupPools gives the manager the reconciler of pools.
func (r *chaosRig) setupPools(mgr ctrl.Manager, rec *runs.Reconciler, recorder events.EventRecorder) {
	r.t.Helper()
	box := rec.Config.Sandbox
	*r.pools = pool.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: recorder, Now: time.Now,
		Closer:  &isolation.Policies{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Sandbox: box},
		Connect: func(*corev1.Pod) (pool.Prober, error) { return playedProber{&atomic.Bool{}}, nil },
		// These Pods have no nodes.
		Config: pool.Config{Sandbox: box, StartTimeout: time.Hour, IsolationTimeout: time.Hour, WithoutNodes: true, ShowPause: poolShowPause},
	}
	must(r.t, r.pools.SetupWithManager(mgr))
	rec.Pools = r.pools
}

// fillPool makes a pool that the namespace names, and waits until it is full.
func (r *chaosRig) fillPool(ns, pin string) {
	r.t.Helper()
	must(r.t, admin.Create(r.ctx, &v1alpha1.MotorCortex{
		ObjectMeta: meta(ns, v1alpha1.CortexName),
		Spec:       v1alpha1.MotorCortexSpec{Concurrency: &v1alpha1.Concurrency{MaxActive: 10}, Sandbox: &v1alpha1.SandboxBounds{Pools: []string{"warm"}}},
	}))
	warm := &v1alpha1.SandboxPool{ObjectMeta: meta(ns, "warm"), Spec: v1alpha1.SandboxPoolSpec{Replicas: new(int32(pooledSandboxes))}}
	must(r.t, admin.Create(r.ctx, warm))
	r.waitFor(func() bool { return len(r.pooled(ns)) == pooledSandboxes })
	for _, pod := range r.pooled(ns) {
		r.ip = sandboxAddress(r.t)
		r.startPod(&pod, pin)
	}
	r.ip = sandboxAddress(r.t) // That of a run's own sandbox.
	r.waitFor(func() bool {
		must(r.t, admin.Get(r.ctx, client.ObjectKeyFromObject(warm), warm))
		return apimeta.IsStatusConditionTrue(warm.Status.Conditions, v1alpha1.PoolReady)
	})
}

// pooled are the Pods that wait in the pool.
func (r *chaosRig) pooled(ns string) []corev1.Pod {
	r.t.Helper()
	var pods corev1.PodList
	must(r.t, admin.List(r.ctx, &pods, client.InNamespace(ns), client.MatchingLabels{v1alpha1.LabelPool: "warm"}))
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return sandbox.RunOf(&p) != "" })
}

// refill waits until the pool has made a sandbox in the place of the one that was taken, and says that it runs.
func (r *chaosRig) refill() {
	r.t.Helper()
	r.waitFor(func() bool { return len(r.pooled(r.run.Namespace)) == pooledSandboxes })
	for _, pod := range r.pooled(r.run.Namespace) {
		if pod.Status.Phase != corev1.PodRunning {
			running(&pod.Status)
			must(r.t, admin.Status().Update(r.ctx, &pod))
		}
	}
}
