// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// stored returns a journal with these steps, that are in a cluster, and that cluster.
func stored(t *testing.T, steps ...v1alpha1.MotorStep) (*Log, client.Client) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.MotorStep{}).Build()
	l := &Log{client: c, live: c, run: &v1alpha1.MotorRun{}, now: time.Now}
	for i := range steps {
		s := steps[i].DeepCopy()
		if err := c.Create(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		s.Status = steps[i].Status
		if err := c.Status().Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		l.steps = append(l.steps, *s)
	}
	return l, c
}

func storedStep(status v1alpha1.MotorStepStatus) v1alpha1.MotorStep {
	s := v1alpha1.MotorStep{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run-a01-s0001"}, Status: status}
	s.Spec.Attempt, s.Spec.Index, s.Spec.Type = 1, 1, v1alpha1.StepTurn
	s.Spec.ToolCalls = []v1alpha1.ToolCall{{ID: "a1-s1-c0", Tool: "bash"}}
	return s
}

// A step is closed once, by the first replica, and the artifacts that another replica has not seen yet stay.
func TestAClosedStepStays(t *testing.T) {
	t.Parallel()
	first, c := stored(t, storedStep(v1alpha1.MotorStepStatus{Phase: v1alpha1.StepInFlight}))
	late := &Log{client: c, live: c, run: first.run, now: time.Now, steps: []v1alpha1.MotorStep{*first.steps[0].DeepCopy()}}
	if err := first.Close(t.Context(), Closing{Problem: "first"}); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]*Log{"the same": first, "one that did not see it": late} {
		if err := l.Close(t.Context(), Closing{Problem: "later", Artifacts: &v1alpha1.ArtifactList{}}); err != nil {
			t.Fatal(err)
		}
		var found v1alpha1.MotorStep
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(&first.steps[0]), &found); err != nil {
			t.Fatal(err)
		}
		if found.Status.Closed == nil || found.Status.Closed.Problem != "first" || found.Status.Artifacts != nil {
			t.Errorf("%s: %+v", name, found.Status)
		}
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	kept, collected := &v1alpha1.ArtifactList{Omitted: 1}, &v1alpha1.ArtifactList{Omitted: 2}
	done := []v1alpha1.ToolResult{{CallID: "a1-s1-c0", OK: true, Provenance: "Internal"}}
	for name, tt := range map[string]struct {
		status    v1alpha1.MotorStepStatus
		closing   Closing
		phase     v1alpha1.StepPhase
		artifacts int32
	}{
		"every call has its result":      {v1alpha1.MotorStepStatus{Phase: v1alpha1.StepSettled, Results: done}, Closing{Artifacts: collected}, v1alpha1.StepSettled, 2},
		"one has none":                   {v1alpha1.MotorStepStatus{Phase: v1alpha1.StepInFlight}, Closing{}, v1alpha1.StepClosed, 0},
		"one of which nobody knows":      {v1alpha1.MotorStepStatus{Phase: v1alpha1.StepOutcomeUnknown}, Closing{}, v1alpha1.StepOutcomeUnknown, 0},
		"what was collected before":      {v1alpha1.MotorStepStatus{Phase: v1alpha1.StepInFlight, Artifacts: kept}, Closing{}, v1alpha1.StepClosed, 1},
		"and what is in the place of it": {v1alpha1.MotorStepStatus{Phase: v1alpha1.StepInFlight, Artifacts: kept}, Closing{Artifacts: collected}, v1alpha1.StepClosed, 2},
	} {
		l, _ := stored(t, storedStep(tt.status))
		if err := l.Close(t.Context(), tt.closing); err != nil {
			t.Fatal(err)
		}
		st, omitted := l.steps[0].Status, int32(0)
		if st.Artifacts != nil {
			omitted = st.Artifacts.Omitted
		}
		if !l.Closed() || st.Phase != tt.phase || omitted != tt.artifacts {
			t.Errorf("%s: %+v", name, st)
		}
	}
}
