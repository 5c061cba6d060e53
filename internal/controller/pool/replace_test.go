// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// A run takes a sandbox between the pool's look at it and its removal.
func TestASandboxThatWasJustTakenIsNotRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.fill()
	run, taken := aRun("run"), ""
	r.r.Client = interceptor.NewClient(r.server, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if taken == "" {
				pod := &corev1.Pod{}
				r.must(c.Get(ctx, client.ObjectKeyFromObject(o), pod))
				sandbox.Adopt(pod, run, false, r.now)
				r.must(c.Update(ctx, pod))
				taken = pod.Name
			}
			return c.Delete(ctx, o, opts...)
		},
	})
	r.change(func(p *v1alpha1.SandboxPool) { p.Spec.Replicas = new(int32(0)) })
	r.pass(time.Second)
	r.wants(v1alpha1.ReasonPoolFull, 0, 0)
	if pods := r.pods(); len(pods) != 1 || pods[0].Name != taken || !metav1.IsControlledBy(pods[0], run) {
		t.Errorf("left are %d Pods; %s was taken", len(pods), taken)
	}
}

// Between the write that takes a sandbox and the cache that shows it, the sandbox is neither tried nor given up, and its replacement is made.
func TestASandboxThatIsBeingTakenIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.fill()
	uid := r.pods()[0].UID
	if !r.r.memory.claim(uid, "run-uid", "b/1", noon) {
		t.Fatal("it cannot be claimed")
	}
	r.pass(10 * time.Minute)
	r.wants(v1alpha1.ReasonPoolFilling, 2, 1)
	if !slices.ContainsFunc(r.pods(), func(p *corev1.Pod) bool { return p.UID == uid }) || r.made != 3 || len(r.told()) > 0 {
		t.Errorf("%d Pods, %d were made", len(r.pods()), r.made)
	}
}

// A sandbox that is being deleted is none that the pool has, however long its node takes for it.
func TestASandboxThatIsBeingDeletedIsReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.fill()
	pod := r.pods()[0]
	pod.Finalizers = []string{"example.org/slow"}
	r.must(r.server.Update(t.Context(), pod))
	r.must(r.server.Delete(t.Context(), pod))
	for range 2 {
		r.pass(time.Second)
		r.wants(v1alpha1.ReasonPoolFilling, 2, 1)
	}
	if r.made != 3 || r.servers[pod.UID].closed != 1 {
		t.Errorf("%d were made, and the connection was closed %d times", r.made, r.servers[pod.UID].closed)
	}
}

// The cache may not show for a while what was made: that is no reason to make more.
func TestSandboxesThatTheCacheDoesNotShowCount(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.hidden = func(string) bool { return true }
	for i := range 3 {
		// No watch need report that they are gone.
		if again := r.pass(time.Second).RequeueAfter; again != unseen-time.Duration(i)*time.Second+10*ms {
			t.Errorf("it is looked at again after %s", again)
		}
		r.wants(v1alpha1.ReasonPoolFilling, 2, 0)
	}
	if r.made != 2 {
		t.Errorf("%d were made", r.made)
	}
	// In the end it must be assumed that they are gone.
	if r.pass(unseen); r.made != 4 {
		t.Errorf("%d were made after %s", r.made, unseen)
	}
}

// A new leader knows nothing of the proofs. It makes them again, and does not give up what has waited for long.
func TestANewLeaderKeepsTheSandboxes(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	r.fill()
	r.now = r.now.Add(20 * time.Minute)
	r.r = r.reconciler()
	for range 2 {
		r.pass(50 * ms)
		r.wants(v1alpha1.ReasonPoolFilling, 3, 0)
	}
	r.pass(50 * ms)
	r.wants(v1alpha1.ReasonPoolFull, 3, 3)
	if told := r.told(); r.made != 3 || len(told) > 0 {
		t.Errorf("%d were made, told %q", r.made, told)
	}
}

// A sandbox that was open for a moment is proved again, and one that stays open is given up.
func TestASandboxThatIsOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.fill()
	uid := r.pods()[0].UID
	r.servers[uid].open = true
	r.pass(triedEvery)
	r.wants(v1alpha1.ReasonPoolFilling, 2, 1)
	r.servers[uid].open = false
	for range 3 {
		r.pass(50 * ms)
	}
	r.wants(v1alpha1.ReasonPoolFull, 2, 2)
	r.servers[uid].open = true
	r.pass(triedEvery)
	r.pass(r.r.Config.IsolationTimeout)
	r.wants(v1alpha1.ReasonIsolationUnverified, 1, 1)
	if told := r.told(); len(told) != 1 || !strings.HasPrefix(told[0], "Warning Reachable ") || r.servers[uid].closed != 0 {
		t.Errorf("told %q", told)
	}
	// It is made again after a pause.
	r.pass(refusedPause - time.Second)
	r.wants(v1alpha1.ReasonIsolationUnverified, 1, 1)
	if r.servers[uid].closed != 1 {
		t.Errorf("the connection was closed %d times", r.servers[uid].closed)
	}
	r.pass(time.Second)
	r.wants(v1alpha1.ReasonPoolFilling, 2, 1)
}

