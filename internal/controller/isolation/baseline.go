// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// Baseline ensures that the namespace's closing NetworkPolicy exists, as it must be, before any sandbox does. It corrects a policy that was edited
// or deleted, and has the sandboxes that the policy closes tested again.
func (p *Policies) Baseline(ctx context.Context, s *pass.Run) (bool, error) {
	if p.stands(ctx, s, sandbox.BaselineName) {
		return true, nil
	}
	want := sandbox.BaselineNetworkPolicy(s.Run.Namespace, p.Sandbox)
	// Read past the cache: it holds our label's policies only, and a sandbox must not be created on an old answer.
	have, err := p.get(ctx, want.Name, want.Namespace)
	if err != nil {
		return false, err
	}
	same := have != nil && equality.Semantic.DeepEqual(have.Spec, want.Spec)
	if p.noteChange(s, p.baselineChanged(s, have, same)) {
		return false, nil
	}
	// The engine relies on the condition: a run does nothing more while its namespace is open.
	return p.ensure(ctx, s, have, want, same && objects.HasLabels(have, want.Labels) && have.Labels[v1alpha1.LabelRun] == "", refusal{
		v1alpha1.ConditionSandboxReady, v1alpha1.ReasonBaselineRefused, "without which there is no sandbox", "restore",
	})
}

// baselineChanged reports whether the sandbox was open since it was checked last. The policy applies to every sandbox of the namespace, so the pass
// of another run may have corrected it before this one. Then its identity is another one than before, or it is younger than the Pod.
func (p *Policies) baselineChanged(s *pass.Run, have *networkingv1.NetworkPolicy, same bool) bool {
	changed, known := p.State.memories.Of(s.Run).look(sandbox.BaselineName, identity(have))
	if !s.HasSandbox() {
		return false
	}
	if known || !same {
		return changed || !known
	}
	lost := s.Run.Status.Sandbox.IsolationLossTime
	return have.CreationTimestamp.After(s.Pod.CreationTimestamp.Time) && (lost == nil || lost.Before(&have.CreationTimestamp))
}
