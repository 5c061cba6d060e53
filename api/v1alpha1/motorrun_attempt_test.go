// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// The first attempt is number 1, so 0 is the number of none.
func TestAttemptsByNumber(t *testing.T) {
	t.Parallel()
	st := &v1alpha1.MotorRunStatus{}
	if a := st.LatestAttempt(); a != nil {
		t.Errorf("a run without attempts has the latest %+v", a)
	}
	st.Attempts = []v1alpha1.AttemptStatus{{Index: 1}, {Index: 2}}
	if a := st.LatestAttempt(); a != &st.Attempts[1] {
		t.Errorf("the latest is %+v", a)
	}
	for number, want := range map[int32]*v1alpha1.AttemptStatus{0: nil, 1: &st.Attempts[0], 2: &st.Attempts[1], 3: nil} {
		if got := st.AttemptNumber(number); got != want {
			t.Errorf("number %d is %+v, want %+v", number, got, want)
		}
	}
}
