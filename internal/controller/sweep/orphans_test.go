// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// waitingIn returns a sandbox that waits in a pool. Its name in the pool is its UID.
func waitingIn(pool *v1alpha1.SandboxPool, name string) *corev1.Pod {
	pod := sandbox.Pooled(pool, name, sandbox.Config{})
	pod.UID = types.UID(name)
	return pod
}

// What waits in a pool stays with it, also if the cache does not have the pool yet, and goes if the pool is gone.
func TestSweepOfPools(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	pool := func(name string) *v1alpha1.SandboxPool {
		return &v1alpha1.SandboxPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name + "-uid")}}
	}
	known, unseen, gone, former := pool("known"), pool("new"), pool("gone"), pool("known")
	former.UID = "former-uid"
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "run-uid"}}
	goneRun := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gone", UID: "gone-run-uid"}}
	taken, left := waitingIn(gone, "taken"), waitingIn(known, "left")
	sandbox.Adopt(taken, run, false, time.Time{})
	sandbox.Adopt(left, goneRun, true, time.Time{})
	// A run with the name of a pool that is gone does not hold the Pods of the pool.
	namesake := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gone", UID: "namesake-uid"}}
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		known, unseen, run, namesake, taken, left,
		waitingIn(known, "a"), waitingIn(unseen, "b"), waitingIn(gone, "c"), waitingIn(former, "d"),
	).Build()
	cache := interceptor.NewClient(server, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		err := c.List(ctx, list, opts...)
		if pools, ok := list.(*v1alpha1.SandboxPoolList); ok {
			pools.Items = slices.DeleteFunc(pools.Items, func(p v1alpha1.SandboxPool) bool { return p.Name == "new" })
		}
		return err
	}})
	away := errors.New("away")
	broken := interceptor.NewClient(server, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return away
		},
	})
	read := 0
	counted := interceptor.NewClient(server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*v1alpha1.SandboxPool); ok {
				read++
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	// Without an answer of the API server nothing goes. It is asked for those pools alone that the cache does not have.
	for _, tt := range []struct {
		live  client.Reader
		fails bool
		want  []string
		read  int
	}{
		{broken, true, []string{"a", "b", "c", "d", "left", "taken"}, 0}, {counted, false, []string{"a", "b", "taken"}, 3}, {counted, false, []string{"a", "b", "taken"}, 1},
	} {
		read = 0
		w := &Sweeper{Client: cache, Live: tt.live, Namespace: "system"}
		if err := w.Sweep(t.Context()); errors.Is(err, away) != tt.fails || !tt.fails && err != nil {
			t.Errorf("%v", err)
		}
		var pods corev1.PodList
		if err := server.List(t.Context(), &pods); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range pods.Items {
			names = append(names, string(p.UID))
		}
		if slices.Sort(names); !slices.Equal(names, tt.want) {
			t.Errorf("left are %q, want %q", names, tt.want)
		}
		if read != tt.read {
			t.Errorf("%d pools were read past the cache, want %d", read, tt.read)
		}
	}
}
