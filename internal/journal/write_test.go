// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
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
