// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"motorcortex.dev/motorcortex/api/v1alpha1"
	"motorcortex.dev/motorcortex/internal/motorloop"
)

// The remaining budget that the model was told stays, even if another loop settles the step again.
func TestWhatIsLeftIsRecordedOnce(t *testing.T) {
	t.Parallel()
	s, turn := &v1alpha1.MotorStep{}, &motorloop.Turn{}
	settle(s, turn)
	if s.Status.Left != nil {
		t.Errorf("nothing is known, recorded: %+v", s.Status.Left)
	}
	turn.Left = motorloop.Left{Time: 90*time.Second + 1, Tokens: 7}
	settle(s, turn)
	turn.Left = motorloop.Left{Time: time.Second, Tokens: 1}
	settle(s, turn)
	if d := cmp.Diff(&v1alpha1.StepLeft{Seconds: 90, Tokens: 7}, s.Status.Left); d != "" {
		t.Error(d)
	}
	adoptStatus(turn, s)
	if want := (motorloop.Left{Time: 90 * time.Second, Tokens: 7}); turn.Left != want {
		t.Errorf("read again: %+v", turn.Left)
	}
}
