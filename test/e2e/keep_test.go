// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestFinishedRunsAreRemovedInTime(t *testing.T) {
	t.Parallel()
	const ttl = 15 * time.Second
	seconds := int32(ttl.Seconds())
	tests := map[string]struct {
		script string
		phase  v1alpha1.RunPhase
		change func(*v1alpha1.MotorRun)
		then   func(*testing.T, *v1alpha1.MotorRun)
	}{
		"one that says so": {"answer", v1alpha1.PhaseCompleted, func(r *v1alpha1.MotorRun) { r.Spec.TTLSecondsAfterFinished = &seconds }, nil},
		"one that failed":  {"fails", v1alpha1.PhaseFailed, func(r *v1alpha1.MotorRun) { r.Spec.TTLSecondsAfterFinished = &seconds }, nil},
		"one that is told so when it has ended": {"answer", v1alpha1.PhaseCompleted, func(*v1alpha1.MotorRun) {}, func(t *testing.T, r *v1alpha1.MotorRun) {
			patch(t, r, types.MergePatchType, `{"spec":{"ttlSecondsAfterFinished":0}}`)
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := startRun(t, tt.script, tt.change)
			ended := awaitEnd(t, run, soon)
			if ended.Status.Phase != tt.phase {
				t.Errorf("the run is %s", ended.Status.Phase)
			}
			if tt.then != nil {
				tt.then(t, run)
			}
			awaitGone(t, run)
			if tt.then == nil && time.Now().Before(ended.Status.CompletionTime.Add(ttl)) {
				t.Error("the run went before its time")
			}
			nothingIsLeft(t, run)
		})
	}
}

func TestANamespaceKeepsTheNewestRuns(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, "keep")
	must(t, suite.client.Create(t.Context(), &v1alpha1.MotorCortex{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: v1alpha1.CortexName},
		Spec: v1alpha1.MotorCortexSpec{
			Models:      v1alpha1.ModelSet{Default: &v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}},
			Retention:   v1alpha1.Retention{MaxSucceeded: new(int32(1)), MaxFailed: new(int32(1))},
			Concurrency: &v1alpha1.Concurrency{MaxActive: 100},
		},
	}))
	failed := startRun(t, "fails", inNamespace(ns))
	awaitEnd(t, failed, soon)
	var last *v1alpha1.MotorRun
	for range 3 {
		// Ends have whole seconds; the newer one must be newer.
		if last != nil {
			passes(t, last.Status.CompletionTime.Add(time.Second))
		}
		done := wantCompleted(t, startRun(t, "answer", inNamespace(ns)), soon)
		if last != nil {
			awaitGone(t, last)
			nothingIsLeft(t, last)
		}
		last = done
	}
	for _, kept := range []*v1alpha1.MotorRun{failed, last} {
		awaitRun(t, kept, soon, "being kept", func(*v1alpha1.MotorRun) bool { return true })
	}
}
