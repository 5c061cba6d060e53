// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"context"
	"errors"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/internal/sandbox"
)

// The policies of a namespace as CloseNamespace finds them.
const (
	missing = "missing"
	wrong   = "wrong"
	right   = "right"
)

// withBaseline makes the closing policy of the namespace.
func (r *rig) withBaseline(state string) {
	r.t.Helper()
	if state == missing {
		return
	}
	p := sandbox.BaselineNetworkPolicy("ns", r.p.Sandbox)
	p.UID, p.Generation = "policy", 7
	if state == wrong {
		p.Spec.Egress = append(p.Spec.Egress, networkingv1.NetworkPolicyEgressRule{})
	}
	if err := r.c.Create(r.t.Context(), p); err != nil {
		r.t.Fatal(err)
	}
}

// baseline returns the state of the closing policy.
func (r *rig) baseline() string {
	r.t.Helper()
	p := &networkingv1.NetworkPolicy{}
	err := r.c.Get(r.t.Context(), client.ObjectKey{Namespace: "ns", Name: sandbox.BaselineName}, p)
	switch want := sandbox.BaselineNetworkPolicy("ns", r.p.Sandbox); {
	case apierrors.IsNotFound(err):
		return missing
	case err != nil:
		r.t.Fatal(err)
	case equality.Semantic.DeepEqual(p.Spec, want.Spec):
		return right
	}
	return wrong
}

// A pool closes its namespace before it has a sandbox. In a namespace with runs it only looks: a run records that its sandbox was open, and a policy
// that was corrected before would hide that.
func TestCloseNamespace(t *testing.T) {
	t.Parallel()
	policies := schema.GroupResource{Group: "networking.k8s.io", Resource: "networkpolicies"}
	for name, tt := range map[string]struct {
		state string
		inUse bool
		// answer is that to a write, nil if it is carried out.
		answer error
		// closed reports whether it returns an identity, and refused is in its text.
		closed        bool
		refused       string
		fails         bool
		after         string
		closedAtAgain bool
	}{
		"missing":                              {state: missing, after: right, closedAtAgain: true},
		"wrong":                                {state: wrong, after: right, closedAtAgain: true},
		"right":                                {state: right, closed: true, after: right, closedAtAgain: true},
		"missing and in use":                   {state: missing, inUse: true, after: missing},
		"wrong and in use":                     {state: wrong, inUse: true, after: wrong},
		"right and in use":                     {state: right, inUse: true, closed: true, after: right, closedAtAgain: true},
		"missing, and forbidden":               {state: missing, answer: apierrors.NewForbidden(policies, "x", errors.New("no quota")), refused: "no quota", after: missing},
		"wrong, and forbidden":                 {state: wrong, answer: apierrors.NewForbidden(policies, "x", errors.New("by a webhook")), refused: "by a webhook", after: wrong},
		"missing, and made by another":         {state: missing, answer: apierrors.NewAlreadyExists(policies, "x"), after: missing},
		"wrong, and changed by another":        {state: wrong, answer: apierrors.NewConflict(policies, "x", errors.New("changed")), after: wrong},
		"missing, and no answer":               {state: missing, answer: errors.New("connection reset by peer"), fails: true, after: missing},
		"wrong, and no answer":                 {state: wrong, answer: errors.New("connection reset by peer"), fails: true, after: wrong},
		"right, where nothing can be written":  {state: right, answer: apierrors.NewForbidden(policies, "x", errors.New("no")), closed: true, after: right, closedAtAgain: true},
		"in use, where nothing can be written": {state: wrong, inUse: true, answer: errors.New("written in use"), after: wrong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.withBaseline(tt.state)
			r.p.Client = interceptor.NewClient(r.c.(client.WithWatch), interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					if tt.answer != nil {
						return tt.answer
					}
					return c.Create(ctx, o, opts...)
				},
				Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
					if tt.answer != nil {
						return tt.answer
					}
					return c.Update(ctx, o, opts...)
				},
			})
			closed, refused, err := r.p.CloseNamespace(t.Context(), "ns", tt.inUse)
			if (closed != "") != tt.closed || (refused == "") != (tt.refused == "") || !strings.Contains(refused, tt.refused) {
				t.Errorf("closed %q, refused %q", closed, refused)
			}
			if tt.fails != (err != nil) || err != nil && !errors.Is(err, tt.answer) {
				t.Errorf("fails with %v", err)
			}
			if got := r.baseline(); got != tt.after {
				t.Errorf("afterwards it is %s, want %s", got, tt.after)
			}
			if tt.answer != nil {
				return
			}
			// The answer to a write is not believed, and the next look is.
			if closed, refused, err = r.p.CloseNamespace(t.Context(), "ns", tt.inUse); (closed != "") != tt.closedAtAgain || refused != "" || err != nil {
				t.Errorf("at the next look: closed %q, refused %q, %v", closed, refused, err)
			}
		})
	}
}

// A sandbox that was proved under one policy is not closed by another one, nor by one that was changed and changed back.
func TestTheIdentityOfABaselineChangesWithIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	look := func() string {
		t.Helper()
		closed, _, err := r.p.CloseNamespace(t.Context(), "ns", false)
		if err != nil || closed == "" {
			t.Fatalf("closed %q, %v", closed, err)
		}
		return closed
	}
	r.withBaseline(right)
	first := look()
	p := r.policy(sandbox.BaselineName)
	p.Generation += 2
	if err := r.c.Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	second := look()
	if err := r.c.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	p.UID, p.ResourceVersion = "another", ""
	if err := r.c.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	third := look()
	if first == second || second == third || look() != third {
		t.Errorf("%q, %q, %q", first, second, third)
	}
	// The pass of a run has the same one: a sandbox is taken only if both agree.
	r.run.Status.Sandbox, r.pod = nil, nil
	if goOn, _, _ := r.pass(); !goOn || r.p.BaselineIdentity(r.run) != third {
		t.Errorf("the run's is %q, the pool's %q", r.p.BaselineIdentity(r.run), third)
	}
}

func TestANamespaceThatCannotBeRead(t *testing.T) {
	t.Parallel()
	r, away := newRig(t), errors.New("away")
	r.p.Live = interceptor.NewClient(r.c.(client.WithWatch), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return away
		},
	})
	if closed, refused, err := r.p.CloseNamespace(t.Context(), "ns", false); closed != "" || refused != "" || !errors.Is(err, away) {
		t.Errorf("closed %q, refused %q, %v", closed, refused, err)
	}
}
