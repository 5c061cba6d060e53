// SPDX-License-Identifier: Apache-2.0

// Package history makes runs that ended long ago, and measures what a cluster with very many of them costs. They are plain objects: no sandbox and no
// model was there.
package history

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// writers is how many requests create runs at once.
const writers = 16

// textBytes is the text of a task that makes a run as large as test/scale says that one is.
const textBytes = 5000

// Name returns the name of a finished run.
func Name(number int) string { return fmt.Sprintf("ended-%06d", number) }

// Fill creates finished runs in a namespace. The person creates them, and the manager alone may write how they ended. Runs that are there already, from
// a Fill that broke off, are ended too.
func Fill(ctx context.Context, person, manager client.Client, namespace string, runs int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(writers, runs) {
		group.Go(func() {
			for ctx.Err() == nil {
				number := int(next.Add(1)) - 1
				if number >= runs {
					return
				}
				if err := add(ctx, person, manager, finished(namespace, number)); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// add creates a run, and writes its status.
func add(ctx context.Context, person, manager client.Client, run *v1alpha1.MotorRun) error {
	status := run.Status
	if err := person.Create(ctx, run); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the run %s: %w", run.Name, err)
	}
	before := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: run.Namespace, Name: run.Name}}
	after := before.DeepCopy()
	after.Status = status
	if err := manager.Status().Patch(ctx, after, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("end the run %s: %w", run.Name, err)
	}
	return nil
}

// finished returns a run that has ended a minute ago, every twentieth of them with a failure.
func finished(namespace string, number int) *v1alpha1.MotorRun {
	ended := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
	run := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Name(number)},
		Spec: v1alpha1.MotorRunSpec{
			Task: fmt.Sprintf("Task %d. %s", number, strings.Repeat("text ", textBytes/5)), Tools: []v1alpha1.ToolName{"bash"}, MaxAttempts: 1,
		},
	}
	phase, reason, succeeded := v1alpha1.PhaseCompleted, v1alpha1.ReasonCompleted, metav1.ConditionTrue
	if number%20 == 19 {
		phase, reason, succeeded = v1alpha1.PhaseFailed, v1alpha1.ReasonTimeout, metav1.ConditionFalse
	}
	st := &run.Status
	st.Phase, st.Reason, st.Steps, st.CompletionTime = phase, reason, 7, &ended
	// The status is what the manager would write, or it would write it when it sees the run first.
	st.ObservedGeneration, st.StartTime = 1, &ended
	st.Message = "The run has ended."
	st.Result = &v1alpha1.RunResult{OK: succeeded == metav1.ConditionTrue, Summary: st.Message}
	for _, c := range []metav1.Condition{
		{Type: v1alpha1.ConditionFinished, Status: metav1.ConditionTrue, Reason: reason},
		{Type: v1alpha1.ConditionSucceeded, Status: succeeded, Reason: reason},
		{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRunEnded, ObservedGeneration: 1},
	} {
		c.Message, c.LastTransitionTime = st.Message, ended
		apimeta.SetStatusCondition(&st.Conditions, c)
	}
	return run
}
