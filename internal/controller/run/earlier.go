// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// copied prevents a run from beginning that was created as a copy of another one. A copy has no status: the task may have been carried out long
// ago, and its effects outside of the sandbox would be repeated. Its own time stands still.
func (r *Reconciler) copied(_ context.Context, s *pass.Run) (bool, error) {
	if !runpolicy.IsCopy(s.Run) {
		return true, nil
	}
	s.Block(v1alpha1.ConditionAccepted, v1alpha1.ReasonCopiedRun, fmt.Sprintf(
		"This run was created from a copy of another one, of a backup or of what the API server showed, which may have been carried out already. "+
			"To have it carried out now, with your rights: kubectl -n %s patch motorrun %s --type=merge -p '{\"spec\":{\"origin\":\"Released\"}}'. "+
			"To write a run after another one's example, leave out spec.origin. Otherwise delete it.", s.Run.Namespace, s.Run.Name), true)
	return false, nil
}

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
