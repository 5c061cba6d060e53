// SPDX-License-Identifier: Apache-2.0

package runenv

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RefusedForGood reports whether the API server refuses an object and will go on to: a quota or a policy does, or its size. What is refused
// because the namespace goes away is not.
func RefusedForGood(err error) bool {
	return !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) &&
		(apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err))
}
