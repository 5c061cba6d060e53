// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// passes are those of a reconciler over one object in a namespace of its own: what they tell of it, and their clock, which is set by
// hand.
type passes struct {
	t      *testing.T
	ctx    context.Context
	ns     string
	key    client.ObjectKey
	events []string
	notes  []string
	now    time.Time
}

// Eventf makes them the recorder of the reconciler.
func (p *passes) Eventf(_, _ runtime.Object, kind, reason, _, note string, args ...any) {
	if note = fmt.Sprintf(note, args...); len(note) > 1024 {
		p.t.Errorf("the API refuses an event with a note of %d bytes", len(note))
	}
	p.events = append(p.events, kind+" "+reason)
	p.notes = append(p.notes, note)
}

// pass reconciles the object.
func (p *passes) pass(rec reconcile.Reconciler) ctrl.Result {
	p.t.Helper()
	res, err := rec.Reconcile(p.ctx, ctrl.Request{NamespacedName: p.key})
	must(p.t, err)
	return res
}

// passAgain reconciles the object to see that this changes nothing. versions are of everything that the reconciler may write.
func (p *passes) passAgain(rec reconcile.Reconciler, versions func() map[string]string) ctrl.Result {
	p.t.Helper()
	before, events := versions(), len(p.events)
	res := p.pass(rec)
	if diff := cmp.Diff(before, versions()); diff != "" {
		p.t.Errorf("reconciling twice is not the same as once (-once +twice):\n%s", diff)
	}
	if len(p.events) != events {
		p.t.Errorf("reconciling again told of %v", p.events[events:])
	}
	return res
}

// versionsOf are the resource versions of all objects of these kinds in the namespace. Only metadata is read: a rig asks for them before and
// after each pass, and the whole objects would take most of the tests' time.
func (p *passes) versionsOf(kinds ...client.Object) map[string]string {
	p.t.Helper()
	v := map[string]string{}
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, admin.Scheme())
		must(p.t, err)
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		must(p.t, admin.List(p.ctx, list, client.InNamespace(p.ns)))
		for i := range list.Items {
			v[strings.ToLower(strings.TrimPrefix(gvk.Kind, "Motor"))+" "+list.Items[i].Name] = list.Items[i].ResourceVersion
		}
	}
	return v
}
