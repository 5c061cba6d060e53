// SPDX-License-Identifier: Apache-2.0

package runenv

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// RefusedForGood reports whether the API server refuses an object permanently, because of a quota, a policy or its size. A refusal
// because the namespace is terminating does not count.
func RefusedForGood(err error) bool {
	return !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) &&
		(apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err))
}
