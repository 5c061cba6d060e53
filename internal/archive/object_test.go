// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/archive"
)

func TestKey(t *testing.T) {
	t.Parallel()
	for want, run := range map[string][3]string{
		"ns/run/0a1b-2c.jsonl":            {"ns", "run", "0a1b-2c"},
		"ns/run.with.dots/u.jsonl":        {"ns", "run.with.dots", "u"},
		"%2E./%2E/%2E.%2Fetc.jsonl":       {"..", ".", "../etc"},
		"a%2Fb/c%5Cd%00/e%20%0A%3F.jsonl": {"a/b", "c\\d\x00", "e \n?"},
	} {
		r := testRun(func(r *v1alpha1.MotorRun) { r.Namespace, r.Name, r.UID = run[0], run[1], types.UID(run[2]) })
		if got := archive.Key(r); got != want {
			t.Errorf("key of %q is %q, want %q", run, got, want)
		}
	}
}

// A manager that is killed before it noted the archive must know its own again.
func TestSame(t *testing.T) {
	t.Parallel()
	_, want := write(t, testRun(), testSteps()...)
	tests := map[string]struct {
		run   func(*v1alpha1.MotorRun)
		steps func([]*v1alpha1.MotorStep) []*v1alpha1.MotorStep
		want  string
	}{
		"the same": {},
		"stored anew": {run: func(r *v1alpha1.MotorRun) {
			r.ResourceVersion, r.Generation, r.ManagedFields = "99", 3, nil
			r.Status.ObservedGeneration, r.Status.Conditions[0].ObservedGeneration = 3, 3
			r.Status.Archive = &v1alpha1.ArchiveStatus{Key: "k"}
		}},
		"what may change after the end": {run: func(r *v1alpha1.MotorRun) {
			r.Labels, r.Annotations = map[string]string{"a": "b"}, nil
			r.OwnerReferences = []metav1.OwnerReference{{Name: "o"}}
			r.Spec.Cancel, r.Spec.Suspend, r.Spec.TTLSecondsAfterFinished = true, true, new(int32)
			r.Spec.Responses = []v1alpha1.Response{{ID: "late", Answer: "x"}}
			r.Spec.Responses = append(r.Spec.Responses, v1alpha1.Response{ID: "retry-1", Decision: v1alpha1.DecisionRetry})
		}},
		"another run":    {run: func(r *v1alpha1.MotorRun) { r.CreationTimestamp = metav1.Now() }, want: "its first line"},
		"another end":    {run: func(r *v1alpha1.MotorRun) { r.Status.Result.OK = false }, want: "its first line"},
		"another task":   {run: func(r *v1alpha1.MotorRun) { r.Spec.Task = "another" }, want: "its first line"},
		"a step less":    {steps: func(s []*v1alpha1.MotorStep) []*v1alpha1.MotorStep { return s[1:] }, want: "step run-a01-s0001 is not in it"},
		"a step more":    {steps: func(s []*v1alpha1.MotorStep) []*v1alpha1.MotorStep { return append(s, testStep(2, 3)) }, want: "it has 6 steps, and the run has 5"},
		"a step changed": {steps: func(s []*v1alpha1.MotorStep) []*v1alpha1.MotorStep { s[1].Status.Results = nil; return s }, want: "step run-a01-s0002 is not in it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, steps := testRun(), testSteps()
			if tt.run != nil {
				tt.run(run)
			}
			if tt.steps != nil {
				steps = tt.steps(steps)
			}
			_, found := write(t, run, steps...)
			err := want.Same(&found)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, archive.ErrDifferent) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestStepDigest(t *testing.T) {
	t.Parallel()
	_, m := write(t, testRun(), testStep(1, 1))
	stored := testStep(1, 1, func(s *v1alpha1.MotorStep) { s.ResourceVersion, s.ManagedFields = "77", nil })
	digest, err := archive.StepDigest(stored)
	if err != nil || digest != m.Steps["run-a01-s0001"] {
		t.Errorf("digest %s (%v), the manifest has %s", digest, err, m.Steps["run-a01-s0001"])
	}
	stored.Status.Phase = v1alpha1.StepInFlight
	if digest, _ = archive.StepDigest(stored); digest == m.Steps["run-a01-s0001"] {
		t.Error("a step that changed has the same digest")
	}
}

func TestIsDigest(t *testing.T) {
	t.Parallel()
	good := archive.Genesis
	for s, want := range map[string]bool{
		good: true, "": false, good[:70]: false, good + "0": false, strings.ToUpper(good): false,
		"sha256:" + strings.Repeat("g", 64): false, "sha512:" + good[7:]: false, good[7:]: false, "sha256:" + strings.Repeat("A", 64): false,
	} {
		if archive.IsDigest(s) != want {
			t.Errorf("%q is a digest: %t", s, !want)
		}
	}
}
