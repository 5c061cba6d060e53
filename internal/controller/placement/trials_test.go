// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func suspect(name string, lostAt time.Time) *v1alpha1.MotorRun {
	run := &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	run.Status.Losses = &v1alpha1.LossStatus{Count: 2, LastLossTime: metav1.NewTime(lostAt)}
	return run
}

// Suspects are tried in the order in which they were lost. A suspect that does not ask any more delays no other.
func TestTrialsAreInTurn(t *testing.T) {
	t.Parallel()
	var turn trials
	now := time.Unix(1000, 0)
	later, sooner, same := suspect("a", now.Add(time.Second)), suspect("c", now), suspect("b", now)
	for _, tt := range []struct {
		run   *v1alpha1.MotorRun
		after time.Duration
		want  bool
	}{
		{later, 0, true},
		{sooner, 0, true},
		{later, 0, false},
		{same, 0, true},
		{sooner, 0, false},
		{later, time.Minute, true}, // The others have not asked again.
	} {
		now = now.Add(tt.after)
		if got := turn.isFirst(tt.run, now, now.Add(trialRetry)); got != tt.want {
			t.Errorf("%s at %s: %t", tt.run.Name, now, got)
		}
	}
	if len(turn.asks) != 1 {
		t.Errorf("%d are remembered", len(turn.asks))
	}
}

// Between two trials is as much time as the last one took, and never less than the pause.
func TestTimeBetweenTrials(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	for took, want := range map[time.Duration]time.Duration{0: trialPause, time.Second: trialPause, 4 * time.Minute: 4 * time.Minute} {
		turn := trials{uid: "run", began: began}
		turn.end(began.Add(took), (&Placer{}).pause())
		if got := turn.free.Sub(began.Add(took)); got != want || turn.uid != "" {
			t.Errorf("after a trial of %s the next one begins after %s", took, got)
		}
	}
}
