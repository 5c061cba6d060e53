// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
)

var created = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

// testRun is a finished run.
func testRun(change ...func(*v1alpha1.MotorRun)) *v1alpha1.MotorRun {
	r := &v1alpha1.MotorRun{
		ObjectMeta: metav1.ObjectMeta{
			Name: "run", Namespace: "ns", UID: "run-uid", ResourceVersion: "17", Generation: 2, CreationTimestamp: created,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
			Annotations:   map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "team": "a"},
		},
		Spec: v1alpha1.MotorRunSpec{Mode: v1alpha1.ModeAgentic, Task: "count <words> & \"quotes\" — ünïcode \u2028 too"},
		Status: v1alpha1.MotorRunStatus{
			ObservedGeneration: 2, Phase: v1alpha1.PhaseCompleted, CompletionTime: &created, Result: &v1alpha1.RunResult{OK: true, Summary: "3"},
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionFinished, Status: "True", Reason: "Completed", ObservedGeneration: 2, LastTransitionTime: created}},
		},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

// testStep is step n of an attempt of that run.
func testStep(attempt, n int32, change ...func(*v1alpha1.MotorStep)) *v1alpha1.MotorStep {
	name := fmt.Sprintf("run-a%02d-s%04d", attempt, n)
	s := &v1alpha1.MotorStep{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "ns", UID: types.UID("uid-of-" + name), ResourceVersion: "18", CreationTimestamp: created,
			Labels:          map[string]string{v1alpha1.LabelRun: "run"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "motorcortex.dev/v1alpha1", Kind: "MotorRun", Name: "run", UID: "run-uid", Controller: new(true)}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "manager"}},
		},
		Spec: v1alpha1.MotorStepSpec{Type: v1alpha1.StepTurn, Attempt: attempt, Index: n, Epoch: 1, Content: fmt.Sprintf("thought %d", n)},
		Status: v1alpha1.MotorStepStatus{Phase: v1alpha1.StepSettled, Results: []v1alpha1.ToolResult{
			{CallID: "c", OK: true, Output: "line one\nline two\t{\"digest\":\"sha256:no\"}\x1b[0m", Provenance: "Internal"},
		}},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func testSteps() []*v1alpha1.MotorStep {
	return []*v1alpha1.MotorStep{testStep(1, 1), testStep(1, 2), testStep(1, 10), testStep(2, 1), testStep(2, 2)}
}

func writeTo(w io.Writer, run *v1alpha1.MotorRun, steps ...*v1alpha1.MotorStep) (archive.Manifest, error) {
	chain, err := archive.NewWriter(w, run)
	if err != nil {
		return archive.Manifest{}, err
	}
	for _, s := range steps {
		if err := chain.Step(s); err != nil {
			return archive.Manifest{}, err
		}
	}
	return chain.Close()
}

// write returns the bytes of an archive.
func write(t testing.TB, run *v1alpha1.MotorRun, steps ...*v1alpha1.MotorStep) ([]byte, archive.Manifest) {
	t.Helper()
	var b bytes.Buffer
	m, err := writeTo(&b, run, steps...)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), m
}

// broken returns the link at which the data breaks, nil if it holds.
func broken(t testing.TB, data []byte, head string) *archive.BrokenLink {
	t.Helper()
	err := archive.Verify(bytes.NewReader(data), head)
	if err == nil {
		return nil
	}
	var b *archive.BrokenLink
	if !errors.As(err, &b) {
		t.Fatalf("not a broken link: %v", err)
	}
	return b
}
