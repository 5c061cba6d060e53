// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// Route opens the sandbox's way to the egress proxy, and to nothing else, if the run has domains. It does so before the Pod exists, because a
// network takes a moment until it follows. It closes the way again when the run has no domains any more.
func (p *Policies) Route(ctx context.Context, s *pass.Run) (bool, error) {
	s.Domains, s.LeftOut = runpolicy.Domains(s.Run, s.Progress, s.Bounds), runpolicy.LeftOut(s.Run, s.Progress, s.Bounds)
	if len(s.Domains) == 0 {
		return true, p.CloseRoute(ctx, s.Run)
	}
	if p.stands(ctx, s, sandbox.EgressPolicyName(s.Run)) {
		return true, nil
	}
	want := sandbox.EgressNetworkPolicy(s.Run, s.Domains, p.Sandbox)
	have, err := p.get(ctx, want.Name, want.Namespace)
	if err != nil {
		return false, err
	}
	if have != nil && isForeign(have, want, s.Run) {
		routeTaken(s, have)
		return false, nil
	}
	if p.noteChange(s, p.routeChanged(s, have, want)) {
		return false, nil
	}
	stands := have != nil && sandbox.SamePolicy(have, want) && sandbox.SameDomains(have, want)
	return p.ensure(ctx, s, have, want, stands, refusal{
		v1alpha1.ConditionEgressReady, v1alpha1.ReasonRouteRefused, "which opens the way to the egress proxy", "update",
	})
}

// routeChanged reports whether the policy was changed, or was deleted after the run had it. Other domains do not change the policy: the proxy
// decides about them.
func (p *Policies) routeChanged(s *pass.Run, have, want *networkingv1.NetworkPolicy) bool {
	changed, known := p.State.memories.Of(s.Run).look(want.Name, Identity(have))
	switch {
	case !s.HasSandbox():
		return false
	case known:
		return changed
	case have == nil:
		// The status shows a way out that a former process has opened.
		return s.Run.Status.Egress != nil && len(s.Run.Status.Egress.Domains) > 0
	}
	return !sandbox.SamePolicy(have, want)
}

// CloseRoute deletes the run's policy if there is one. It trusts the cache, which learns of the policy sooner or later, and then triggers a pass of
// this run.
func (p *Policies) CloseRoute(ctx context.Context, run *v1alpha1.MotorRun) error {
	name := sandbox.EgressPolicyName(run)
	st := p.State.memories.Of(run)
	delete(st.identities, name)
	delete(st.stood, name)
	policy := &networkingv1.NetworkPolicy{}
	err := p.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: name}, policy)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get the NetworkPolicy %s: %w", name, err)
	}
	if !objects.OwnedByRun(policy, run) {
		return nil
	}
	if err := objects.Delete(ctx, p.Client, policy); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete the NetworkPolicy %s: %w", name, err)
	}
	return nil
}

// isForeign reports whether a policy of that name does not belong to the run. A policy that lost its owner is the run's by its labels.
func isForeign(have, want *networkingv1.NetworkPolicy, run *v1alpha1.MotorRun) bool {
	if metav1.GetControllerOfNoCopy(have) == nil {
		return !objects.HasLabels(have, want.Labels)
	}
	return !objects.OwnedByRun(have, run)
}

func routeTaken(s *pass.Run, have *networkingv1.NetworkPolicy) {
	s.Block(v1alpha1.ConditionEgressReady, v1alpha1.ReasonRouteRefused, fmt.Sprintf(
		"The NetworkPolicy %s exists and is not this run's. Delete it; the run goes on when it is gone.", have.Name), true)
	s.Wake(s.Now.Add(s.Pause()))
}
