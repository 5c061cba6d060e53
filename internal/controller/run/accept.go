// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/inputs"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/cortex"
	"motorcortex.dev/motorcortex/internal/credential"
	"motorcortex.dev/motorcortex/internal/runpolicy"
	"motorcortex.dev/motorcortex/internal/runpolicy/reach"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// accept checks the objects that the run names, before it asks for a slot. An accepted run stays accepted.
func (r *Reconciler) accept(ctx context.Context, s *pass.Run) (bool, error) {
	if err := r.showTools(ctx, s); err != nil {
		return false, err
	}
	if pass.IsAccepted(s.Run) {
		return true, nil
	}
	if !runpolicy.HasModel(s.Run) {
		// Nor may it have anything else that could be missing.
		return true, nil
	}
	models, reviews := r.Models, credential.Reviewer(r.Client)
	if r.Recent != nil {
		models.Secrets, reviews = r.Recent.Within(s.Age()), r.Recent.Asking(s.Age())
	}
	endpoint, err := models.Resolve(ctx, s.Run)
	if err == nil {
		err = inputs.Review(ctx, reviews, r.Live, s.Run, r.Config.Archive)
	}
	if err == nil {
		err = inputs.Check(ctx, r.Live, s.Run, r.Config.Archive)
	}
	if p, ok := cortex.AsProblem(err); ok {
		s.Block(v1alpha1.ConditionAccepted, p.Reason, p.Message, true)
		// A missing Secret or ConfigMap is looked up again: they are not watched, because that would require the right to read all of them.
		s.Wake(s.Now.Add(s.Pause()))
		return false, nil
	}
	if err != nil {
		return false, err
	}
	s.Run.Status.Model = endpoint.Model
	showExposure(s)
	return true, nil
}

// refuse sets the condition for a run that is not accepted. The run waits until the reason disappears, or ends if nothing can change it.
func refuse(s *pass.Run, r *reach.Refusal, stalled bool) {
	s.Block(v1alpha1.ConditionAccepted, r.Reason, r.Message, stalled)
	s.Wake(s.Now.Add(s.Pause()))
	if r.Final {
		end(s, refused(r.Reason, r.Message))
	}
}

func refused(reason, message string) *runpolicy.End {
	return &runpolicy.End{Phase: v1alpha1.PhaseFailed, Reason: reason, Message: message, Failure: &v1alpha1.FailureSummary{
		Category: v1alpha1.CategoryInvalidTask, Reason: reason, Message: message,
		SuggestedAction: runpolicy.SuggestedAction(v1alpha1.CategoryInvalidTask, reason, false),
	}}
}

// showTools shows for a run that has search_web whether its model is offered that tool. Without a provider the model does not get the tool, and the
// person who granted it would wonder why nothing was searched.
func (r *Reconciler) showTools(ctx context.Context, s *pass.Run) error {
	if !slices.Contains(s.Run.Spec.Tools, v1alpha1.ToolName(toolapi.ToolSearchWeb)) {
		return nil
	}
	c, err := cortex.Get(ctx, r.Client, s.Run.Namespace)
	if err != nil {
		return err
	}
	if c.Spec.Search == nil {
		s.Set(v1alpha1.ConditionToolsOffered, metav1.ConditionFalse, v1alpha1.ReasonSearchNotConfigured,
			"The model is not offered search_web: the MotorCortex \"default\" of the namespace has no spec.search. The run goes on without it.")
		return nil
	}
	s.Set(v1alpha1.ConditionToolsOffered, metav1.ConditionTrue, v1alpha1.ReasonToolsOffered, "The model is offered all tools of spec.tools.")
	return nil
}
