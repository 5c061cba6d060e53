// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// Only the change counts: each later write of a finished run would have all others looked at again.
func TestHasEnded(t *testing.T) {
	t.Parallel()
	running, finished := &v1alpha1.MotorRun{}, &v1alpha1.MotorRun{}
	finished.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
	for name, tt := range map[string]struct {
		before, after *v1alpha1.MotorRun
		want          bool
	}{
		"it goes on": {running, running, false},
		"it ends":    {running, finished, true},
		"it ended":   {finished, finished, false},
	} {
		if got := HasEnded().Update(event.UpdateEvent{ObjectOld: tt.before, ObjectNew: tt.after}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if HasEnded().Create(event.CreateEvent{Object: finished}) {
		t.Error("a run that was there at the start has just ended")
	}
}
