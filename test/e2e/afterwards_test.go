// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// orphansWithin is how long something may be there that belongs to nobody any more.
const orphansWithin = soon

// verdict is what must never change of a run that has ended.
type verdict struct {
	Phase      v1alpha1.RunPhase
	Reason     string
	FinishedAt string
	Steps      int32
	Attempts   int
	Result     v1alpha1.RunResult
}

func verdictOf(run *v1alpha1.MotorRun) verdict {
	v := verdict{
		Phase: run.Status.Phase, Reason: condition(run, v1alpha1.ConditionSucceeded).Reason,
		Steps: run.Status.Steps, Attempts: len(run.Status.Attempts),
	}
	if at := run.Status.CompletionTime; at != nil {
		v.FinishedAt = at.UTC().Format(time.RFC3339)
	}
	if run.Status.Result != nil {
		v.Result = *run.Status.Result
	}
	return v
}

// rememberEnd keeps how a run ended, for the end of the suite.
func rememberEnd(run *v1alpha1.MotorRun) {
	suite.mu.Lock()
	defer suite.mu.Unlock()
	if _, known := suite.ended[run.UID]; !known {
		suite.ended[run.UID] = verdictOf(run)
	}
}

// noEndChanged looks whether the runs that ended are as they were then.
func noEndChanged(ctx context.Context) error {
	var list v1alpha1.MotorRunList
	if err := suite.client.List(ctx, &list); err != nil {
		return err
	}
	var wrong []error
	for i := range list.Items {
		run := &list.Items[i]
		if was, known := suite.ended[run.UID]; known {
			if diff := cmp.Diff(was, verdictOf(run)); diff != "" {
				wrong = append(wrong, fmt.Errorf("run %s changed after its end (-then +now):\n%s", run.Name, diff))
			}
		}
	}
	return errors.Join(wrong...)
}

// noStepIsLeft looks for steps of runs that do not exist.
func noStepIsLeft(ctx context.Context) error {
	var left []string
	err := await(ctx, orphansWithin, &v1alpha1.MotorStepList{}, nil, func(ctx context.Context) (bool, error) {
		var runs v1alpha1.MotorRunList
		var steps v1alpha1.MotorStepList
		if err := errors.Join(suite.client.List(ctx, &steps), suite.client.List(ctx, &runs)); err != nil {
			return false, err
		}
		known := map[types.UID]bool{}
		for i := range runs.Items {
			known[runs.Items[i].UID] = true
		}
		left = nil
		for i := range steps.Items {
			if s := &steps.Items[i]; len(s.OwnerReferences) != 1 || !known[s.OwnerReferences[0].UID] {
				left = append(left, s.Namespace+"/"+s.Name)
			}
		}
		return len(left) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("steps of runs that do not exist are left: %s: %w", strings.Join(left, ", "), err)
	}
	return nil
}

// noLeaseIsLeft looks for Leases of managers that do not exist.
func noLeaseIsLeft(ctx context.Context) error {
	of := []client.ListOption{client.InNamespace(managerNamespace), client.MatchingLabels{v1alpha1.LabelComponent: v1alpha1.ComponentWorker}}
	var left []string
	err := await(ctx, orphansWithin, &coordinationv1.LeaseList{}, of, func(ctx context.Context) (bool, error) {
		var leases coordinationv1.LeaseList
		if err := suite.client.List(ctx, &leases, of...); err != nil {
			return false, err
		}
		left = nil
		for i := range leases.Items {
			l := &leases.Items[i]
			if len(l.OwnerReferences) != 1 {
				return false, fmt.Errorf("the Lease %s belongs to %v", l.Name, l.OwnerReferences)
			}
			owner := l.OwnerReferences[0]
			var pod corev1.Pod
			found, err := exists(ctx, types.NamespacedName{Namespace: l.Namespace, Name: owner.Name}, &pod)
			if err != nil {
				return false, err
			}
			if !found || pod.UID != owner.UID {
				left = append(left, l.Name)
			}
		}
		return len(left) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("Leases of managers that do not exist are left: %s: %w", strings.Join(left, ", "), err)
	}
	return nil
}
