// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

type change func(*v1alpha1.MotorRun)

// condition sets a condition to True.
func condition(name string) change {
	return func(run *v1alpha1.MotorRun) {
		run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue})
	}
}

var accepted, finished = condition(v1alpha1.ConditionAccepted), condition(v1alpha1.ConditionFinished)

func newRun(name string, changes ...change) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team"}}
	for _, c := range changes {
		c(run)
	}
	return run
}

// inJSON returns the size of an object as the API server sends it.
func inJSON(t *testing.T, o any) int64 {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(b))
}

func TestSizeOfARun(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("x", 10_000)
	file := func(run *v1alpha1.MotorRun) { run.Spec.Files = []v1alpha1.InputFile{{Path: "a", Content: &content}} }
	artifacts := []v1alpha1.Artifact{{Path: "a", Size: 5000, ConfigMapName: "a"}, {Path: "b", Size: 7000, ObjectKey: "in the bucket"}, {Path: "c", Size: 9000}}
	paused := func(run *v1alpha1.MotorRun) { run.Status.Artifacts = artifacts }
	ended := func(run *v1alpha1.MotorRun) { run.Status.Result = &v1alpha1.RunResult{Artifacts: artifacts} }
	for name, tt := range map[string]struct {
		run   *v1alpha1.MotorRun
		none  bool
		extra int64
	}{
		"it has not begun":                 {run: newRun("r", file), none: true},
		"it runs":                          {run: newRun("r", file, accepted)},
		"it was refused":                   {run: newRun("r", file, finished)},
		"with artifacts of its last pause": {run: newRun("r", accepted, paused), extra: 5000 + configMapBytes},
		"with artifacts of its end":        {run: newRun("r", accepted, finished, ended), extra: 5000 + configMapBytes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := inJSON(t, tt.run) + tt.extra
			if tt.none {
				want = 0
			}
			// The encoder ends with a line feed.
			if got := OfRun(tt.run); got < want || got > want+1 {
				t.Errorf("%d bytes, want %d", got, want)
			}
		})
	}
}

// A head in the cache lacks the long parts of the object, and tells its size by what was noted.
func TestNotedSize(t *testing.T) {
	t.Parallel()
	step := &v1alpha1.MotorStep{Spec: v1alpha1.MotorStepSpec{Content: strings.Repeat("ü\n", 5000)}}
	whole := OfStep(step)
	if want := inJSON(t, step); whole < want || whole > want+1 {
		t.Errorf("a step has %d bytes, want %d", whole, want)
	}
	step.Annotations = map[string]string{"other": "v"}
	Note(step, whole)
	step.Spec.Content = ""
	if got := Of(step); got != whole || step.Annotations["other"] != "v" {
		t.Errorf("the head tells of %d bytes, want %d; %v", got, whole, step.Annotations)
	}
	if got := Of(&corev1.ConfigMap{Data: map[string]string{"a": "b"}}); got != 0 {
		t.Errorf("another object has %d bytes", got)
	}
	if got := Of("text"); got != 0 {
		t.Errorf("something else has %d bytes", got)
	}
}
