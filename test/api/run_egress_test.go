// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	runs "motorcortex.dev/motorcortex/internal/controller/run"
	"motorcortex.dev/motorcortex/internal/controller/sweep"
	egressgrant "motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/secret"
)

func TestEgressPath(t *testing.T) {
	r := egressRig(t, reaching("example.org", "*.example.com:8443"), using("service_key", "example.org"))
	r.step()
	r.want(v1alpha1.PhaseCreated, "Accepted True Accepted", "SandboxReady False SandboxStarting", "EgressReady False AwaitingSandbox")
	policy := r.route()
	if policy == nil {
		t.Fatal("no NetworkPolicy before there is a sandbox")
	}
	if made(t, policy) >= made(t, r.pod()) {
		t.Error("the NetworkPolicy came after the Pod")
	}
	if got := policy.Annotations[v1alpha1.AnnotationDomains]; got != "example.org, *.example.com:8443" {
		t.Errorf("annotation %q", got)
	}
	if s, _ := r.grantOf(); s != nil {
		t.Error("a grant for a sandbox that has no address")
	}

	r.play(func(st *corev1.PodStatus) { running(st); st.PodIP, st.PodIPs = "", nil })
	r.step()
	r.want(v1alpha1.PhaseCreated, "EgressReady False AwaitingSandbox")
	if w := r.run().Status.Execution.Worker; w != "" {
		t.Errorf("placed on %s before there is a grant", w)
	}

	r.play(running)
	res := r.step()
	r.want(v1alpha1.PhaseRunning, "EgressReady True Granted", "Stalled ")
	run, pod := r.run(), r.pod()
	if run.Status.Execution.Worker != "replica-1" {
		t.Error("not placed")
	}
	object, g := r.grantOf()
	if g == nil {
		t.Fatal("no grant")
	}
	key := r.rec.Config.EgressKey
	want := &egressgrant.Grant{
		RunUID: string(run.UID), Namespace: r.ns, Run: "run", PodName: pod.Name, PodUID: string(pod.UID), Attempt: 1,
		PodIPs: []netip.Addr{netip.MustParseAddr("10.1.2.3")}, Domains: []string{"example.org", "*.example.com:8443"},
		TokenHash:   egressgrant.HashToken(egressgrant.Token(key, string(run.UID), string(pod.UID), 1)),
		Credentials: []egressgrant.Credential{{Name: "service_key", Handle: egressgrant.Handle(key, string(run.UID), string(pod.UID), "service_key"), Hosts: []string{"example.org"}, Slot: "Bearer"}},
		ExpiresAt:   r.now.Add(egressgrant.Lifetime).UTC(),
	}
	value := string(g.Credentials[0].Value.Reveal())
	g.Credentials[0].Value = secret.Value{}
	ca := g.CA
	g.CA = nil
	if diff := cmp.Diff(want, g, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b secret.Value) bool { return true })); diff != "" {
		t.Errorf("grant (-want +got):\n%s", diff)
	}
	if value != secretValue {
		t.Errorf("a value of %d bytes, want the one of the Secret without its newline", len(value))
	}
	if ca == nil || object.Type != egressgrant.SecretType || object.Labels[v1alpha1.LabelRunUID] != string(run.UID) {
		t.Errorf("CA %v, type %s, labels %v", ca, object.Type, object.Labels)
	}
	var service corev1.Service
	must(t, admin.Get(r.ctx, client.ObjectKey{Namespace: managerNamespace, Name: egressService}, &service))
	wantStatus := &v1alpha1.EgressStatus{Attempt: 1, Domains: run.Spec.Domains, Proxy: service.Spec.ClusterIP + ":3128", Credentials: []string{"service_key"}}
	if diff := cmp.Diff(wantStatus, run.Status.Egress); diff != "" {
		t.Errorf("status.egress (-want +got):\n%s", diff)
	}
	if res.RequeueAfter <= 0 || res.RequeueAfter > 6*time.Second {
		t.Errorf("reads the Secret again after %s", res.RequeueAfter)
	}

	// The grant goes with the run.
	r.said(turnAt(1, "Done."))
	r.step()
	r.wantEnd(v1alpha1.PhaseCompleted, "Completed")
	r.want(v1alpha1.PhaseCompleted, "EgressReady False RunEnded")
	if s, _ := r.grantOf(); s != nil || r.route() != nil || r.run().Status.Egress != nil {
		t.Error("a run that has ended has a grant, a NetworkPolicy or status.egress")
	}
	r.wantNoValue()
	wantEvents := []string{"Warning NodesWithoutSupport", "Normal SandboxReady", "Normal Granted", "Normal Completed"}
	if diff := cmp.Diff(wantEvents, r.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A run that reaches nothing has nothing of all this.
func TestNoDomainsNoGrant(t *testing.T) {
	r := newRig(t)
	r.ready()
	r.want(v1alpha1.PhaseRunning, "EgressReady ", "CredentialsExposed ")
	if s, _ := r.grantOf(); s != nil || r.route() != nil || r.run().Status.Egress != nil {
		t.Error("a run without domains has a grant, a NetworkPolicy or status.egress")
	}
}

func TestGrantIsRenewed(t *testing.T) {
	r := egressRig(t, reaching("example.org"))
	r.ready()
	first, g := r.grantOf()
	r.now = r.now.Add(egressgrant.Lifetime - 3*time.Minute - time.Second)
	res := r.step()
	if s, _ := r.grantOf(); s.ResourceVersion != first.ResourceVersion {
		t.Error("renewed too early")
	}
	if res.RequeueAfter > 2*time.Second {
		t.Errorf("comes back after %s", res.RequeueAfter)
	}
	r.now = r.now.Add(time.Second)
	r.step()
	_, renewed := r.grantOf()
	if want := g.ExpiresAt.Add(2 * time.Minute); !renewed.ExpiresAt.Equal(want) {
		t.Errorf("expires at %s, want %s", renewed.ExpiresAt, want)
	}
	// What somebody else did to it is put right too.
	secret, _ := r.grantOf()
	must(t, admin.Delete(r.ctx, secret))
	r.now = r.now.Add(31 * time.Second)
	r.step()
	if s, _ := r.grantOf(); s == nil {
		t.Error("a grant that was deleted does not come back")
	}
}

// Another leader knows nothing of what the former one did, and does nothing again.
func TestAnotherLeaderFindsTheGrant(t *testing.T) {
	r := egressRig(t, reaching("example.org"), using("service_key", "example.org"))
	r.ready()
	before := r.versions()
	former := r.rec
	r.rec = &runs.Reconciler{
		Client: former.Client, Live: former.Live, Recorder: r, Models: former.Models, Config: former.Config, Workers: former.Workers, Now: former.Now,
	}
	r.step()
	if diff := cmp.Diff(before, r.versions()); diff != "" {
		t.Errorf("another leader changed (-before +after):\n%s", diff)
	}
	// Both write it: whoever is late tries again, and both come to the same.
	r.now = r.now.Add(4 * time.Minute)
	r.step()
	latest := r.rec
	r.rec = former
	r.settle()
	r.rec = latest
	r.settle()
	if _, g := r.grantOf(); !g.ExpiresAt.Equal(r.now.Add(egressgrant.Lifetime)) || g.CA == nil {
		t.Errorf("expires at %s", g.ExpiresAt)
	}
}

func TestNoEgressProxy(t *testing.T) {
	r := egressRig(t, reaching("example.org"))
	r.rec.Config.EgressService = "not-installed"
	r.wantBlocked("Accepted", "EgressUnavailable", "not-installed")
	r.rec.Config.EgressService = egressService
	r.ready()
	r.want(v1alpha1.PhaseRunning, "Accepted True Accepted", "EgressReady True Granted")

	// When it goes later, the run is told and its worker left alone.
	r.rec.Config.EgressService = "not-installed"
	r.now = r.now.Add(6 * time.Second)
	r.step()
	r.want(v1alpha1.PhaseRunning, "EgressReady False EgressUnavailable", "SandboxReady True SandboxReady", "Stalled True EgressUnavailable")
	if r.run().Status.Execution.Worker != "replica-1" {
		t.Error("the run has lost its worker")
	}
	r.rec.Config.EgressService = egressService
	r.step()
	r.want(v1alpha1.PhaseRunning, "EgressReady True Granted", "Stalled ")
}

// The address of a sandbox may be another Pod's as soon as the sandbox is gone.
func TestNewSandboxNewGrant(t *testing.T) {
	r := egressRig(t, reaching("example.org"), func(run *v1alpha1.MotorRun) { run.Spec.MaxAttempts = 2 })
	r.ready()
	_, before := r.grantOf()
	r.play(func(st *corev1.PodStatus) { st.Phase = corev1.PodFailed; st.Reason = "Evicted" })
	r.settle()
	if s, _ := r.grantOf(); s != nil || r.run().Status.Egress != nil {
		t.Fatal("the grant of a sandbox that is over stands")
	}
	if r.route() == nil {
		t.Error("the NetworkPolicy is gone")
	}
	r.want(v1alpha1.PhaseCreated, "EgressReady False AwaitingSandbox")
	r.play(running)
	r.step()
	_, after := r.grantOf()
	if after == nil || after.PodUID != string(r.pod().UID) || after.PodUID == before.PodUID || after.TokenHash == before.TokenHash || after.Attempt != 2 {
		t.Fatalf("the grant of the new sandbox is %+v", after)
	}
	if e := r.run().Status.Egress; e == nil || e.Attempt != 2 {
		t.Errorf("status.egress %+v", e)
	}
}

func TestAttemptHasItsOwnToken(t *testing.T) {
	r := egressRig(t, reaching("example.org"), func(run *v1alpha1.MotorRun) { run.Spec.MaxAttempts = 2 })
	r.ready()
	_, before := r.grantOf()
	r.failed("ToolFailed")
	r.settle()
	must(t, jsonPatch(r.ctx, r.run(), `[{"op":"add","path":"/spec/responses/-","value":{"id":"retry-1","decision":"Retry","addDomains":["example.net"]}}]`))
	r.settle()
	_, after := r.grantOf()
	if after.Attempt != 2 || after.TokenHash == before.TokenHash {
		t.Errorf("attempt %d has the token of the one before: %t", after.Attempt, after.TokenHash == before.TokenHash)
	}
	if got := r.domains(); got != "example.org example.net" || !slices.Equal(after.Domains, []string{"example.org", "example.net"}) {
		t.Errorf("domains %s, grant %v", got, after.Domains)
	}
}

func TestDeletedRunLosesItsGrant(t *testing.T) {
	for name, hold := range map[string]bool{"at once": false, "held back": true} {
		t.Run(name, func(t *testing.T) {
			r := egressRig(t, reaching("example.org"))
			r.ready()
			run := r.run()
			if hold {
				r.deleteHeld()
			} else {
				must(t, admin.Delete(r.ctx, run))
			}
			r.once()
			if s, _ := r.grantByUID(string(run.UID)); s != nil {
				t.Error("there is still a grant")
			}
			if hold {
				if r.route() != nil || r.pod() != nil {
					t.Error("there is still a NetworkPolicy or a Pod")
				}
				r.letGo()
			}
		})
	}
}

// nextLeader has another leader write the grant anew, before the first request about it that follows.
func (r *rig) nextLeader(was *corev1.Secret) {
	once := sync.OnceFunc(func() {
		next := was.DeepCopy()
		next.ResourceVersion, next.UID = "", ""
		must(r.t, admin.Delete(r.ctx, was.DeepCopy()))
		must(r.t, manager.Create(r.ctx, next))
	})
	c := interceptor.NewClient(manager, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, ok := o.(*corev1.Secret); ok && key.Name == was.Name {
				once()
			}
			return c.Get(ctx, key, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if s, ok := o.(*corev1.Secret); ok && s.Name == was.Name {
				once()
			}
			return c.Delete(ctx, o, opts...)
		},
	})
	r.rec.Client, r.rec.Live = c, c
}

