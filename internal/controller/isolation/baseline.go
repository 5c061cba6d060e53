// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"context"
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
	changed, known := p.State.memories.Of(s.Run).look(sandbox.BaselineName, Identity(have))
	if !s.HasSandbox() {
		return false
	}
	if known || !same {
		return changed || !known
	}
	lost := s.Run.Status.Sandbox.IsolationLossTime
	since := s.Pod.CreationTimestamp.Time
	if created := s.Run.CreationTimestamp.Time; created.After(since) {
		// A pool had it before, and proved it under the policy of that time.
		since = created
	}
	return have.CreationTimestamp.After(since) && (lost == nil || lost.Before(&have.CreationTimestamp))
}

// CloseNamespace ensures that the closing NetworkPolicy of a namespace exists before a sandbox without a run does. It returns the policy's identity, ""
// if the policy is not as it must be, and why the API server refuses it, "" if it does not. In a namespace that is in use it only reads: the passes
// of the runs record that their sandboxes were open before they correct the policy.
func (p *Policies) CloseNamespace(ctx context.Context, namespace string, inUse bool) (closed, refused string, err error) {
	want := sandbox.BaselineNetworkPolicy(namespace, p.Sandbox)
	have, err := p.get(ctx, want.Name, namespace)
	switch {
	case err != nil:
		return "", "", err
	case have != nil && equality.Semantic.DeepEqual(have.Spec, want.Spec):
		return Identity(have), "", nil
	case inUse:
		return "", "", nil
	case have == nil:
		err = p.Create(ctx, want)
	default:
		have.Spec = want.Spec
		err = p.Update(ctx, have)
	}
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err):
		return "", "", nil
	case objects.Refused(err):
		return "", fmt.Sprintf("The API server did not let the manager write the NetworkPolicy %s, without which there is no sandbox: %v.", want.Name, err), nil
	case err != nil:
		return "", "", fmt.Errorf("write the NetworkPolicy %s: %w", want.Name, err)
	}
	// The answer to a write is not believed: a webhook may have changed what was written.
	return "", "", nil
}

// BaselineIdentity returns the identity of the closing NetworkPolicy as the last pass of the run found or made it.
func (p *Policies) BaselineIdentity(run *v1alpha1.MotorRun) string {
	return p.State.memories.Of(run).identities[sandbox.BaselineName]
}
