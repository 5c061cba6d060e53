// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// counted counts the reads past the cache.
type counted struct {
	client.Reader
	reads int
}

func (c *counted) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	c.reads++
	return c.Reader.Get(ctx, key, o, opts...)
}

// rig is a run with a sandbox, and the policies of its namespace.
type rig struct {
	t    *testing.T
	c    client.Client
	live *counted
	p    *Policies
	run  *v1alpha1.MotorRun
	pod  *corev1.Pod
	now  time.Time
}

func newRig(t *testing.T) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	created := metav1.NewTime(now)
	c := fake.NewClientBuilder().WithScheme(scheme).Build()
	r := &rig{
		t: t, c: c, live: &counted{Reader: c}, now: now,
		run: &v1alpha1.MotorRun{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "1", CreationTimestamp: created},
			Status: v1alpha1.MotorRunStatus{
				Attempts: []v1alpha1.AttemptStatus{{Index: 1}},
				Sandbox:  &v1alpha1.SandboxStatus{PodName: "run-motor-sandbox", PodUID: "p", CreationTime: &created},
			},
		},
		pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run-motor-sandbox", UID: "p", CreationTimestamp: created}},
	}
	r.p = &Policies{Client: c, Live: r.live, Sandbox: sandbox.Config{Namespace: "motorcortex-system"}, State: &State{}}
	return r
}

// pass takes both steps, and returns whether they go on and how often they read past the cache.
func (r *rig) pass() (goOn bool, reads int, s *pass.Run) {
	r.t.Helper()
	r.now, r.live.reads = r.now.Add(time.Second), 0
	s = pass.NewRun(r.run, r.now)
	s.Pod, s.Bounds = r.pod, []v1alpha1.Domain{"example.org", "example.com"}
	goOn, err := r.p.Baseline(r.t.Context(), s)
	if err == nil && goOn {
		goOn, err = r.p.Route(r.t.Context(), s)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return goOn, r.live.reads, s
}

// settled takes passes until the policies are there and known.
func (r *rig) settled() {
	r.t.Helper()
	for range 6 {
		r.pass()
		// As writeStatus does once the loss is in the status: the sandbox was there before its policies.
		r.p.Reported(r.run)
	}
	if goOn, reads, s := r.pass(); !goOn || reads != 0 || s.PolicyChanged {
		r.t.Fatalf("goes on: %t, with %d reads past the cache", goOn, reads)
	}
}

func (r *rig) policy(name string) *networkingv1.NetworkPolicy {
	r.t.Helper()
	p := &networkingv1.NetworkPolicy{}
	if err := r.c.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: name}, p); err != nil {
		r.t.Fatal(err)
	}
	return p
}

// A run that goes on reads its policies past the cache only when the cache shows that they have changed, and misses nothing.
func TestPoliciesThatStandAreNotReadAgain(t *testing.T) {
	names := func(r *rig) []string { return []string{sandbox.BaselineName, sandbox.EgressPolicyName(r.run)} }
	for name, change := range map[string]func(*rig, *networkingv1.NetworkPolicy) error{
		"deleted": func(r *rig, p *networkingv1.NetworkPolicy) error { return r.c.Delete(r.t.Context(), p) },
		"replaced": func(r *rig, p *networkingv1.NetworkPolicy) error {
			again := p.DeepCopy()
			again.ResourceVersion, again.UID, again.CreationTimestamp = "", "another", metav1.NewTime(r.now.Add(time.Hour))
			if err := r.c.Delete(r.t.Context(), p); err != nil {
				return err
			}
			return r.c.Create(r.t.Context(), again)
		},
	} {
		for i := range 2 {
			r := newRig(t)
			r.run.Spec.Domains = []v1alpha1.Domain{"example.org"}
			r.settled()
			policy := names(r)[i]
			if err := change(r, r.policy(policy)); err != nil {
				t.Fatal(err)
			}
			if goOn, reads, s := r.pass(); goOn || reads == 0 || !s.PolicyChanged || s.Run.Status.Sandbox.IsolationLossTime == nil {
				t.Errorf("%s %s: goes on %t after %d reads, loss %v", policy, name, goOn, reads, s.Run.Status.Sandbox.IsolationLossTime)
			}
			// Until the loss is in the status, each pass looks again.
			if _, reads, _ := r.pass(); reads == 0 {
				t.Errorf("%s %s: the next pass trusts the cache", policy, name)
			}
		}
	}
}

// A webhook may change what the manager writes: it is looked at before it is trusted.
func TestPoliciesThatAreWrittenAreReadAfterwards(t *testing.T) {
	r := newRig(t)
	open := networkingv1.NetworkPolicyEgressRule{}
	r.p.Client = interceptor.NewClient(r.c.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if p, ok := o.(*networkingv1.NetworkPolicy); ok {
				p.Spec.Egress = append(p.Spec.Egress, open)
			}
			return c.Create(ctx, o, opts...)
		},
	})
	for range 6 {
		r.pass()
		r.p.Reported(r.run)
	}
	if p := r.policy(sandbox.BaselineName); len(p.Spec.Egress) > 0 {
		t.Errorf("the policy stays open: %+v", p.Spec.Egress)
	}
}

// A label of one run on the policy of all would show its changes to that run alone.
func TestBaselineHasNoLabelOfARun(t *testing.T) {
	r := newRig(t)
	r.settled()
	p := r.policy(sandbox.BaselineName)
	p.Labels[v1alpha1.LabelRun] = "x"
	if err := r.c.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	r.pass()
	if p := r.policy(sandbox.BaselineName); p.Labels[v1alpha1.LabelRun] != "" || p.Labels[v1alpha1.LabelComponent] == "" {
		t.Errorf("the labels are %v", p.Labels)
	}
}

// What decides about the policies may change without them.
func TestPoliciesAreReadForWhatIsNew(t *testing.T) {
	r := newRig(t)
	r.run.Spec.Domains = []v1alpha1.Domain{"example.org"}
	r.settled()
	r.run.Spec.Domains = append(r.run.Spec.Domains, "example.com")
	if goOn, reads, _ := r.pass(); !goOn || reads != 1 {
		t.Errorf("with another domain: goes on %t after %d reads", goOn, reads)
	}
	r.pod = nil
	if _, reads, _ := r.pass(); reads != 2 {
		t.Errorf("without a sandbox: %d reads past the cache", reads)
	}
}