// A pool without room gives its room back, says so, and tries again after a pause.
func TestAPoolWithoutRoom(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.pass(0)
	pod := r.pods()[0]
	r.must(r.server.Status().Update(t.Context(), unschedulable(pod)))
	if again := r.pass(time.Second).RequeueAfter; again < 29*time.Second || again > unscheduledFor {
		t.Errorf("it is looked at again after %s", again)
	}
	r.pass(unscheduledFor - time.Second)
	r.wants(v1alpha1.ReasonUnschedulable, 0, 0)
	if told := r.told(); len(r.pods()) != 0 || len(told) != 1 || !strings.Contains(r.message(), "no memory") {
		t.Errorf("%d Pods, told %q: %s", len(r.pods()), told, r.message())
	}
	r.pass(refusedPause - time.Second)
	r.wants(v1alpha1.ReasonUnschedulable, 0, 0)
	r.pass(time.Second)
	r.wants(v1alpha1.ReasonPoolFilling, 1, 0)
}

// Sandboxes of a former shape are replaced one after the other, and the pool has as many ready ones all the time.
func TestAChangedPoolIsReplaced(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*rig){
		"another size": func(r *rig) {
			r.change(func(p *v1alpha1.SandboxPool) { p.Spec.Resources.Memory = new(resource.MustParse("2Gi")) })
		},
		"another image": func(r *rig) { r.r.Config.Sandbox.Image = "registry.example.org/sandbox:2" },
		"user namespaces": func(r *rig) {
			node := &corev1.Node{}
			r.must(r.server.Get(r.t.Context(), client.ObjectKey{Name: "node"}, node))
			node.Status.RuntimeHandlers = []corev1.NodeRuntimeHandler{{Features: &corev1.NodeRuntimeHandlerFeatures{UserNamespaces: new(true)}}}
			r.must(r.server.Status().Update(r.t.Context(), node))
		},
		"their age": func(r *rig) { r.now = r.now.Add(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 3)
			r.fill()
			var before []types.UID
			for _, pod := range r.pods() {
				before = append(before, pod.UID)
			}
			change(r)
			for range 20 {
				r.pass(50 * ms)
				// What does not fit any run is not waited for.
				if st := r.pool().Status; name == "their age" && st.ReadyReplicas < 3 || len(r.pods()) > 4 {
					t.Fatalf("it has %d, of them %d ready", len(r.pods()), st.ReadyReplicas)
				}
				r.run()
			}
			r.wants(v1alpha1.ReasonPoolFull, 3, 3)
			if r.made != 6 || slices.ContainsFunc(r.pods(), func(p *corev1.Pod) bool { return slices.Contains(before, p.UID) }) {
				t.Errorf("%d were made", r.made)
			}
		})
	}
}

// The sandboxes of a node that is about to be drained are made on another one.
func TestACordonedNodeLosesItsSandboxes(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.fill()
	r.cordon()
	r.pass(time.Second)
	r.wants(v1alpha1.ReasonPoolFilling, 2, 0)
	if r.made != 4 || len(r.pods()) != 2 {
		t.Errorf("%d were made, and there are %d", r.made, len(r.pods()))
	}
}

// A webhook that changes what the pool makes does not make the pool replace its sandboxes for ever, nor give up those that it has.
func TestASandboxThatTheClusterChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.admit = func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1")
	}
	for range 10 {
		r.pass(time.Second)
	}
	r.wants(v1alpha1.ReasonPoolChanged, 0, 0)
	if told := r.told(); r.made != 1 || len(r.pods()) != 0 || len(told) != 1 || !strings.Contains(r.message(), "webhook") {
		t.Errorf("%d were made, %d are left, told %q: %s", r.made, len(r.pods()), told, r.message())
	}
	admit := r.admit
	r.admit = nil
	r.now = r.now.Add(refusedPause)
	r.fill()
	r.admit = admit
	r.change(func(p *v1alpha1.SandboxPool) { p.Spec.Replicas = new(int32(3)) })
	r.pass(time.Second)
	r.wants(v1alpha1.ReasonPoolChanged, 2, 2)
}
