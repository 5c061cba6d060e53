// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestOwnedByRun(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "run", UID: "1"}}
	for name, tt := range map[string]struct {
		change func(*metav1.OwnerReference)
		want   bool
	}{
		"its own":                 {func(*metav1.OwnerReference) {}, true},
		"an older version":        {func(o *metav1.OwnerReference) { o.APIVersion = v1alpha1.GroupVersion.Group + "/v1alpha0" }, true},
		"another UID":             {func(o *metav1.OwnerReference) { o.UID = "2" }, false},
		"another name":            {func(o *metav1.OwnerReference) { o.Name = "other" }, false},
		"another kind":            {func(o *metav1.OwnerReference) { o.Kind = "MotorStep" }, false},
		"another group":           {func(o *metav1.OwnerReference) { o.APIVersion = "example.com/v1alpha1" }, false},
		"no version at all":       {func(o *metav1.OwnerReference) { o.APIVersion = "a/b/c" }, false},
		"an owner, no controller": {func(o *metav1.OwnerReference) { o.Controller = nil }, false},
	} {
		ref := *metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("MotorRun"))
		tt.change(&ref)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{ref}}}
		if got := OwnedByRun(pod, run); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if OwnedByRun(&corev1.Pod{}, run) {
		t.Error("an object without owner")
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	for name, tt := range map[string]struct {
		err         error
		want, wrong bool
	}{
		"none":           {nil, false, false},
		"forbidden":      {apierrors.NewForbidden(pods, "a", errors.New("quota")), true, false},
		"webhook":        {apierrors.NewInternalError(errors.New("failed calling webhook")), true, false},
		"too many":       {apierrors.NewTooManyRequestsError("later"), true, false},
		"invalid":        {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil), true, true},
		"too large":      {apierrors.NewRequestEntityTooLargeError("texts"), true, true},
		"denied":         {apierrors.NewBadRequest("admission webhook denied the request"), true, true},
		"conflict":       {apierrors.NewConflict(pods, "a", errors.New("changed")), false, false},
		"already exists": {apierrors.NewAlreadyExists(pods, "a"), false, false},
		"no answer":      {errors.New("connection refused"), false, false},
	} {
		if got := Refused(tt.err); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
		if got := Wrong(tt.err); got != tt.wrong {
			t.Errorf("%s: wrong is %t", name, got)
		}
	}
}

func TestHasLabels(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "1", "b": "2"}}}
	for name, tt := range map[string]struct {
		want map[string]string
		has  bool
	}{
		"none":        {nil, true},
		"one of two":  {map[string]string{"a": "1"}, true},
		"other value": {map[string]string{"a": "2"}, false},
		"missing":     {map[string]string{"a": "1", "c": "3"}, false},
	} {
		if got := HasLabels(pod, tt.want); got != tt.has {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A deletion names the UID, so that a later object of the same name stays.
func TestDeleteNamesTheUID(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "1"}}
	var named *types.UID
	c := fake.NewClientBuilder().WithObjects(pod).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			var all client.DeleteOptions
			all.ApplyOptions(opts)
			named = all.Preconditions.UID
			return c.Delete(ctx, o)
		},
	}).Build()
	if err := Delete(t.Context(), c, pod); err != nil || named == nil || *named != "1" {
		t.Errorf("%v, UID %v", err, named)
	}
	if err := Delete(t.Context(), c, pod); !apierrors.IsNotFound(err) {
		t.Errorf("it is gone: %v", err)
	}
}
