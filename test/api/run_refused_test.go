// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/sandbox"
)

func isPolicy(o client.Object) bool { _, ok := o.(*networkingv1.NetworkPolicy); return ok }

// refuse has the API server answer the writes of some objects with an error.
func (r *rig) refuse(which func(client.Object) bool, err error) {
	r.rec.Client = interceptor.NewClient(manager, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if which(o) {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if which(o) {
				return err
			}
			return c.Update(ctx, o, opts...)
		},
	})
}

// refusals are the answers that somebody has to do something about.
func refusals() map[string]error {
	gr := schema.GroupResource{Resource: "any"}
	return map[string]error{
		"Forbidden":       apierrors.NewForbidden(gr, "o", errors.New("a policy")),
		"Invalid":         apierrors.NewInvalid(schema.GroupKind{Kind: "Any"}, "o", nil),
		"InternalError":   apierrors.NewInternalError(errors.New(`failed calling webhook "w"`)),
		"ServerTimeout":   apierrors.NewServerTimeout(gr, "create", 1),
		"TooManyRequests": apierrors.NewTooManyRequests("later", 1),
	}
}

func TestRefusalIsSaid(t *testing.T) {
	for name, refusal := range refusals() {
		for what, tt := range map[string]struct {
			which  func(client.Object) bool
			reason string
		}{
			"baseline": {isPolicy, "BaselineRefused"}, "Pod": {isPod, "SandboxRefused"},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				r := newRig(t)
				r.refuse(tt.which, refusal)
				r.wantBlocked("SandboxReady", tt.reason, refusal.Error())
				if !slices.Contains(r.events, "Warning "+tt.reason) {
					t.Errorf("events %v", r.events)
				}
				if r.pod() != nil {
					t.Error("there is a sandbox")
				}
				r.rec.Client = manager
				r.step()
				r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting", "Stalled ")
			})
		}
	}
}

// What is no refusal is an error of the pass, which comes again by itself.
func TestOtherErrorsAreErrors(t *testing.T) {
	for what, which := range map[string]func(client.Object) bool{"baseline": isPolicy, "Pod": isPod} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.refuse(which, errors.New("connection refused"))
			if _, err := r.rec.Reconcile(r.ctx, ctrl.Request{NamespacedName: r.key}); err == nil {
				t.Error("no error")
			}
		})
	}
}

// A run does nothing more while its namespace is open, and the engine goes by SandboxReady.
func TestBaselineThatCannotBeRestored(t *testing.T) {
	r := newRig(t)
	r.ready()
	policy := &networkingv1.NetworkPolicy{}
	must(t, admin.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: sandbox.BaselineName}, policy))
	policy.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{}}
	must(t, manager.Update(r.ctx, policy))
	r.refuse(isPolicy, refusals()["Forbidden"])
	r.settle()
	r.wantBlocked("SandboxReady", "BaselineRefused", "restore the NetworkPolicy")
	r.rec.Client = manager
	r.step()
	r.want(v1alpha1.PhaseRunning, "SandboxReady True SandboxReady", "Stalled ")
}

// An old run looks less often than a new one.
func TestBlockedRunsGetSlower(t *testing.T) {
	blocks := map[string]func(*rig){
		"not accepted": func(r *rig) { r.rec.Models.Default.Model = "" },
		"no baseline":  func(r *rig) { r.refuse(isPolicy, refusals()["Forbidden"]) },
		"no Pod":       func(r *rig) { r.refuse(isPod, refusals()["Forbidden"]) },
	}
	for name, block := range blocks {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(run *v1alpha1.MotorRun) { run.Spec.Limits.ActiveDeadlineSeconds = 86400 })
			block(r)
			created := r.run().CreationTimestamp
			for age, want := range map[time.Duration]time.Duration{
				-time.Minute: 5 * time.Second, time.Second: 5 * time.Second, 50 * time.Second: 5 * time.Second, 200 * time.Second: 20 * time.Second,
				600 * time.Second: time.Minute, 10 * time.Hour: time.Minute,
			} {
				r.now = created.Add(age)
				if got := r.once().RequeueAfter.Round(time.Second); got != want {
					t.Errorf("looks again after %s at the age of %s, want %s", got, age, want)
				}
			}
		})
	}
}

// A Pod that bears the run's mark and is not what the manager makes was put there by somebody else.
func TestForgedPodIsNotTaken(t *testing.T) {
	for name, lag := range map[string]bool{"found": false, "in the way": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			forged := sandbox.Pod(r.run(), r.rec.Config.Sandbox)
			forged.Spec.Containers[0].Image = "forged.example.org/image:1"
			must(t, manager.Create(r.ctx, forged))
			if lag {
				r.lag(isPod)
			}
			r.once()
			if st := r.run().Status; st.Sandbox != nil || strings.Contains(st.Message, "forged") {
				t.Errorf("sandbox %+v, message %q", st.Sandbox, st.Message)
			}
			r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxReplaced", "Stalled ")
			r.rec.Client = manager
			r.settle()
			r.want(v1alpha1.PhaseCreated, "SandboxReady False SandboxStarting", "Stalled ")
			if pod := r.pod(); pod == nil || pod.UID == forged.UID {
				t.Errorf("the sandbox is %v", pod)
			}
		})
	}
}

// The UID alone makes no owner: under another kind everybody may write it.
func TestOwnerOfAnotherKindIsNone(t *testing.T) {
	r := newRig(t)
	forged := sandbox.Pod(r.run(), r.rec.Config.Sandbox)
	forged.OwnerReferences[0].APIVersion, forged.OwnerReferences[0].Kind = "v1", "ConfigMap"
	must(t, manager.Create(r.ctx, forged))
	r.wantBlocked("SandboxReady", "SandboxNameTaken", "is not this run's")
	r.patchSpec(`{"cancel":true}`)
	r.step()
	r.want(v1alpha1.PhaseCancelled, "Finished True Cancelled")
	r.once()
	if r.pod() == nil {
		t.Error("a Pod was deleted that is not the run's")
	}
}
