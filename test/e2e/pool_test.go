// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// pooledNamespace makes a namespace with a pool, and waits until the pool is full.
func pooledNamespace(t *testing.T, purpose string, replicas int32) (ns string, pool *v1alpha1.SandboxPool) {
	t.Helper()
	pool = newPool(t, purpose, replicas)
	return pool.Namespace, awaitPool(t, pool, v1alpha1.ReasonPoolFull)
}

// newPool makes a namespace with a pool.
func newPool(t *testing.T, purpose string, replicas int32) *v1alpha1.SandboxPool {
	t.Helper()
	ns := newNamespace(t, purpose)
	must(t, suite.client.Create(t.Context(), &v1alpha1.MotorCortex{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: v1alpha1.CortexName},
		Spec: v1alpha1.MotorCortexSpec{
			Models:      v1alpha1.ModelSet{Default: &v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}},
			Concurrency: &v1alpha1.Concurrency{MaxActive: 100},
			Sandbox:     &v1alpha1.SandboxBounds{Pools: []string{"warm"}},
		},
	}))
	pool := &v1alpha1.SandboxPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "warm"}, Spec: v1alpha1.SandboxPoolSpec{Replicas: &replicas}}
	must(t, suite.client.Create(t.Context(), pool))
	// Its sandboxes are those of no run, and go with it.
	t.Cleanup(func() {
		if err := suite.client.Delete(context.WithoutCancel(t.Context()), pool); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete the pool: %v", err)
		}
	})
	return pool
}

// awaitPool waits until the condition of a pool has that reason.
func awaitPool(t *testing.T, pool *v1alpha1.SandboxPool, reason string) *v1alpha1.SandboxPool {
	t.Helper()
	key, now := client.ObjectKeyFromObject(pool), &v1alpha1.SandboxPool{}
	err := await(t.Context(), soon, &v1alpha1.SandboxPoolList{}, one(key), func(ctx context.Context) (bool, error) {
		now = &v1alpha1.SandboxPool{}
		if err := suite.client.Get(ctx, key, now); err != nil {
			return false, err
		}
		c := apimeta.FindStatusCondition(now.Status.Conditions, v1alpha1.PoolReady)
		return c != nil && c.Reason == reason && c.ObservedGeneration == now.Generation, nil
	})
	if err != nil {
		t.Fatalf("the pool does not come to %s: %v; it is %+v", reason, err, now.Status)
	}
	return now
}

// pooled returns the UIDs of the Pods that wait in a pool, by their names.
func pooled(t *testing.T, pool *v1alpha1.SandboxPool) map[string]string {
	t.Helper()
	var pods corev1.PodList
	must(t, suite.client.List(t.Context(), &pods, client.InNamespace(pool.Namespace), client.MatchingLabels{v1alpha1.LabelPool: pool.Name}))
	found := map[string]string{}
	for i := range pods.Items {
		if sandbox.RunOf(&pods.Items[i]) == "" {
			found[pods.Items[i].Name] = string(pods.Items[i].UID)
		}
	}
	return found
}

func TestRunsTakeSandboxesFromAPool(t *testing.T) {
	t.Parallel()
	ns, pool := pooledNamespace(t, "pool", 2)
	waiting := pooled(t, pool)
	if len(waiting) != 2 || pool.Status.ReadyReplicas != 2 || pool.Status.Replicas != 2 {
		t.Fatalf("the pool has %v, and says %+v", waiting, pool.Status)
	}
	var held []*v1alpha1.MotorRun
	for range 2 {
		held = append(held, startRun(t, "ask-between", inNamespace(ns)))
	}
	for _, run := range held {
		asked := awaitQuestion(t, run)
		sb := asked.Status.Sandbox
		if sb.PoolName != "warm" || waiting[sb.PodName] != sb.PodUID {
			t.Errorf("the run %s has the sandbox %+v, and the pool had %v", run.Name, sb, waiting)
		}
		delete(waiting, sb.PodName)
		wantCondition(t, asked, v1alpha1.ConditionIsolationVerified, metav1.ConditionTrue, v1alpha1.ReasonIsolationVerified)
		respond(t, run, asked.Status.Pending().ID, "after")
	}
	for _, run := range held {
		done := wantCompleted(t, run, soon)
		if done.Status.Result.Summary != "before\nafter" {
			t.Errorf("the run says %q", done.Status.Result.Summary)
		}
		wantWholeJournal(t, done)
		podIsGone(t, done, soon)
	}
	pool = awaitPool(t, pool, v1alpha1.ReasonPoolFull)
	for name := range pooled(t, pool) {
		for _, run := range held {
			if sandboxOf(awaitEnd(t, run, soon)).Name == name {
				t.Errorf("the pool has the sandbox %s again, which a run had", name)
			}
		}
	}
	// One of another shape has a sandbox of its own.
	other := startRun(t, "answer", inNamespace(ns), func(r *v1alpha1.MotorRun) {
		r.Spec.Sandbox = &v1alpha1.RunSandbox{Resources: v1alpha1.SandboxResources{Memory: new(resource.MustParse("512Mi"))}}
	})
	if done := wantCompleted(t, other, soon); done.Status.Sandbox != nil && done.Status.Sandbox.PoolName != "" {
		t.Errorf("a run of another shape has %+v", done.Status.Sandbox)
	}
}

// A pool must not keep a run from its sandbox.
func TestPoolYieldsToARunWithoutRoom(t *testing.T) {
	t.Parallel()
	ns, pool := pooledNamespace(t, "pool-full", 2)
	must(t, suite.client.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pods"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}},
	}))
	run := startRun(t, "ask", inNamespace(ns), func(r *v1alpha1.MotorRun) {
		r.Spec.Sandbox = &v1alpha1.RunSandbox{Resources: v1alpha1.SandboxResources{Memory: new(resource.MustParse("512Mi"))}}
	})
	asked := awaitQuestion(t, run)
	respond(t, run, asked.Status.Pending().ID, "red")
	wantCompleted(t, run, soon)
	awaitPool(t, pool, v1alpha1.ReasonPoolFull)
}
