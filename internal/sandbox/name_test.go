// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestNamesOfPods(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, name := range []string{"a", "build", "build-1", strings.Repeat("a", 48), strings.Repeat("a", 39) + "-" + strings.Repeat("b", 8), "a.b"} {
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "0d5e-" + "1"}}
		for i := int32(1); i <= 10; i++ {
			pod := PodName(run, i)
			if seen[pod] && i == 1 || len(pod) > 63 || len(validation.IsDNS1123Subdomain(pod)) > 0 || !strings.HasSuffix(pod, "-motor-sandbox") {
				t.Errorf("attempt %d of %s has the Pod %s", i, name, pod)
			}
			if seen[pod] && strings.HasPrefix(name, "build") {
				t.Errorf("two have the Pod %s", pod)
			}
			seen[pod] = true
		}
	}
	if got := PodName(&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "build", UID: "1"}}, 2); got == PodName(&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "build", UID: "2"}}, 2) {
		t.Errorf("the run that is made again has the Pod %s too", got)
	}
}

func TestCurrentPodName(t *testing.T) {
	t.Parallel()
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: "build", UID: "1"}}
	if got := CurrentPodName(run); got != "build-motor-sandbox" {
		t.Errorf("at first: %s", got)
	}
	run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}, {Index: 2}, {Index: 3}}
	// The Pod of the earlier attempt that failed is retained for the next one.
	run.Status.Sandbox = &v1alpha1.SandboxStatus{PodName: PodName(run, 2), CreationTime: new(metav1.Now())}
	if got := CurrentPodName(run); got != PodName(run, 2) {
		t.Errorf("kept: %s", got)
	}
	run.Status.Sandbox.CreationTime = nil
	if got := CurrentPodName(run); got != PodName(run, 3) {
		t.Errorf("replaced: %s", got)
	}
	for n := range int32(3) {
		if got := AttemptOfName(PodName(run, n+1), run); got != n+1 {
			t.Errorf("the Pod of attempt %d is that of %d", n+1, got)
		}
	}
	if got := AttemptOfName(PodName(run, 4), run); got != 0 {
		t.Errorf("the Pod of an attempt that is not known yet is that of %d", got)
	}
}
