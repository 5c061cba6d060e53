// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// aConfig is the configuration of sandboxes in these tests.
var aConfig = sandbox.Config{Image: "registry.example.org/sandbox:1", ManagerKey: "sha256:0000", Namespace: "motorcortex-system"}

// tools is a tool server that answers tries as it is told to.
type tools struct {
	hello    toolapi.Hello
	mu       sync.Mutex
	open     bool
	err      error
	requests []toolapi.ProbeRequest
	closed   int
}

func (p *tools) Hello(context.Context) (toolapi.Hello, error) { return p.hello, nil }

func (p *tools) Probe(_ context.Context, request toolapi.ProbeRequest) (toolapi.ProbeResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, request)
	return toolapi.ProbeResponse{
		Results: []toolapi.ProbeResult{{Name: "the node", Reached: p.open}}, Confinement: &toolapi.Confinement{},
	}, p.err
}

func (p *tools) Close() { p.closed++ }

// aCloser closes namespaces, or says that it could not.
type aCloser struct {
	identity, refused string
	// inUse is how the namespace was described last.
	inUse bool
}

func (c *aCloser) CloseNamespace(_ context.Context, _ string, inUse bool) (identity, refused string, err error) {
	c.inUse = inUse
	return c.identity, c.refused, nil
}

// rig is a pool that the namespace names, on a cluster of one node, and a clock that is moved by hand.
type rig struct {
	t      *testing.T
	now    time.Time
	server client.WithWatch
	r      *Reconciler
	closer *aCloser
	// servers are the tool servers of the Pods that were connected with, by the UIDs of the Pods. Passes hold mu when they add one.
	mu      sync.Mutex
	servers map[types.UID]*tools
	events  *events.FakeRecorder
	// refuse is the answer to the creation of a Pod, nil if it is made. made counts those that are, and admit changes one before.
	refuse error
	made   int
	admit  func(*corev1.Pod)
	// hidden are the Pods that the cache does not show yet, by their names.
	hidden func(pod string) bool
}

func newRig(t *testing.T, replicas int32, objects ...client.Object) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.9.9.9"}}
	cortex := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: v1alpha1.CortexName}}
	cortex.Spec.Sandbox = &v1alpha1.SandboxBounds{Pools: []string{"pool"}}
	r := &rig{
		t: t, now: noon, closer: &aCloser{identity: "b/1"}, servers: map[types.UID]*tools{}, events: events.NewFakeRecorder(100),
		hidden: func(string) bool { return false },
	}
	r.server = fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, node, cortex, thePool(replicas))...).
		WithStatusSubresource(&v1alpha1.SandboxPool{}, &v1alpha1.MotorRun{}).
		WithInterceptorFuncs(interceptor.Funcs{Create: r.create, List: r.list}).Build()
	r.r = r.reconciler()
	return r
}

// thePool is the pool of these tests.
func thePool(replicas int32) *v1alpha1.SandboxPool {
	return &v1alpha1.SandboxPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pool", UID: "pool-uid", Generation: 3},
		Spec:       v1alpha1.SandboxPoolSpec{Replicas: &replicas, MaxAgeSeconds: 3600},
	}
}

// reconciler returns one that has just begun.
func (r *rig) reconciler() *Reconciler {
	return &Reconciler{
		Client: r.server, Live: r.server, Recorder: r.events, Closer: r.closer, Now: func() time.Time { return r.now },
		Connect: func(pod *corev1.Pod) (Prober, error) {
			p := &tools{}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.servers[pod.UID] = p
			return p, nil
		},
		Config: Config{
			Sandbox: aConfig, StartTimeout: 5 * time.Minute, IsolationTimeout: time.Minute,
			Forbidden: []toolapi.ProbeTarget{{Name: "the API server", Network: "tcp", Address: "10.0.0.1:443"}},
		},
	}
}

// create does what the API server does: it gives a Pod its UID and its age.
func (r *rig) create(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
	if pod, ok := o.(*corev1.Pod); ok {
		if r.refuse != nil {
			return r.refuse
		}
		r.made++
		pod.UID, pod.CreationTimestamp = types.UID("made-"+strconv.Itoa(r.made)), metav1.NewTime(r.now)
		if r.admit != nil {
			r.admit(pod)
		}
	}
	return c.Create(ctx, o, opts...)
}

// list does what the cache does: it is behind.
func (r *rig) list(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
	err := c.List(ctx, list, opts...)
	if pods, ok := list.(*corev1.PodList); ok {
		pods.Items = slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return r.hidden(p.Name) })
	}
	return err
}

// pass reconciles the pool after some time.
func (r *rig) pass(after time.Duration) ctrl.Result {
	r.t.Helper()
	r.now = r.now.Add(after)
	result, err := r.r.Reconcile(r.t.Context(), ctrl.Request{NamespacedName: aPool})
	if err != nil {
		r.t.Fatal(err)
	}
	return result
}

// pool reads the pool.
func (r *rig) pool() *v1alpha1.SandboxPool {
	r.t.Helper()
	pool := &v1alpha1.SandboxPool{}
	if err := r.server.Get(r.t.Context(), aPool, pool); err != nil {
		r.t.Fatal(err)
	}
	return pool
}

// change changes the spec of the pool.
func (r *rig) change(change func(*v1alpha1.SandboxPool)) {
	r.t.Helper()
	pool := r.pool()
	change(pool)
	pool.Generation++
	r.must(r.server.Update(r.t.Context(), pool))
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// pods reads the Pods of the namespace.
func (r *rig) pods() []*corev1.Pod {
	r.t.Helper()
	var list corev1.PodList
	r.must(r.server.List(r.t.Context(), &list))
	var pods []*corev1.Pod
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	return pods
}

// run makes the Pods of the namespace run that do not, on the node.
func (r *rig) run() {
	r.t.Helper()
	for _, pod := range r.pods() {
		if pod.Status.PodIP != "" {
			continue
		}
		pod.Spec.NodeName = "node"
		r.must(r.server.Update(r.t.Context(), pod))
		runs(pod).Status.HostIP = "10.0.0.5"
		r.must(r.server.Status().Update(r.t.Context(), pod))
	}
}

// fill takes passes until the pool is full.
func (r *rig) fill() {
	r.t.Helper()
	r.pass(0)
	r.run()
	for range 3 {
		r.pass(50 * time.Millisecond)
	}
	r.wants(v1alpha1.ReasonPoolFull, *r.pool().Spec.Replicas, *r.pool().Spec.Replicas)
}

// wants checks the status of the pool.
func (r *rig) wants(reason string, replicas, ready int32) {
	r.t.Helper()
	pool := r.pool()
	c := apimeta.FindStatusCondition(pool.Status.Conditions, v1alpha1.PoolReady)
	if c == nil || c.Reason != reason || pool.Status.Replicas != replicas || pool.Status.ReadyReplicas != ready {
		r.t.Fatalf("the pool has %d, of them %d ready: %+v; want %d, %d and %s", pool.Status.Replicas, pool.Status.ReadyReplicas, c, replicas, ready, reason)
	}
	if (reason == v1alpha1.ReasonPoolFull) != (c.Status == metav1.ConditionTrue) || c.Message == "" {
		r.t.Fatalf("the condition is %+v", c)
	}
}

// message returns that of the pool's condition.
func (r *rig) message() string {
	return apimeta.FindStatusCondition(r.pool().Status.Conditions, v1alpha1.PoolReady).Message
}

// told returns the Events since it was called last.
func (r *rig) told() []string {
	var all []string
	for len(r.events.Events) > 0 {
		all = append(all, <-r.events.Events)
	}
	return all
}