// A leader that was frozen since it decided to delete a grant must not take the one that another leader has written since.
func TestFrozenLeaderDoesNotDeleteTheNextGrant(t *testing.T) {
	r := egressRig(t, reaching("example.org"))
	r.ready()
	was, _ := r.grantOf()
	r.nextLeader(was)
	r.patchSpec(`{"cancel":true}`)
	_, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key})
	if is, _ := r.grantOf(); is == nil || is.UID == was.UID || err != nil {
		t.Errorf("the grant is %v, and the pass ended with %v", is, err)
	}
	// The run is over, so the next pass takes that one, too.
	r.once()
	if is, _ := r.grantOf(); is != nil {
		t.Error("the grant of a run that is over stands")
	}
}

// The same of a leader that has not seen the grant before: the namespace's bounds had none, and have one again.
func TestNewLeaderLooksBeforeItWithdraws(t *testing.T) {
	r := egressRig(t, reaching("example.org"))
	r.ready()
	was, _ := r.grantOf()
	cortex := &v1alpha1.MotorCortex{ObjectMeta: meta(r.ns, "default"), Spec: v1alpha1.MotorCortexSpec{Egress: &v1alpha1.EgressBounds{}}}
	must(t, admin.Create(r.ctx, cortex))
	bound := func(domain v1alpha1.Domain) {
		cortex.Spec.Egress.AllowedDomains = []v1alpha1.Domain{domain}
		must(t, admin.Update(r.ctx, cortex))
	}
	bound("example.com")
	former := r.rec
	r.rec = &runs.Reconciler{
		Recorder: r, Models: former.Models, Config: former.Config, Workers: former.Workers, Now: former.Now,
	}
	r.nextLeader(was)
	r.once()
	is, _ := r.grantOf()
	if is == nil || is.UID == was.UID {
		t.Fatalf("the grant is %v", is)
	}
	bound("example.org")
	r.settle()
	if now, _ := r.grantOf(); now == nil || now.UID != is.UID {
		t.Errorf("the grant is %v", now)
	}
	bound("example.com")
	r.settle()
	if now, _ := r.grantOf(); now != nil || r.run().Status.Egress != nil {
		t.Errorf("the grant is %v", now)
	}
}

