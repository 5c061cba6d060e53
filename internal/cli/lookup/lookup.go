// SPDX-License-Identifier: Apache-2.0

// Package lookup reads runs, their steps, and skills, with errors that say what to do.
package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/rights"
)

// NoRunError says that there is no run of that name.
type NoRunError struct{ Namespace, Name string }

// Error says where to look.
func (e *NoRunError) Error() string {
	return fmt.Sprintf("there is no MotorRun %s in the namespace %s: \"kubectl motor list -A\" lists those of all namespaces", e.Name, e.Namespace)
}

// Run reads a run. The error for one that is not there is a NoRunError.
func Run(ctx context.Context, c client.Reader, namespace, name string) (*v1alpha1.MotorRun, error) {
	for _, kind := range []string{"motorrun/", "motorruns/", "mrun/", "motorrun.motorcortex.dev/", "motorruns.motorcortex.dev/"} {
		// As kubectl and this program print it.
		name = strings.TrimPrefix(name, kind)
	}
	run := &v1alpha1.MotorRun{}
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, run)
	if apierrors.IsNotFound(err) {
		return nil, &NoRunError{namespace, name}
	}
	if err != nil {
		return nil, rights.Refused(fmt.Errorf("get the MotorRun %s/%s: %w", namespace, name, err), rights.ToRead, namespace)
	}
	return run, nil
}

// Steps reads the steps of a run, in their order. A step that an earlier run of the same name left is none of them.
func Steps(ctx context.Context, c client.Reader, run *v1alpha1.MotorRun) ([]v1alpha1.MotorStep, error) {
	steps, _, err := StepsAt(ctx, c, run)
	return steps, err
}

// StepsAt is Steps, with the resource version from which a watch shows what changed since.
func StepsAt(ctx context.Context, c client.Reader, run *v1alpha1.MotorRun) ([]v1alpha1.MotorStep, string, error) {
	list := &v1alpha1.MotorStepList{}
	if err := c.List(ctx, list, client.InNamespace(run.Namespace), client.MatchingLabels{v1alpha1.LabelRun: run.Name}); err != nil {
		return nil, "", rights.Refused(fmt.Errorf("list the MotorSteps of %s/%s: %w", run.Namespace, run.Name, err), rights.ToRead, run.Namespace)
	}
	steps := slices.DeleteFunc(list.Items, func(s v1alpha1.MotorStep) bool { return !Of(run, &s) })
	slices.SortFunc(steps, Compare)
	return steps, list.ResourceVersion, nil
}

// Of reports whether a step is one of this run.
func Of(run *v1alpha1.MotorRun, s *v1alpha1.MotorStep) bool {
	for _, o := range s.OwnerReferences {
		if o.UID == run.UID {
			return true
		}
	}
	return false
}

// Compare puts steps into their order. The outage of a step is before it: that is when it was.
func Compare(a, b v1alpha1.MotorStep) int {
	return cmp.Or(cmp.Compare(a.Spec.Attempt, b.Spec.Attempt), cmp.Compare(a.Spec.Index, b.Spec.Index), cmp.Compare(rank(&a), rank(&b)))
}

func rank(s *v1alpha1.MotorStep) int {
	if s.Spec.Type == v1alpha1.StepOutage {
		return 0
	}
	return 1
}

// Invalid is what the API server found wrong with an object that it refused, in one line without what it did not look at.
func Invalid(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.Status().Details == nil {
		return err.Error()
	}
	var all []string
	for _, c := range status.Status().Details.Causes {
		if c.Field != "" && c.Field != "<nil>" {
			all = append(all, c.Field+": "+c.Message)
		}
	}
	if len(all) == 0 {
		return err.Error()
	}
	return strings.Join(all, "; ")
}
