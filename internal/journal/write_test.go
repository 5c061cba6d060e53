// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
	"motorcortex.dev/motorcortex/internal/toolapi"
)

// A step names its attempt, its index, and the claim under which it was written.
func TestStepNamesItsClaim(t *testing.T) {
	t.Parallel()
	l, _ := stored(t)
	l.run.Namespace, l.run.Name, l.run.UID = "ns", "run", "uid"
	l.attempt, l.claim, l.sandbox = 2, Claim{Epoch: 7, Worker: "worker-1"}, v1alpha1.StepSandbox{PodUID: "pod"}
	if err := l.Append(t.Context(), &turn.Turn{Index: 1, Content: "it"}); err != nil {
		t.Fatal(err)
	}
	s := l.Steps()[0]
	if s.Name != "run-a02-s0001" || s.Spec.Attempt != 2 || s.Spec.Index != 1 || s.Spec.Epoch != 7 || s.Spec.Worker != "worker-1" ||
		s.Spec.Sandbox == nil || s.Spec.Sandbox.PodUID != "pod" || !metav1.IsControlledBy(&s, l.run) {
		t.Errorf("%+v", s)
	}
}

// A step that exists already is the loop's own only if the same claim wrote the same. It shows who has the run otherwise.
func TestStepOfAnother(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		owner   types.UID
		epoch   int64
		content string
		want    error
	}{
		"its own, written before":        {"uid", 7, "it", nil},
		"of a later claim":               {"uid", 8, "it", motorloop.ErrStale},
		"of a later claim, another turn": {"uid", 8, "other", motorloop.ErrStale},
		"of an earlier claim":            {"uid", 6, "it", ErrMovedOn},
		"its own, another turn":          {"uid", 7, "other", ErrMovedOn},
		"of a run that was deleted":      {"former", 9, "it", ErrNotYetGone},
	} {
		l, c := stored(t)
		l.run.Namespace, l.run.Name, l.run.UID = "ns", "run", "uid"
		l.attempt, l.claim = 1, Claim{Epoch: 7, Worker: "worker-1"}
		there := l.newStep(1, turnSpec(&turn.Turn{Index: 1, Content: tt.content}))
		there.Spec.Epoch, there.OwnerReferences[0].UID = tt.epoch, tt.owner
		if err := c.Create(t.Context(), there); err != nil {
			t.Fatal(err)
		}
		err := l.Append(t.Context(), &turn.Turn{Index: 1, Content: "it"})
		if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) || (len(l.Steps()) == 1) != (tt.want == nil) {
			t.Errorf("%s: %v, %d steps", name, err, len(l.Steps()))
		}
	}
}

// A write that comes later writes what the turn has by then, and is not mistaken about what others did meanwhile.
func TestSettleLater(t *testing.T) {
	t.Parallel()
	key := client.ObjectKey{Namespace: "ns", Name: "run-a01-s0001"}
	change := func(t *testing.T, c client.Client, how func(*v1alpha1.MotorStep)) {
		t.Helper()
		var s v1alpha1.MotorStep
		if err := c.Get(t.Context(), key, &s); err != nil {
			t.Fatal(err)
		}
		how(&s)
		status := s.DeepCopy()
		if err := c.Update(t.Context(), &s); err != nil {
			t.Fatal(err)
		}
		status.ResourceVersion = s.ResourceVersion
		if err := c.Status().Update(t.Context(), status); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		meanwhile func(*v1alpha1.MotorStep)
		want      error
	}{
		"nothing happened": {func(*v1alpha1.MotorStep) {}, nil},
		"a label was set":  {func(s *v1alpha1.MotorStep) { s.Labels = map[string]string{"mine": "true"} }, nil},
		"the same was written, and the answer was lost": {func(s *v1alpha1.MotorStep) {
			s.Status.Phase, s.Status.OK, s.Status.ToolMilliseconds = v1alpha1.StepSettled, "1/1", 5
			s.Status.Results = []v1alpha1.ToolResult{{CallID: "a1-s1-c0", OK: true, Output: "mine", DurationMilliseconds: 5}}
		}, nil},
		"another wrote a result": {func(s *v1alpha1.MotorStep) {
			s.Status.Results = []v1alpha1.ToolResult{{CallID: "a1-s1-c0", OK: true, Output: "another's"}}
		}, ErrMovedOn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, c := stored(t, storedStep(v1alpha1.MotorStepStatus{Phase: v1alpha1.StepInFlight}))
			l.attempt = 1
			turn1 := l.Turns()[0]
			turn1.Results[0] = &toolapi.Result{OK: true, Output: "mine", DurationMs: 5}
			write := l.SettleLater(turn1)
			if write == nil {
				t.Fatal("a step about which nothing is recorded is not settled later")
			}
			var there v1alpha1.MotorStep
			if err := c.Get(t.Context(), key, &there); err != nil || len(there.Status.Results) > 0 {
				t.Fatalf("%+v is written before the write (%v)", there.Status.Results, err)
			}
			change(t, c, tt.meanwhile)
			if err := write(t.Context()); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Fatalf("got %v", err)
			}
			if err := c.Get(t.Context(), key, &there); err != nil {
				t.Fatal(err)
			}
			results, known := there.Status.Results, l.Steps()[0].Status.Results
			if (results[0].Output == "mine") != (tt.want == nil) || (len(known) == 1) != (tt.want == nil) || (l.Writes() == 1) != (tt.want == nil) {
				t.Errorf("the journal has %+v, the log knows %+v after %d writes", results, known, l.Writes())
			}
			if tt.want == nil && there.Status.Phase != v1alpha1.StepSettled {
				t.Errorf("the phase is %s", there.Status.Phase)
			}
		})
	}
}

// What a turn gets from its record is known before the model is asked only where nothing is recorded yet.
func TestWhatMustBeSettledAtOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status   v1alpha1.MotorStepStatus
		programs []toolapi.Program
	}{
		"it has results":     {status: v1alpha1.MotorStepStatus{Results: []v1alpha1.ToolResult{{CallID: "a1-s1-c0"}}}},
		"it was asked about": {status: v1alpha1.MotorStepStatus{Asks: []v1alpha1.StepAsk{{CallID: "a1-s1-c0"}}}},
		"it is closed":       {status: v1alpha1.MotorStepStatus{Closed: &v1alpha1.StepClosing{}}},
		"programs run":       {programs: []toolapi.Program{}},
	} {
		l, _ := stored(t, storedStep(tt.status))
		l.attempt, l.programs = 1, tt.programs
		if write := l.SettleLater(&turn.Turn{Index: 1, Calls: []turn.Call{{ID: "a1-s1-c0"}}, Results: []*toolapi.Result{{OK: true}}}); write != nil {
			t.Errorf("%s: it is settled later", name)
		}
	}
	l, _ := stored(t)
	if l.SettleLater(&turn.Turn{Index: 1}) != nil {
		t.Error("a step that was never appended is settled")
	}
}