func TestSweep(t *testing.T) {
	r := egressRig(t, reaching("example.org"))
	r.ready()
	sweeper := &sweep.Sweeper{Client: within{manager, r.ns}, Live: manager, Namespace: managerNamespace}
	orphan := func(uid string) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: managerNamespace, Name: egressgrant.SecretName(uid), Labels: map[string]string{
			v1alpha1.LabelComponent: v1alpha1.ComponentEgressGrant, v1alpha1.LabelRunUID: uid, v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
		}}, Type: egressgrant.SecretType}
		// The name of a run that exists and has another UID now.
		g := egressgrant.Grant{RunUID: uid, Namespace: r.ns, Run: "run", PodUID: "p", TokenHash: "h", ExpiresAt: r.now}
		var err error
		secret.Data, err = g.Encode()
		must(t, err)
		must(t, manager.Create(r.ctx, secret))
	}
	gone := "gone-" + r.ns
	orphan(gone)
	must(t, sweeper.Sweep(r.ctx))
	if s, _ := r.grantByUID(gone); s != nil {
		t.Error("the grant of a run that is gone stands")
	}
	if s, _ := r.grantOf(); s == nil {
		t.Fatal("the grant of a run that goes on is gone")
	}
	// A run that ended while nobody looked.
	secret, _ := r.grantOf()
	r.said(turnAt(1, "Done."))
	r.step()
	secret.ResourceVersion, secret.UID = "", ""
	must(t, manager.Create(r.ctx, secret))
	must(t, sweeper.Sweep(r.ctx))
	if s, _ := r.grantOf(); s != nil {
		t.Error("the grant of a run that has ended stands")
	}
}

// A leader that is new withdraws the grant of a Pod that is given up before it makes the next one: the former may go on, on a node that
// is cut off, and must have no way out beside it.
func TestNewLeaderWithdrawsBeforeTheNextPod(t *testing.T) {
	r := egressRig(t, reaching("example.org"))
	r.ready()
	first, letGo := r.held()
	defer letGo()
	must(t, admin.Delete(r.ctx, r.pod()))
	r.play(func(st *corev1.PodStatus) { st.Phase, st.Reason = corev1.PodFailed, "NodeLost" })
	former, made := r.rec, false
	c := interceptor.NewClient(manager, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if _, ok := o.(*corev1.Pod); ok {
				made = true
				if grant, _ := r.grantOf(); grant != nil {
					t.Error("the next Pod is made while the grant of the former one stands")
				}
			}
			return c.Create(ctx, o, opts...)
		},
	})
	r.rec = &runs.Reconciler{
		Client: c, Live: c, Recorder: r, Models: former.Models, Config: former.Config, Workers: former.Workers, Now: former.Now,
	}
	r.settle()
	if !made || r.pod() == nil || r.pod().Name == first {
		t.Errorf("the Pod of the next attempt is %v", r.pod())
	}
}
