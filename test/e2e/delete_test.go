// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// goneWithin is how soon nothing may be left of what was deleted.
const goneWithin = soon

func TestDeletingARunAtAnyTimeLeavesNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script string
		until  func(*testing.T, *v1alpha1.MotorRun)
	}{
		"at once":           {"answer", func(*testing.T, *v1alpha1.MotorRun) {}},
		"while a tool runs": {"sleep", func(t *testing.T, r *v1alpha1.MotorRun) { awaitCommand(t, r) }},
		"while it waits":    {"ask", func(t *testing.T, r *v1alpha1.MotorRun) { awaitQuestion(t, r) }},
		"while it is suspended": {"sleep", func(t *testing.T, r *v1alpha1.MotorRun) {
			awaitCommand(t, r)
			suspend(t, r)
		}},
		"when it has ended": {"answer", func(t *testing.T, r *v1alpha1.MotorRun) { wantCompleted(t, r, soon) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := startRun(t, tt.script)
			tt.until(t, run)
			must(t, suite.client.Delete(t.Context(), run))
			nothingIsLeft(t, run)
		})
	}
}

func nothingIsLeft(t *testing.T, run *v1alpha1.MotorRun) {
	t.Helper()
	podIsGone(t, run, goneWithin)
	of := []client.ListOption{client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name}}
	err := await(t.Context(), goneWithin, &v1alpha1.MotorStepList{}, of, func(ctx context.Context) (bool, error) {
		list, err := steps(ctx, run)
		return len(list) == 0, err
	})
	if err != nil {
		t.Fatalf("steps of the deleted run %s are left: %v", run.Name, err)
	}
	// A pass that began before the deletion can make the Pod after the first look; a loop that did not notice would make it
	// again and again.
	podIsGone(t, run, goneWithin)
}

func TestARunMadeAgainUnderTheSameNameIsARunOfItsOwn(t *testing.T) {
	t.Parallel()
	first := startRun(t, "sleep")
	awaitCommand(t, first)
	must(t, suite.client.Delete(t.Context(), first))
	second := startRun(t, "answer", func(r *v1alpha1.MotorRun) { r.Name = first.Name })
	done := wantCompleted(t, second, soon)
	if done.Status.Result.Summary != "The sandbox says hello." {
		t.Errorf("summary %q", done.Status.Result.Summary)
	}
	for _, s := range wantWholeJournal(t, done) {
		if !metav1.IsControlledBy(&s, second) {
			t.Errorf("step %s belongs to %v, not to the new run", s.Name, s.OwnerReferences)
		}
	}
}

func TestANamespaceWithRunsCanBeDeleted(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t, "gone")
	must(t, createCortex(t.Context(), ns, v1alpha1.ModelEndpoint{Model: "scripted/answer", BaseURL: modelURL(modelServer)}))
	acting := startRun(t, "sleep", inNamespace(ns))
	awaiting := startRun(t, "ask", inNamespace(ns))
	awaitCommand(t, acting)
	awaitQuestion(t, awaiting)
	must(t, suite.client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}))
	key := types.NamespacedName{Name: ns}
	err := await(t.Context(), goneWithin, &corev1.NamespaceList{}, one(key), func(ctx context.Context) (bool, error) {
		found, err := exists(ctx, key, &corev1.Namespace{})
		return !found, err
	})
	if err != nil {
		t.Fatalf("namespace %s is still there: %v\n%s", ns, err, kubectl(t, "get", "namespace", ns, "-o", "yaml"))
	}
}
