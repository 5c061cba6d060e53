// SPDX-License-Identifier: Apache-2.0

// Package isolation keeps the sandbox of a run closed: its NetworkPolicies stand as they must, a change of one is noted, and the status says
// what the proof of the isolation came to.
package isolation

import (
	"context"
	"fmt"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/objects"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

// Policies keeps the NetworkPolicies of sandboxes as they must be, and notes when one of them was not.
type Policies struct {
	client.Client
	// Live reads past the cache: no sandbox may be made on an old answer.
	Live client.Reader
	// Sandbox is how sandboxes are made.
	Sandbox sandbox.Config
	// State is what this process remembers of the policies.
	State *State
}

// State is what a process remembers of NetworkPolicies. The zero value is that of a process which has just begun.
type State struct {
	memories pass.RunCache[memory]
}

// Reported notes that the status says of a changed policy.
func (p *Policies) Reported(run *v1alpha1.MotorRun) { p.State.memories.Of(run).changed = false }

// Forget forgets a run.
func (p *Policies) Forget(run *v1alpha1.MotorRun) { p.State.memories.Forget(run.UID) }

// ForgetGone forgets the runs of a name that are gone.
func (p *Policies) ForgetGone(key client.ObjectKey) { p.State.memories.ForgetGone(key) }

// memory is what this process remembers of the NetworkPolicies of a sandbox between two passes.
type memory struct {
	// identities are those of the policies by their names, as they were found or made last.
	identities map[string]string
	// changed says that one of them was found changed or deleted, which no status says yet.
	changed bool
}

// refusal is what is said of a run if the API server refuses one of its sandbox's NetworkPolicies: the condition that it
// takes away, the reason, what the policy is for, and the verb for putting it right.
type refusal struct{ condition, reason, purpose, change string }

// ensure creates a NetworkPolicy of the sandbox, or puts right one that does not stand as it must, and reports whether the pass
// may go on.
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
	p.State.memories.Of(s.Run).build(want.Name, identity(have))
	return true, nil
}

// block blocks the run on what the API server refused, and gives any other error back.
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

// get reads a NetworkPolicy past the cache. It gives nil if there is none.
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

// identity names a NetworkPolicy and what it says: the API server counts the changes of its spec. It is "" for none.
func identity(p *networkingv1.NetworkPolicy) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%s/%d", p.UID, p.Generation)
}

// look compares a NetworkPolicy of the sandbox, as it was found, with what this process saw of it last. A policy that was changed and
// changed back, or that another run's pass has put right, counts as changed too: the sandbox was open in between.
func (st *memory) look(policy, found string) (changed, known bool) {
	last, known := st.identities[policy]
	st.build(policy, found)
	return known && last != found, known
}

// build notes a NetworkPolicy as this process made it.
func (st *memory) build(policy, made string) {
	if st.identities == nil {
		st.identities = map[string]string{}
	}
	st.identities[policy] = made
}

// noteChange notes that a NetworkPolicy of the sandbox was changed or deleted, and reports whether the pass must end with that: the
// next pass puts the policy right, when the status says that the sandbox was open. A manager that ended in between would leave a policy
// that is right, and no record that it was not. The write may fail too, so the change is remembered until the status has it.
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

// lose notes that the sandbox's isolation has to be proved again. Each loss has an instant of its own, or the engine would
// take a loss in the same second as one that it knows of for that one.
func lose(s *pass.Run) {
	sb := s.Run.Status.Sandbox
	at := runpolicy.LostAt(s.Progress, s.Now)
	if sb.IsolationLostAt != nil && !at.After(sb.IsolationLostAt.Time) {
		at = metav1.NewTime(sb.IsolationLostAt.Add(time.Second))
	}
	sb.IsolationLostAt = &at
	Show(s)
}
