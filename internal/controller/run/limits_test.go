// SPDX-License-Identifier: Apache-2.0

package run

import (
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// A run that asks for more than its namespace permits waits until that permits it. A run that was accepted goes on.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		classes  []string
		accepted bool
		goOn     bool
		reason   string
	}{
		"not permitted": {reason: v1alpha1.ReasonStorageClassNotAllowed},
		"permitted":     {classes: []string{"fast"}, goOn: true},
		"accepted":      {accepted: true, goOn: true},
	} {
		s := pass.NewRun(&v1alpha1.MotorRun{}, time.Unix(1000, 0))
		s.Classes = tt.classes
		s.Run.Spec.Sandbox = &v1alpha1.RunSandbox{WorkspaceStorageClassName: new("fast")}
		if tt.accepted {
			s.Set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "")
		}
		goOn, err := (&Reconciler{}).limits(t.Context(), s)
		if goOn != tt.goOn || err != nil || pass.IsFinished(s.Run) {
			t.Errorf("%s: goes on is %t, %v", name, goOn, err)
		}
		c := apimeta.FindStatusCondition(s.Run.Status.Conditions, v1alpha1.ConditionAccepted)
		if tt.reason != "" && (c == nil || c.Reason != tt.reason || s.Result().RequeueAfter == 0) {
			t.Errorf("%s: condition %+v, looked at again after %s", name, c, s.Result().RequeueAfter)
		}
	}
}
