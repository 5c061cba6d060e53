// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestOnlyFills(t *testing.T) {
	t.Parallel()
	status := func(reason string, replicas, ready int32) *v1alpha1.SandboxPoolStatus {
		return &v1alpha1.SandboxPoolStatus{Replicas: replicas, ReadyReplicas: ready, ObservedGeneration: 1, Selector: "s", Conditions: []metav1.Condition{
			{Type: v1alpha1.PoolReady, Reason: reason, ObservedGeneration: 1},
		}}
	}
	const full, filling = v1alpha1.ReasonPoolFull, v1alpha1.ReasonPoolFilling
	scaled := status(filling, 3, 2)
	scaled.ObservedGeneration, scaled.Conditions[0].ObservedGeneration = 2, 2
	for name, tt := range map[string]struct {
		before, after *v1alpha1.SandboxPoolStatus
		want          bool
	}{
		"one is taken":             {status(full, 3, 3), status(filling, 2, 2), true},
		"another one":              {status(filling, 2, 2), status(filling, 1, 1), true},
		"one is made":              {status(filling, 2, 2), status(filling, 3, 2), true},
		"the last one is taken":    {status(filling, 1, 1), status(filling, 0, 0), false},
		"the first one is ready":   {status(filling, 1, 0), status(filling, 1, 1), false},
		"it is full":               {status(filling, 3, 2), status(full, 3, 3), false},
		"it cannot be filled":      {status(full, 3, 3), status(v1alpha1.ReasonUnschedulable, 2, 2), false},
		"it can be filled again":   {status(v1alpha1.ReasonUnschedulable, 2, 2), status(filling, 3, 2), false},
		"it is scaled":             {status(full, 2, 2), scaled, false},
		"nothing was shown so far": {&v1alpha1.SandboxPoolStatus{}, status(filling, 3, 0), false},
	} {
		if got := onlyFills(tt.before, tt.after); got != tt.want {
			t.Errorf("%s: only fills %t", name, got)
		}
	}
}

// takes has a run take one of the sandboxes of the pool.
func (r *rig) takes() {
	r.t.Helper()
	pods := r.pods()
	pod := pods[slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Labels[v1alpha1.LabelPool] != "" })]
	pod.OwnerReferences, pod.Labels = nil, map[string]string{v1alpha1.LabelRun: "run"}
	r.must(r.server.Update(r.t.Context(), pod))
}

// A run that takes a sandbox is no write of the pool if the sandbox is replaced soon.
func TestAPoolThatIsFullAgainSoonIsNotWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	r.fill()
	r.r.Config.ShowPause = 5 * time.Second
	before := r.pool().ResourceVersion
	r.takes()
	if res := r.pass(0); res.RequeueAfter == 0 || res.RequeueAfter > 6*time.Second {
		t.Errorf("comes back after %s", res.RequeueAfter)
	}
	r.pass(time.Second)
	r.run()
	for range 3 {
		r.pass(50 * time.Millisecond)
	}
	if now := r.pool().ResourceVersion; now != before || len(r.pods()) != 3 {
		t.Errorf("the pool was written, %s and %s, with %d Pods", before, now, len(r.pods()))
	}
	// The next time counts from its own beginning.
	r.pass(time.Minute)
	r.takes()
	r.pass(0)
	r.pass(4 * time.Second)
	if now := r.pool().ResourceVersion; now != before {
		t.Error("the pool was written before its time")
	}
	r.pass(2 * time.Second)
	r.wants(v1alpha1.ReasonPoolFilling, 2, 1)
	r.run()
	for range 3 {
		r.pass(50 * time.Millisecond)
	}
	r.wants(v1alpha1.ReasonPoolFull, 2, 2)
}

// A cache that is behind would have the pool compare with a status that is none any more, and write nothing or what is refused.
func TestAPoolIsNotWrittenFromAnOldStatus(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	r.fill()
	old, patches := r.pool(), 0
	r.takes()
	r.pass(0)
	r.wants(v1alpha1.ReasonPoolFilling, 1, 0)
	r.r.Client = interceptor.NewClient(r.server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if pool, ok := o.(*v1alpha1.SandboxPool); ok {
				old.DeepCopyInto(pool)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			patches++
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
	if res := r.pass(0); res.RequeueAfter == 0 || res.RequeueAfter > time.Second || patches > 0 {
		t.Errorf("comes back after %s, with %d writes", res.RequeueAfter, patches)
	}
}
