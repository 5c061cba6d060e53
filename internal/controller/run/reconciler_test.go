// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// Runs that are there at a failover have a low priority in their first pass. On a busy leader one that failed would not have a second.
func TestAPassThatFailedIsRepeatedWithThePriorityOfAllOthers(t *testing.T) {
	t.Parallel()
	r := &Reconciler{Client: fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("connection refused")
		},
	}).Build()}
	res, err := r.Reconcile(t.Context(), ctrl.Request{})
	if err == nil || res.Priority == nil || *res.Priority != 0 || res.RequeueAfter != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// A line before the write, or after a write that was refused, would tell of a change that never was, and again in the next pass.
func TestALineOfTheLogFollowsAStoredChange(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "n", UID: "u"}}
	refused := true
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(run).WithStatusSubresource(run).WithInterceptorFuncs(interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, to client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if refused {
				return errors.New("the object has been modified")
			}
			return to.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()
	var out bytes.Buffer
	r := &Reconciler{Client: c, Recorder: events.NewFakeRecorder(100), Logger: slog.New(slog.NewTextHandler(&out, nil))}
	write := func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(run), run); err != nil {
			t.Fatal(err)
		}
		s := pass.NewRun(run, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
		s.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonQueued, "It waits.")
		return r.writeStatus(t.Context(), s)
	}
	if err := write(); err == nil || out.Len() > 0 {
		t.Fatalf("a refused write is %v, and logged as %q", err, &out)
	}
	refused = false
	for range 2 {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(out.String(), "of=Accepted from=\"\" to=False/Queued"); n != 1 {
		t.Errorf("the log has %d lines of the change: %s", n, &out)
	}
}

// A pass over the version that was just replaced would repeat what the last one did, and its write would be refused.
func TestAPassWaitsUntilTheCacheShowsTheLastWrite(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "n", UID: "u"}}
	var looked error
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(run).WithInterceptorFuncs(interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			looked = errors.New("the pass looks further")
			return looked
		},
	}).Build()
	r := &Reconciler{Client: c, Live: c, Now: time.Now}
	reconcile := func() (ctrl.Result, error) {
		return r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(run)})
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(run), run); err != nil {
		t.Fatal(err)
	}
	next := run.DeepCopy()
	next.ResourceVersion += "0"
	r.writes.Note(run, next, time.Now())
	if res, err := reconcile(); err != nil || looked != nil || res.RequeueAfter != pass.ConflictPause {
		t.Errorf("behind its own write: %+v, %v, %v", res, err, looked)
	}
	r.writes.Note(next, run, time.Now())
	if _, err := reconcile(); err == nil || looked == nil {
		t.Errorf("with the written version: %v, %v", err, looked)
	}
}
