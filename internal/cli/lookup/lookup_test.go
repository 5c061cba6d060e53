// SPDX-License-Identifier: Apache-2.0

package lookup_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/cli/cluster"
	"motorcortex.dev/motorcortex/internal/cli/lookup"
)

func step(name, owner string, attempt, index int32, kind v1alpha1.StepType) *v1alpha1.MotorStep {
	return &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "ns", Labels: map[string]string{v1alpha1.LabelRun: "run"}, OwnerReferences: []metav1.OwnerReference{{UID: "other"}, {UID: "uid"}}[map[string]int{"other": 0, "uid": 1}[owner]:][:1],
		},
		Spec: v1alpha1.MotorStepSpec{Type: kind, Attempt: attempt, Index: index},
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	scheme, err := cluster.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "uid"}},
		step("d", "uid", 2, 1, v1alpha1.StepTurn), step("b", "uid", 1, 1, v1alpha1.StepTurn), step("c", "uid", 1, 2, v1alpha1.StepTurn),
		step("outage-of-c", "uid", 1, 2, v1alpha1.StepOutage), step("a", "other", 1, 1, v1alpha1.StepTurn),
	).Build()
	run, err := lookup.Run(t.Context(), c, "ns", "run")
	if err != nil {
		t.Fatal(err)
	}
	steps, err := lookup.Steps(t.Context(), c, run)
	var names []string
	for i := range steps {
		names = append(names, steps[i].Name)
	}
	if want := []string{"b", "outage-of-c", "c", "d"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v, want %q", names, err, want)
	}
	if _, err := lookup.Run(t.Context(), c, "ns", "none"); err == nil || !strings.Contains(err.Error(), "kubectl motor list -A") {
		t.Errorf("of a run that is not there: %v", err)
	}
}

func TestInvalid(t *testing.T) {
	t.Parallel()
	kind := schema.GroupKind{Group: "motorcortex.dev", Kind: "MotorRun"}
	tools := field.Invalid(field.NewPath("spec", "tools"), "x", "no tool")
	for want, err := range map[string]error{
		`spec.tools: Invalid value: "x": no tool`:                                     apierrors.NewInvalid(kind, "run", field.ErrorList{tools, field.Invalid(nil, nil, "some validation rules were not checked")}),
		`MotorRun.motorcortex.dev "run" is invalid: <nil>: Invalid value: "y": wrong`: apierrors.NewInvalid(kind, "run", field.ErrorList{field.Invalid(nil, "y", "wrong")}),
		"no route": errors.New("no route"),
	} {
		if got := lookup.Invalid(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
