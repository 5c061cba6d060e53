// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/controller/pass"
	"motorcortex.dev/motorcortex/internal/runpolicy"
)

// countedReader counts the lists of steps.
type countedReader struct {
	client.Reader
	lists int
}

func (c *countedReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.lists++
	return c.Reader.List(ctx, list, opts...)
}

// The end of a run is decided from the journal as the API server has it: here the cache lacks the step with which the run completed in time.
// A run that goes on costs no request.
func TestEndsAreDecidedFromTheWholeJournal(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "uid", CreationTimestamp: metav1.NewTime(start)}}
	run.Spec.MaxAttempts, run.Spec.Limits = 1, v1alpha1.RunLimits{ActiveDeadlineSeconds: 600, InputDeadlineSeconds: 600, RetryDeadlineSeconds: 600}
	run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1}}
	last := &v1alpha1.MotorStep{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "run-a01-s0001", Labels: map[string]string{v1alpha1.LabelRun: "run"}, CreationTimestamp: metav1.NewTime(start.Add(time.Minute)),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MotorRun", Name: "run", UID: "uid", Controller: new(true)}},
	}}
	last.Spec = v1alpha1.MotorStepSpec{Attempt: 1, Index: 1, Type: v1alpha1.StepTurn, Final: true, Content: "done"}
	scheme := retentionScheme(t)
	for name, tt := range map[string]struct {
		after time.Duration
		steps []client.Object
		lists int
		ends  v1alpha1.RunPhase
	}{
		"in time":                     {after: 5 * time.Minute, steps: []client.Object{last}, lists: 0},
		"too late":                    {after: time.Hour, lists: 1, ends: v1alpha1.PhaseFailed},
		"too late, and it had an end": {after: time.Hour, steps: []client.Object{last}, lists: 1, ends: v1alpha1.PhaseCompleted},
	} {
		live := &countedReader{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(tt.steps...).Build()}
		r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).Build(), Live: live}
		s := pass.NewRun(run.DeepCopy(), start.Add(tt.after))
		if err := r.readJournal(t.Context(), r.Client, s); err != nil {
			t.Fatal(err)
		}
		if goOn, err := r.decide(t.Context(), s); !goOn || err != nil {
			t.Fatalf("%s: goes on is %t, %v", name, goOn, err)
		}
		var phase v1alpha1.RunPhase
		if s.Decision.End != nil {
			phase = s.Decision.End.Phase
		}
		if phase != tt.ends || live.lists != tt.lists {
			t.Errorf("%s: it ends with %q after %d lists past the cache", name, phase, live.lists)
		}
	}
}

// A decision that cannot be taken back is made from the journal as the API server has it. A failure that the status already has is none.
func TestTurningPoints(t *testing.T) {
	t.Parallel()
	failure := &v1alpha1.FailureSummary{Reason: "exit_1"}
	for name, tt := range map[string]struct {
		failed   *v1alpha1.FailureSummary
		decision runpolicy.Decision
		want     bool
	}{
		"it goes on":           {},
		"the run ends":         {decision: runpolicy.Decision{End: &runpolicy.End{}}, want: true},
		"an attempt begins":    {failed: failure, decision: runpolicy.Decision{Failure: failure, Next: &runpolicy.Next{Index: 2}}, want: true},
		"the attempt failed":   {decision: runpolicy.Decision{Failure: failure}, want: true},
		"it had failed before": {failed: failure, decision: runpolicy.Decision{Failure: failure}},
	} {
		run := &v1alpha1.MotorRun{}
		run.Status.Attempts = []v1alpha1.AttemptStatus{{Index: 1, Failure: tt.failed}}
		if got := isTurningPoint(run, tt.decision); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
