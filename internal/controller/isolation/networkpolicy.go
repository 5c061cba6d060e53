// SPDX-License-Identifier: Apache-2.0

// Package isolation keeps the sandbox of a run closed. It maintains its NetworkPolicies, records a change of one, and shows the result of the
// isolation proof in the status.
package isolation

import (
	"context"
	"fmt"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// Policies maintains the NetworkPolicies of sandboxes, and records when one of them was not as it must be.
type Policies struct {
	client.Client
	// Live reads past the cache, which has the metadata of policies and not their rules: no sandbox may be made on an old answer.
	Live client.Reader
	// Sandbox is the configuration of sandboxes.
	Sandbox sandbox.Config
	// State is the memory of this process about the policies.
	State *State
}

// State is the memory of a process about NetworkPolicies. The zero value is that of a process which has just begun.
type State struct {
	memories pass.RunCache[memory]
}

// Reported records that the status shows the changed policy.
func (p *Policies) Reported(run *v1alpha1.MotorRun) { p.State.memories.Of(run).changed = false }

// Forget forgets a run.
func (p *Policies) Forget(run *v1alpha1.MotorRun) { p.State.memories.Forget(run.UID) }

// ForgetGone forgets the runs of a name that are gone.
func (p *Policies) ForgetGone(key client.ObjectKey) { p.State.memories.ForgetGone(key) }

// memory is the memory of this process about the NetworkPolicies of a sandbox between two passes.
type memory struct {
	// identities are the policies' identities by their names, as they were found or made last.
	identities map[string]string
	// stood are the versions of the policies as they were seen or made, and were as they must be, by their names.
	stood map[string]version
	// changed is true if one of them was found changed or deleted and no status shows that yet.
	changed bool
}

// version is a policy as the API server has it, and what it had to be.
type version struct {
	uid             types.UID
	resourceVersion string
	domains         []v1alpha1.Domain
}

// refusal describes the status of a run if the API server refuses one of its sandbox's NetworkPolicies: the condition that becomes False, the
// reason, the purpose of the policy, and the verb for its correction.
type refusal struct{ condition, reason, purpose, change string }

// ensure creates a NetworkPolicy of the sandbox, or corrects one that is not as it must be, and reports whether the pass may go on.
func (p *Policies) ensure(
	ctx context.Context, s *pass.Run, have, want *networkingv1.NetworkPolicy, stands bool, refused refusal,
) (bool, error) {
	switch {
	case have == nil:
		err := p.Create(ctx, want)
		if apierrors.IsAlreadyExists(err) {
			// Another run of the namespace was faster; the next pass looks whether it is as it must be.
			s.Wake(s.Now.Add(pass.ConflictPause))
			return false, nil
		}
		if err != nil {
			return false, refused.block(s, "create", want.Name, err)
		}
		have = want
	case !stands:
		have.Spec = want.Spec
		have.Labels = labels.Merge(have.Labels, want.Labels)
		if want.Labels[v1alpha1.LabelRun] == "" {
			// With it the changes of the policy would be shown to that run alone.
			delete(have.Labels, v1alpha1.LabelRun)
		}
		if want.OwnerReferences != nil {
			have.OwnerReferences = want.OwnerReferences
		}
		if want.Annotations != nil {
			have.Annotations = labels.Merge(have.Annotations, want.Annotations)
		}
		if err := p.Update(ctx, have); err != nil {
			return false, refused.block(s, refused.change, want.Name, err)
		}
	}
	st := p.State.memories.Of(s.Run)
	st.build(want.Name, Identity(have))
	if stands {
		// The answer to a write is not looked at: a webhook may have changed what was written.
		st.stand(want.Name, version{have.UID, have.ResourceVersion, s.Domains})
	}
	return true, nil
}

// stands reports whether a policy of a run with a sandbox is the one that was seen last, and was as it must be then. It trusts the cache: the watch
// that fills it triggers a pass when the policy is changed or deleted. Without it each pass of each run would read its policies past the cache.
func (p *Policies) stands(ctx context.Context, s *pass.Run, name string) bool {
	st := p.State.memories.Of(s.Run)
	seen, ok := st.stood[name]
	if !ok || st.changed || !s.HasSandbox() || !slices.Equal(seen.domains, s.Domains) {
		return false
	}
	policy := &networkingv1.NetworkPolicy{}
	err := p.Get(ctx, client.ObjectKey{Namespace: s.Run.Namespace, Name: name}, policy)
	return err == nil && policy.UID == seen.uid && policy.ResourceVersion == seen.resourceVersion
}

// block blocks the run if the API server refused the policy, and returns any other error.
func (w refusal) block(s *pass.Run, verb, name string, err error) error {
	if !objects.Refused(err) {
		return fmt.Errorf("%s the NetworkPolicy %s: %w", verb, name, err)
	}
	s.Block(w.condition, w.reason, fmt.Sprintf(
		"The API server did not let the manager %s the NetworkPolicy %s, %s: %v. "+
			"Permit it in the quota, webhook or policy that refused it.", verb, name, w.purpose, err), true)
	s.Wake(s.Now.Add(s.Pause()))
	return nil
}

// get reads a NetworkPolicy past the cache. It returns nil if there is none.
func (p *Policies) get(ctx context.Context, name, namespace string) (*networkingv1.NetworkPolicy, error) {
	policy := &networkingv1.NetworkPolicy{}
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, policy)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get the NetworkPolicy %s: %w", name, err)
	}
	return policy, nil
}

// Identity returns the UID and the generation of a NetworkPolicy: the API server counts the changes of its spec. It is "" for none.
func Identity(p *networkingv1.NetworkPolicy) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%s/%d", p.UID, p.Generation)
}

// look compares the NetworkPolicy of the sandbox that was found with the one that this process saw last. A policy that was changed and changed
// back, or that another run's pass has corrected, counts as changed too: the sandbox was open in between.
func (st *memory) look(policy, found string) (changed, known bool) {
	last, known := st.identities[policy]
	st.build(policy, found)
	return known && last != found, known
}

// build records a NetworkPolicy as this process made it.
func (st *memory) build(policy, made string) {
	if st.identities == nil {
		st.identities = map[string]string{}
	}
	st.identities[policy] = made
}

// stand records that a policy is as it must be.
func (st *memory) stand(policy string, v version) {
	if st.stood == nil {
		st.stood = map[string]version{}
	}
	st.stood[policy] = v
}

// noteChange records that a NetworkPolicy of the sandbox was changed or deleted, and reports whether the pass must end with that. The next pass
// corrects the policy, when the status shows that the sandbox was open. If one pass did both, a manager that ended in between would leave a correct
// policy, and no record that it was wrong. The write may fail too, so the change is remembered until the status has it.
func (p *Policies) noteChange(s *pass.Run, changed bool) (first bool) {
	st := p.State.memories.Of(s.Run)
	st.changed = st.changed || changed
	if !st.changed || s.PolicyChanged || !s.HasSandbox() {
		return false
	}
	s.PolicyChanged = true
	lose(s)
	s.Wake(s.Now)
	return true
}

// lose records that the sandbox's isolation must be proved again. Each loss has an instant of its own. Otherwise the engine would mistake a loss
// for one that it knows of from the same second.
func lose(s *pass.Run) {
	sb := s.Run.Status.Sandbox
	at := runpolicy.LostAt(s.Progress, s.Now)
	if sb.IsolationLossTime != nil && !at.After(sb.IsolationLossTime.Time) {
		at = metav1.NewTime(sb.IsolationLossTime.Add(time.Second))
	}
	sb.IsolationLossTime = &at
	Show(s)
}
