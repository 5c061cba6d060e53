// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestModelTime(t *testing.T) {
	t.Parallel()
	steps := []*v1alpha1.MotorStep{
		{Spec: v1alpha1.MotorStepSpec{Index: 2, ModelMilliseconds: 5}},
		{Spec: v1alpha1.MotorStepSpec{Index: 1, ModelMilliseconds: 7}},
	}
	for index, want := range map[int32]time.Duration{1: 7 * time.Millisecond, 2: 5 * time.Millisecond, 3: 0} {
		if got := modelTime(steps, index); got != want {
			t.Errorf("step %d: %s, and it must be %s", index, got, want)
		}
	}
}
