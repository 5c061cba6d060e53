// SPDX-License-Identifier: Apache-2.0

package controller

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"k8s.io/apimachinery/pkg/labels"
	"motorcortex.dev/motorcortex/api/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// isOwn reports whether the run controls an object. Unlike metav1.IsControlledBy it looks at more than the UID, which anybody
// can write under another kind, past the admission policy for owner references to runs.
func isOwn(o metav1.Object, run *v1alpha1.MotorRun) bool {
	ref := metav1.GetControllerOfNoCopy(o)
	if ref == nil || ref.UID != run.UID || ref.Name != run.Name || ref.Kind != "MotorRun" {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && gv.Group == v1alpha1.GroupVersion.Group
}

// refusedByAPI reports whether an error is the API server's answer about the object, or about its own state, and not a
// defect of the pass: somebody has to do something about it, so the run must say so.
func refusedByAPI(err error) bool {
	// A webhook that cannot be reached is an internal error.
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsInternalError(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}

// hasLabels leaves labels of others alone: who adds some must not start a fight.
func hasLabels(o client.Object, want labels.Set) bool {
	return labels.SelectorFromSet(want).Matches(labels.Set(o.GetLabels()))
}
