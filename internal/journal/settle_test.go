// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop/turn"
)

// The remaining budget that the model was told stays, even if another loop settles the step again.
func TestWhatIsLeftIsRecordedOnce(t *testing.T) {
	t.Parallel()
	s, step := &v1alpha1.MotorStep{}, &turn.Turn{}
	settle(s, step)
	if s.Status.Left != nil {
		t.Errorf("nothing is known, recorded: %+v", s.Status.Left)
	}
	step.Left = turn.Left{Time: 90*time.Second + 1, Tokens: 7}
	settle(s, step)
	step.Left = turn.Left{Time: time.Second, Tokens: 1}
	settle(s, step)
	if d := cmp.Diff(&v1alpha1.StepLeft{Seconds: 90, Tokens: 7}, s.Status.Left); d != "" {
		t.Error(d)
	}
	adoptStatus(step, s)
	if want := (turn.Left{Time: 90 * time.Second, Tokens: 7}); step.Left != want {
		t.Errorf("read again: %+v", step.Left)
	}
}
