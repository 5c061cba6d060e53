// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/controller/sweep"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// within lists the objects of one namespace: other tests have sandboxes of their own in the cluster.
type within struct {
	client.Client
	namespace string
}

func (w within) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	return w.Client.List(ctx, list, append(opts, client.InNamespace(w.namespace))...)
}

// A run that is deleted with --cascade=orphan while no manager is there leaves a sandbox that no run looks after.
func TestSandboxWithoutARunIsRemoved(t *testing.T) {
	r := egressRig(t, reaching("example.org"))
	r.ready()
	name := r.pod().Name
	former := r.run()
	sweeper := &sweep.Sweeper{Client: within{manager, r.ns}, Live: manager, Namespace: managerNamespace}
	must(t, sweeper.Sweep(r.ctx))
	if r.pod() == nil {
		t.Fatal("the sandbox of a run that goes on is gone")
	}
	must(t, admin.Delete(r.ctx, former, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	// There is no garbage collector here, which would take the owner from them and the finalizer from the run.
	collector, err := clientAs("system:serviceaccount:kube-system:generic-garbage-collector", "system:masters")
	must(t, err)
	policy := &networkingv1.NetworkPolicy{ObjectMeta: meta(r.ns, "run-egress")}
	for _, o := range []client.Object{r.podNamed(name), policy, former} {
		change := `{"metadata":{"ownerReferences":null}}`
		if o == client.Object(former) {
			change = `{"metadata":{"finalizers":null}}`
		}
		must(t, collector.Patch(r.ctx, o, mergePatchOf("%s", change)))
	}
	r.create(admin) // The run of the same name knows nothing of that Pod.
	must(t, sweeper.Sweep(r.ctx))
	if pod := r.podNamed(name); pod != nil && pod.DeletionTimestamp == nil {
		t.Error("a sandbox without a run stays")
	}
	if err := admin.Get(r.ctx, client.ObjectKeyFromObject(policy), policy); !apierrors.IsNotFound(err) {
		t.Errorf("its way out stays: %v", err)
	}
	baseline := &networkingv1.NetworkPolicy{}
	must(t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: sandbox.BaselineName}, baseline))
}
