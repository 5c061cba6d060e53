// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// showTools says of a run that has search_web whether its model is offered that tool: without a provider the model is not told of it, and
// whoever granted it would wonder why nothing was searched.
func (r *MotorRunReconciler) showTools(ctx context.Context, s *scope) error {
	if !slices.Contains(s.run.Spec.Tools, v1alpha1.ToolName(toolapi.ToolSearchWeb)) {
		return nil
	}
	cortex, err := r.cortex(ctx, r.Client, s.run.Namespace)
	if err != nil {
		return err
	}
	if cortex.Spec.Search == nil {
		s.set(v1alpha1.ConditionToolsOffered, metav1.ConditionFalse, v1alpha1.ReasonSearchNotConfigured,
			"The model is not offered search_web: the MotorCortex \"default\" of the namespace has no spec.search. The run goes on without it.")
		return nil
	}
	s.set(v1alpha1.ConditionToolsOffered, metav1.ConditionTrue, v1alpha1.ReasonToolsOffered, "The model is offered all tools of spec.tools.")
	return nil
}
