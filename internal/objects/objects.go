// SPDX-License-Identifier: Apache-2.0

// Package objects has what controllers do to objects of any kind. It finds the owner of an object, deletes the very object that was read, and
// distinguishes the API server's answers about an object from errors.
package objects

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// OwnedByRun reports whether the run controls an object. Unlike metav1.IsControlledBy it compares more than the UID. Any client can write the UID
// under another kind, past the admission policy for owner references to runs.
func OwnedByRun(o metav1.Object, run *v1alpha1.MotorRun) bool {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || ref.UID != run.UID || ref.Name != run.Name || ref.Kind != "MotorRun" {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == v1alpha1.GroupVersion.Group
}

// Refused reports whether an error is the API server's answer about the object, or about its own state, and not a
// defect of the pass. A person must change something, so the status must say so.
func Refused(err error) bool {
	// A webhook that cannot be reached is an internal error.
	return Wrong(err) || apierrors.IsForbidden(err) || apierrors.IsInternalError(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}

// Wrong reports whether an error is the API server's answer that an object can never be as it is. The same object is refused again later.
func Wrong(err error) bool {
	// A policy says that something is too large, and a webhook that gives no code has 400.
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// HasLabels reports whether an object has the labels. It ignores further ones: a controller that removed them would undo the work of another one,
// again and again.
func HasLabels(o client.Object, want labels.Set) bool {
	return labels.SelectorFromSet(want).Matches(labels.Set(o.GetLabels()))
}

// Delete deletes this very object. It does not delete an object that has taken its name since then, and returns a conflict.
func Delete(ctx context.Context, w client.Writer, o client.Object) error {
	uid := o.GetUID()
	return w.Delete(ctx, o, client.Preconditions{UID: &uid})
}
