// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"testing"
	"time"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func TestAFloodKeepsAsManyInstantsAsItNeeds(t *testing.T) {
	t.Parallel()
	var f flood
	d := &v1alpha1.NotificationDigest{Asks: 3, WindowSeconds: 60}
	now := time.Unix(0, 0)
	for i := range 100 {
		if s := (subject{name: string(rune(i))}); !f.hold(s, d, time.Time{}, now) {
			f.count(d, now)
		}
	}
	if len(f.recent) != 3 || len(f.held) != 97 || !f.due.Equal(now.Add(time.Minute)) {
		t.Errorf("it has %d instants, holds %d, until %s", len(f.recent), len(f.held), f.due)
	}
	for s := range f.held {
		f.release(s)
	}
	if !f.due.IsZero() || f.hold(subject{name: "x"}, d, time.Time{}, now.Add(time.Minute)) {
		t.Errorf("after the window it holds, until %s", f.due)
	}
}

// An ask whose deadline is over has the digest come at once, and not in the past or never.
func TestADeadlineHastensADigest(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for deadline, want := range map[time.Duration]time.Duration{-time.Second: 0, 20 * time.Second: 10 * time.Second, time.Hour: time.Minute} {
		f := flood{recent: []time.Time{now}}
		if !f.hold(subject{}, &v1alpha1.NotificationDigest{Asks: 1, WindowSeconds: 60}, now.Add(deadline), now) || !f.due.Equal(now.Add(want)) {
			t.Errorf("with %s left it comes after %s", deadline, f.due.Sub(now))
		}
	}
}
