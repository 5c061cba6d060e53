// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// t0 is when every run of the tests was created.
var t0 = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return t0.Add(d) }

// testRun may take 100 s, and 30 s for each answer.
func testRun(responses ...string) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Name: "run", Namespace: "ns", CreationTimestamp: metav1.NewTime(t0)},
		Spec:       v1alpha1.MotorRunSpec{Limits: v1alpha1.RunLimits{ActiveDeadlineSeconds: 100, InputDeadlineSeconds: 30}},
	}
	for _, id := range responses {
		run.Spec.Responses = append(run.Spec.Responses, v1alpha1.Response{ID: id, Answer: "answer to " + id})
	}
	return run
}
