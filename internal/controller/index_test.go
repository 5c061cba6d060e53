// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// fakeIndexer gives a fake client the indexes that a cache has.
type fakeIndexer struct{ *fake.ClientBuilder }

func (f fakeIndexer) IndexField(_ context.Context, o client.Object, field string, of client.IndexerFunc) error {
	f.WithIndex(o, field, of)
	return nil
}

// The time of many runs is over at once. What is looked through for that grows with their number, and not with its square.
func TestManyRunsAreRetiredInLinearTime(t *testing.T) {
	t.Parallel()
	const runs, kept = 200, 5
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	read := 0
	builder := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if l, ok := list.(*v1alpha1.MotorRunList); ok {
				read += len(l.Items)
			}
			return err
		},
	})
	if err := addIndexes(t.Context(), fakeIndexer{builder}); err != nil {
		t.Fatal(err)
	}
	var all []*v1alpha1.MotorRun
	for i := range runs {
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("run-", i), UID: "uid"}}
		run.Spec.TTLSecondsAfterFinished = new(int32(60))
		run.Status.FinishedAt = new(metav1.NewTime(now.Add(-time.Hour)))
		for _, condition := range []string{v1alpha1.ConditionFinished, v1alpha1.ConditionSucceeded} {
			run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
		}
		all = append(all, run)
		builder.WithObjects(run)
	}
	for i := range kept {
		builder.WithObjects(&v1alpha1.MotorRun{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("reader-", i)},
			Spec:       v1alpha1.MotorRunSpec{Files: []v1alpha1.InputFile{{ArtifactRef: &v1alpha1.ArtifactRef{Run: fmt.Sprint("run-", i)}}}},
		})
	}
	r := &MotorRunReconciler{Client: builder.Build(), indexes: true}
	for _, run := range all {
		if err := r.Get(t.Context(), client.ObjectKeyFromObject(run), run); err != nil {
			t.Fatal(err)
		}
		if err := r.retire(t.Context(), newScope(run, now)); err != nil {
			t.Fatal(err)
		}
	}
	if read != kept {
		t.Errorf("%d runs were looked through to delete %d", read, runs)
	}
	var left v1alpha1.MotorRunList
	if err := r.List(t.Context(), &left); err != nil || len(left.Items) != 2*kept {
		t.Errorf("%d are left, %v; want those that are needed, and those that need them", len(left.Items), err)
	}
}

func TestIndexOfEnds(t *testing.T) {
	t.Parallel()
	finished := metav1.Condition{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}
	succeeded := metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue}
	for name, tt := range map[string]struct {
		mode       v1alpha1.RunMode
		conditions []metav1.Condition
		want       string
	}{
		"it goes on": {v1alpha1.ModeAgentic, nil, "[]"},
		"succeeded":  {v1alpha1.ModeAgentic, []metav1.Condition{finished, succeeded}, "[succeeded]"},
		"failed":     {v1alpha1.ModeAgentic, []metav1.Condition{finished}, "[failed]"},
		"no model":   {v1alpha1.ModeOneshot, []metav1.Condition{finished, succeeded}, "[]"},
	} {
		run := &v1alpha1.MotorRun{Spec: v1alpha1.MotorRunSpec{Mode: tt.mode}, Status: v1alpha1.MotorRunStatus{Conditions: tt.conditions}}
		if got := fmt.Sprint(endOf(run)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
