// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// proved has the loop record a turn with a proof that began now.
func (r *rig) proved(index int32) {
	r.t.Helper()
	l := r.log()
	l.UseSandbox(v1alpha1.StepSandbox{
		PodUID: string(r.pod().UID), ServerKey: "sha256:key", IsolationTries: 3, IsolationMilliseconds: 40,
		ProofTime: new(runpolicy.ProvedAt(r.run(), r.now)),
	})
	next := turnAt(index, "", `bash:{"command":"true"}`)
	must(r.t, l.Append(r.ctx, next))
	next.Results[0] = okResult("", 1)
	must(r.t, l.Settle(r.ctx, next))
}

func policyChanges() map[string]func(*rig, *networkingv1.NetworkPolicy) {
	return map[string]func(*rig, *networkingv1.NetworkPolicy){
		"opened": func(r *rig, p *networkingv1.NetworkPolicy) {
			p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
			must(r.t, manager.Update(r.ctx, p))
		},
		"deleted": func(r *rig, p *networkingv1.NetworkPolicy) { must(r.t, manager.Delete(r.ctx, p)) },
		"opened and closed again": func(r *rig, p *networkingv1.NetworkPolicy) {
			before := p.DeepCopy()
			p.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
			must(r.t, manager.Update(r.ctx, p))
			p.Spec = before.Spec
			must(r.t, manager.Update(r.ctx, p))
		},
	}
}

func TestIsolationLost(t *testing.T) {
	for _, name := range []string{"run-egress", sandbox.BaselineName} {
		for what, change := range policyChanges() {
			t.Run(name+" "+what, func(t *testing.T) {
				r := newRigWithProxy(t, reaching("example.org"))
				r.ready()
				r.proved(1)
				r.step()
				r.want(v1alpha1.PhaseRunning, "IsolationVerified True AllBlocked")
				policy := &networkingv1.NetworkPolicy{}
				key := client.ObjectKey{Namespace: r.ns, Name: name}
				must(t, admin.Get(r.ctx, key, policy))
				want := policy.DeepCopy()

				change(r, policy)
				// The first pass says so, the second puts it right.
				r.settle()
				r.want(v1alpha1.PhaseRunning, "IsolationVerified False IsolationLost", "SandboxReady True SandboxReady")
				have := &networkingv1.NetworkPolicy{}
				must(t, admin.Get(r.ctx, key, have))
				if diff := cmp.Diff(want.Spec, have.Spec); diff != "" {
					t.Errorf("the policy (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(want.Annotations, have.Annotations); diff != "" {
					t.Errorf("its annotations (-want +got):\n%s", diff)
				}
				if !slices.Contains(r.events, "Warning IsolationLost") {
					t.Errorf("events %v", r.events)
				}
				first := r.run().Status.Sandbox.IsolationLossTime

				// It is lost again before anybody has proved anything.
				must(t, admin.Get(r.ctx, key, policy))
				change(r, policy)
				// The first pass says so, the second puts it right.
				r.settle()
				if again := r.run().Status.Sandbox.IsolationLossTime; first == nil || again == nil || !again.After(first.Time) {
					t.Errorf("lost at %v, and again at %v", first, again)
				}

				r.now = r.now.Add(time.Second)
				r.proved(2)
				r.step()
				r.want(v1alpha1.PhaseRunning, "IsolationVerified True AllBlocked")
			})
		}
	}
}

// The namespace's policy is every run's: the pass of one puts it right, and the others must know that it was open.
func TestIsolationLostByAll(t *testing.T) {
	r := newRigWithProxy(t, reaching("example.org"))
	r.ready()
	r.proved(1)
	r.step()
	policy := &networkingv1.NetworkPolicy{}
	must(t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: sandbox.BaselineName}, policy))
	policyChanges()["opened"](r, policy)
	other := createRun(r.ctx, t, r.ns, func(run *v1alpha1.MotorRun) { run.Name = "other" })
	_, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(other)})
	must(t, err)
	must(t, admin.Get(r.ctx, client.ObjectKeyFromObject(policy), policy))
	if len(policy.Spec.Egress) != 0 {
		t.Fatal("the other run's pass did not put the policy right")
	}
	r.step()
	r.want(v1alpha1.PhaseRunning, "IsolationVerified False IsolationLost")
	must(t, admin.Get(r.ctx, client.ObjectKeyFromObject(other), other))
	if other.Status.Sandbox != nil && other.Status.Sandbox.IsolationLossTime != nil {
		t.Error("a sandbox that was made afterwards has lost something")
	}
}

// Labels and domains of a policy are no wall.
func TestPolicyWithoutItsLabels(t *testing.T) {
	r := newRigWithProxy(t, reaching("example.org"))
	r.ready()
	policy := r.route()
	want := policy.DeepCopy()
	policy.Labels, policy.Annotations = map[string]string{"mine": "yes"}, map[string]string{"mine": "yes"}
	must(t, manager.Update(r.ctx, policy))
	r.step()
	have := r.route()
	for k, v := range want.Labels {
		if have.Labels[k] != v {
			t.Errorf("label %s is %q, want %q", k, have.Labels[k], v)
		}
	}
	if have.Labels["mine"] != "yes" || have.Annotations["mine"] != "yes" || have.Annotations[v1alpha1.AnnotationDomains] != "example.org" {
		t.Errorf("labels %v, annotations %v", have.Labels, have.Annotations)
	}
	if r.run().Status.Sandbox.IsolationLossTime != nil {
		t.Error("that counts as a loss of isolation")
	}
}

func isRoute(o client.Object) bool { return isPolicy(o) && o.GetName() == "run-egress" }

func TestRouteRefused(t *testing.T) {
	for name, refusal := range refusals() {
		t.Run(name, func(t *testing.T) {
			r := newRigWithProxy(t, reaching("example.org"))
			r.refuse(isRoute, refusal)
			r.wantBlocked("EgressReady", "RouteRefused", refusal.Error())
			if r.pod() != nil {
				t.Error("there is a sandbox")
			}
			r.rec.Client = manager
			r.ready()
			r.want(v1alpha1.PhaseRunning, "EgressReady True Granted", "Stalled ")
		})
	}
}

func TestRouteThatIsSomebodyElses(t *testing.T) {
	r := newRigWithProxy(t, reaching("example.org"))
	foreign := &networkingv1.NetworkPolicy{ObjectMeta: meta(r.ns, "run-egress"), Spec: networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}}
	must(t, admin.Create(r.ctx, foreign))
	r.wantBlocked("EgressReady", "RouteRefused", "is not this run's")
	if p := r.route(); len(p.OwnerReferences) != 0 || p.ResourceVersion != foreign.ResourceVersion {
		t.Error("the policy of somebody else was changed")
	}
	must(t, admin.Delete(r.ctx, foreign))
	r.ready()
	r.want(v1alpha1.PhaseRunning, "EgressReady True Granted")
}

// newRigWithProxy is a rig for runs without credentials.
func newRigWithProxy(t *testing.T, change ...func(*v1alpha1.MotorRun)) *rig {
	t.Helper()
	r := emptyRig(t)
	r.proxy()
	r.create(admin, change...)
	return r
}
