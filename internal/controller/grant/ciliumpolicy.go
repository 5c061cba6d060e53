// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/egress/grant"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// ciliumPolicy lets the egress proxy reach the run's domains where Cilium guards it too, if the manager is configured for that. The policy is owned
// by the grant's Secret and deleted with it. A cluster without Cilium has no such policy, and the run goes on.
func (g *Granter) ciliumPolicy(ctx context.Context, s *pass.Run) error {
	if !g.CiliumPolicies {
		return nil
	}
	want := &unstructured.Unstructured{Object: sandbox.CiliumPolicy(s.Run, s.Domains, g.Sandbox)}
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(want.GroupVersionKind())
	err := g.Live.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apimeta.IsNoMatchError(err):
		g.State.withoutCilium.Do(func() {
			ctrl.LoggerFrom(ctx).Info("there are no CiliumNetworkPolicies in this cluster, so the egress proxy has no second wall")
		})
		return nil
	case apierrors.IsNotFound(err) && len(s.Domains) == 0:
		return nil
	case apierrors.IsNotFound(err):
		return g.createCiliumPolicy(ctx, s, want)
	case err != nil:
		return fmt.Errorf("get the CiliumNetworkPolicy %s: %w", want.GetName(), err)
	case equality.Semantic.DeepEqual(have.Object["spec"], want.Object["spec"]):
		return nil
	}
	have.Object["spec"] = want.Object["spec"]
	if err := g.Update(ctx, have); err != nil {
		return fmt.Errorf("update the CiliumNetworkPolicy %s: %w", want.GetName(), err)
	}
	return nil
}

func (g *Granter) createCiliumPolicy(ctx context.Context, s *pass.Run, want *unstructured.Unstructured) error {
	var owner corev1.Secret
	key := client.ObjectKey{Namespace: g.Sandbox.Namespace, Name: grant.SecretName(string(s.Run.UID))}
	if err := g.Live.Get(ctx, key, &owner); err != nil {
		return fmt.Errorf("get the grant: %w", err)
	}
	want.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: owner.Name, UID: owner.UID}})
	if err := g.Create(ctx, want); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the CiliumNetworkPolicy %s: %w", want.GetName(), err)
	}
	return nil
}
