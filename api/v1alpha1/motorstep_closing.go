// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StepClosing says that nothing more comes of a step, or of the attempt that ended with it.
type StepClosing struct {
	// closeTime is when the last look at the workspace was over.
	// +required
	CloseTime metav1.Time `json:"closeTime"`
	// problem says why not everything could be collected, unset if all was.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Problem string `json:"problem,omitempty"`
}
