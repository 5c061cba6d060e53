// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// leftover prevents a run from beginning whose name has steps that belong to no run. kubectl delete --cascade=orphan leaves such steps, and a
// restored backup may have steps without their run. They have the names that the run's own steps need, and nothing deletes them.
func (r *Reconciler) leftover(_ context.Context, s *pass.Run) (bool, error) {
	if s.Orphans == 0 || pass.IsAccepted(s.Run) {
		return true, nil
	}
	s.Block(v1alpha1.ConditionAccepted, v1alpha1.ReasonStepsInTheWay, fmt.Sprintf(
		"There are MotorSteps of an earlier run of this name that belong to no run (%d), so this one cannot record what it does. Keep what you need of them, and delete them: "+
			"kubectl -n %s delete motorsteps -l %s=%s. Or create this run under another name.", s.Orphans, s.Run.Namespace, v1alpha1.LabelRun, s.Run.Name), true)
	s.Wake(s.Now.Add(s.Pause()))
	return false, nil
}

// countOrphans counts the steps that no run controls. The steps of a deleted run are deleted with it.
func countOrphans(steps []v1alpha1.MotorStep) int {
	n := 0
	for i := range steps {
		if metav1.GetControllerOfNoCopy(&steps[i]) == nil {
			n++
		}
	}
	return n
}
