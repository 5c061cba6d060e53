// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// showModel shows that the run waits for its model, or that the model answers again. A run whose model was always there says
// nothing of it.
func showModel(s *scope) {
	o := s.progress.Outage
	switch attempts := s.run.Status.Attempts; {
	case o == nil && apimeta.FindStatusCondition(s.run.Status.Conditions, v1alpha1.ConditionModelAvailable) == nil:
		return
	case len(attempts) > 0 && attempts[len(attempts)-1].FinishedAt != nil:
		s.set(v1alpha1.ConditionModelAvailable, metav1.ConditionUnknown, v1alpha1.ReasonModelNotAsked, "The attempt is over, so the model is not asked.")
		return
	case o == nil && s.progress.LastStep != "":
		s.set(v1alpha1.ConditionModelAvailable, metav1.ConditionTrue, v1alpha1.ReasonModelAnswers, "The model answers again.")
		return
	case o == nil:
		return
	}
	how := "It is asked again and again"
	if o.MustAct {
		how = "It is asked again now and then, and at once when the MotorCortex was changed"
	}
	message := fmt.Sprintf("%s The run waits for it since %s, and its clock stands. %s; at %s the attempt fails.", o.Message,
		o.Since.UTC().Format(time.RFC3339), how, o.Until(s.run).UTC().Format(time.RFC3339))
	if s.run.Spec.Suspend {
		s.set(v1alpha1.ConditionModelAvailable, metav1.ConditionFalse, o.Reason, message)
		return
	}
	s.block(v1alpha1.ConditionModelAvailable, o.Reason, message, o.MustAct)
}
