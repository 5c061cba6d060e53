// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
)

// fakeIndexer adds the indexes of a cache to a fake client.
type fakeIndexer struct{ *fake.ClientBuilder }

func (f fakeIndexer) IndexField(_ context.Context, o client.Object, field string, of client.IndexerFunc) error {
	f.WithIndex(o, field, of)
	return nil
}

func retentionScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// countingRuns returns the builder of an API with the indexes of the cache, and counts the runs that its lists have.
func countingRuns(t *testing.T, scheme *runtime.Scheme) (builder *fake.ClientBuilder, read *int) {
	t.Helper()
	read = new(int)
	builder = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			if l, ok := list.(*v1alpha1.MotorRunList); ok {
				*read += len(l.Items)
			}
			return err
		},
	})
	if err := addIndexes(t.Context(), fakeIndexer{builder}); err != nil {
		t.Fatal(err)
	}
	return builder, read
}

// The time of many runs is over at once. The number of runs that are read for that grows with their number, and not with its square.
func TestManyRunsAreRetiredInLinearTime(t *testing.T) {
	t.Parallel()
	const runs, kept = 200, 5
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	scheme := retentionScheme(t)
	builder, read := countingRuns(t, scheme)
	var all []*v1alpha1.MotorRun
	for i := range runs {
		run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("run-", i), UID: "uid"}}
		run.Spec.TTLSecondsAfterFinished = new(int32(60))
		run.Status.CompletionTime = new(metav1.NewTime(now.Add(-time.Hour)))
		for _, condition := range []string{v1alpha1.ConditionFinished, v1alpha1.ConditionSucceeded} {
			run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
		}
		all = append(all, run)
		builder.WithObjects(run)
	}
	for i := range kept {
		builder.WithObjects(&v1alpha1.MotorRun{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("reader-", i)},
			Spec:       v1alpha1.MotorRunSpec{Files: []v1alpha1.InputFile{{ArtifactRef: &v1alpha1.ArtifactRef{RunName: fmt.Sprint("run-", i)}}}},
		})
	}
	r := &Reconciler{Client: builder.Build(), indexes: true}
	for _, run := range all {
		if err := r.Get(t.Context(), client.ObjectKeyFromObject(run), run); err != nil {
			t.Fatal(err)
		}
		if err := r.retire(t.Context(), pass.NewRun(run, now)); err != nil {
			t.Fatal(err)
		}
	}
	if *read != kept {
		t.Errorf("%d runs were looked through to delete %d", *read, runs)
	}
	var left v1alpha1.MotorRunList
	if err := r.List(t.Context(), &left); err != nil || len(left.Items) != 2*kept {
		t.Errorf("%d are left, %v; want those that are needed, and those that need them", len(left.Items), err)
	}
}

// The end of a run looks for the surplus among the runs that ended as it did. Where all of them are retained it looks for none.
func TestTheEndOfARunLooksThroughFewRuns(t *testing.T) {
	t.Parallel()
	const others, kept, gone = 100, 3, 2
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	scheme := retentionScheme(t)
	cortex := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: v1alpha1.CortexName}}
	for name, tt := range map[string]struct {
		retention  v1alpha1.Retention
		read, want int
	}{
		"all are kept":               {v1alpha1.Retention{}, 0, 0},
		"some are kept":              {v1alpha1.Retention{MaxSucceeded: new(int32(kept))}, kept + gone, gone},
		"another bound than its own": {v1alpha1.Retention{MaxFailed: new(int32(kept))}, kept + gone, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			builder, read := countingRuns(t, scheme)
			own := cortex.DeepCopy()
			own.Spec.Retention = tt.retention
			builder.WithObjects(own)
			var last *v1alpha1.MotorRun
			for i := range others + kept + gone {
				run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("run-%03d", i)}}
				if i%2 == 0 || i >= others {
					run.Status.CompletionTime = new(metav1.NewTime(now.Add(time.Duration(i) * time.Second)))
					run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
				}
				if i >= others {
					run.Status.Conditions = append(run.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue})
				}
				last = run
				builder.WithObjects(run)
			}
			r := &Reconciler{Client: builder.Build(), indexes: true, Now: func() time.Time { return now.Add(time.Hour) }}
			requests := r.surplus(t.Context(), last)
			if len(requests) != tt.want || *read != tt.read {
				t.Errorf("%v are too many, and %d were looked through; want %d and %d", requests, *read, tt.want, tt.read)
			}
		})
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

// While the bucket is away, runs that are too many wait for their archives. Neither the end of another run nor a pass over one of them
// looks at the others again.
func TestRunsThatWaitForTheirArchivesAreLeftAlone(t *testing.T) {
	t.Parallel()
	const runs = 50
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		required  bool
		age       time.Duration
		requested int
		again     time.Duration
	}{
		"for an hour":     {false, time.Minute, 0, 59 * time.Minute},
		"for good":        {true, 24 * time.Hour, 0, 0},
		"the hour passed": {false, 2 * time.Hour, runs - 1, -1},
	} {
		builder, read := countingRuns(t, retentionScheme(t))
		cortex := &v1alpha1.MotorCortex{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: v1alpha1.CortexName}}
		cortex.Spec.Retention.MaxFailed = new(int32(1))
		builder.WithObjects(cortex)
		var all []*v1alpha1.MotorRun
		for i := range runs {
			run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("run-", i)}}
			run.Status.CompletionTime = new(metav1.NewTime(now.Add(-tt.age)))
			run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue}}
			all = append(all, run)
			builder.WithObjects(run)
		}
		r := &Reconciler{Client: builder.Build(), indexes: true, Now: func() time.Time { return now }}
		r.Config.Archive, r.Config.ArchiveRequired = true, tt.required
		if requests := r.surplus(t.Context(), all[0]); len(requests) != tt.requested {
			t.Errorf("%s: the end of a run has %d others looked at, want %d", name, len(requests), tt.requested)
		}
		if tt.again < 0 {
			continue
		}
		*read = 0
		for _, run := range all {
			s := pass.NewRun(run, now)
			if err := r.retire(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if got := s.Result().RequeueAfter; got < tt.again || got > tt.again+time.Second {
				t.Errorf("%s: looked at again after %s, want %s", name, got, tt.again)
			}
		}
		if *read != 0 {
			t.Errorf("%s: %d runs were looked through for %d that wait", name, *read, runs)
		}
	}
}
