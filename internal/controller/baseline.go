// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// baseline makes sure that the namespace's closing NetworkPolicy stands, as it must be, before any sandbox does. One
// that was edited or deleted is put right, and the sandboxes that it closes are tried again.
func (r *MotorRunReconciler) baseline(ctx context.Context, s *scope) (bool, error) {
	want := sandbox.BaselineNetworkPolicy(s.run.Namespace, r.Config.Sandbox)
	// Read past the cache: it holds our label's policies only, and a sandbox must not be created on an old answer.
	have, err := r.getPolicy(ctx, want.Name, want.Namespace)
	if err != nil {
		return false, err
	}
	same := have != nil && equality.Semantic.DeepEqual(have.Spec, want.Spec)
	if r.noteFall(s, r.baselineFell(s, have, same)) {
		return false, nil
	}
	// The condition is what the engine goes by: a run does nothing more while its namespace is open.
	return r.putUp(ctx, s, have, want, same && hasLabels(have, want.Labels), wallRefused{
		v1alpha1.ConditionSandboxReady, v1alpha1.ReasonBaselineRefused, "without which there is no sandbox", "restore",
	})
}

// baselineFell says whether the sandbox was open since it was looked at last. The policy is every sandbox's of the namespace,
// so the pass of another run may have put it right before this one: then it is another one than before, or younger than
// the Pod.
func (r *MotorRunReconciler) baselineFell(s *scope, have *networkingv1.NetworkPolicy, same bool) bool {
	changed, known := r.states.of(s.run).look(sandbox.BaselineName, identity(have))
	if !s.hasSandbox() {
		return false
	}
	if known || !same {
		return changed || !known
	}
	lost := s.run.Status.Sandbox.IsolationLostAt
	return have.CreationTimestamp.After(s.pod.CreationTimestamp.Time) && (lost == nil || lost.Before(&have.CreationTimestamp))
}

// refusedByAPI says whether an error is the API server's answer about the object, or about its own state, and not a
// defect of the pass: somebody has to do something about it, so the run must say so.
func refusedByAPI(err error) bool {
	// A webhook that cannot be reached is an internal error.
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsInternalError(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}

// hasLabels leaves labels of others alone: who adds some must not start a fight.
func hasLabels(o client.Object, want labels.Set) bool {
	return labels.SelectorFromSet(want).Matches(labels.Set(o.GetLabels()))
}
