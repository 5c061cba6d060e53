// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/signal"
)

// kind is a kind of object that passes are about.
type kind string

const (
	kindCortex kind = "MotorCortex"
	kindRun    kind = "MotorRun"
	kindSkill  kind = "Skill"
)

// subject is an object that passes are about. With the UID, a run that was deleted differs from a later one of its name, and neither is told as the
// other.
type subject struct {
	kind            kind
	namespace, name string
	uid             types.UID
}

func (s subject) key() types.NamespacedName {
	return types.NamespacedName{Namespace: s.namespace, Name: s.name}
}

func subjectOf(k kind, o client.Object) subject {
	s := subject{kind: k, namespace: o.GetNamespace(), name: o.GetName()}
	if k != kindCortex {
		s.uid = o.GetUID()
	}
	return s
}

type queue = workqueue.TypedRateLimitingInterface[request]

// handler requests a pass over an object that has changed.
func (r *Reconciler) handler(k kind) handler.TypedEventHandler[client.Object, request] {
	ask := func(o client.Object, q queue) { q.Add(request{subject: subjectOf(k, o)}) }
	return handler.TypedFuncs[client.Object, request]{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { ask(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { ask(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			if k == kindCortex {
				ask(e.Object, q)
				return
			}
			last, _ := e.Object.(*v1alpha1.MotorRun)
			if last != nil && e.DeleteStateUnknown {
				// The watch missed the deletion, and so it can have missed the end.
				if _, ended := signal.EndOf(last); !ended {
					last = nil
				}
			}
			r.depart(subjectOf(k, e.Object), last)
		},
	}
}

// stepHandler requests a pass over the run of a step.
func stepHandler() handler.TypedEventHandler[client.Object, request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []request {
		owner := metav1.GetControllerOfNoCopy(o)
		if owner == nil {
			return nil
		}
		return []request{{subject: subject{kind: kindRun, namespace: o.GetNamespace(), name: owner.Name, uid: owner.UID}}}
	})
}

// onlyCreated selects new steps: what is told of a step does not change after that.
func onlyCreated() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}
