// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// wallRefused is what is said of a run if the API server refuses one of its sandbox's NetworkPolicies: the condition that it
// takes away, the reason, what the policy is for, and the verb for putting it right.
type wallRefused struct{ condition, reason, purpose, change string }

// putUp creates a NetworkPolicy of the sandbox, or puts right one that does not stand as it must, and says whether the pass
// may go on.
func (r *MotorRunReconciler) putUp(
	ctx context.Context, s *scope, have, want *networkingv1.NetworkPolicy, stands bool, refused wallRefused,
) (bool, error) {
	switch {
	case have == nil:
		err := r.Create(ctx, want)
		if apierrors.IsAlreadyExists(err) {
			// Another run of the namespace was faster; the next pass looks whether it is as it must be.
			s.wake(s.now.Add(conflictPause))
			return false, nil
		}
		if err != nil {
			return false, refused.block(s, "create", want.Name, err)
		}
		have = want
	case !stands:
		have.Spec = want.Spec
		have.Labels = labels.Merge(have.Labels, want.Labels)
		if want.OwnerReferences != nil {
			have.OwnerReferences = want.OwnerReferences
		}
		if want.Annotations != nil {
			have.Annotations = labels.Merge(have.Annotations, want.Annotations)
		}
		if err := r.Update(ctx, have); err != nil {
			return false, refused.block(s, refused.change, want.Name, err)
		}
	}
	r.states.of(s.run).build(want.Name, identity(have))
	return true, nil
}

// block blocks the run on what the API server refused, and gives any other error back.
func (w wallRefused) block(s *scope, verb, name string, err error) error {
	if !refusedByAPI(err) {
		return fmt.Errorf("%s the NetworkPolicy %s: %w", verb, name, err)
	}
	s.block(w.condition, w.reason, fmt.Sprintf(
		"The API server did not let the manager %s the NetworkPolicy %s, %s: %v. "+
			"Permit it in the quota, webhook or policy that refused it.", verb, name, w.purpose, err), true)
	s.wake(s.now.Add(s.pause()))
	return nil
}

// getPolicy reads a NetworkPolicy past the cache. It gives nil if there is none.
func (r *MotorRunReconciler) getPolicy(ctx context.Context, name, namespace string) (*networkingv1.NetworkPolicy, error) {
	policy := &networkingv1.NetworkPolicy{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, policy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the NetworkPolicy %s: %w", name, err)
	}
	return policy, nil
}
