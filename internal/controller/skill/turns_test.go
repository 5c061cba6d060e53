// SPDX-License-Identifier: Apache-2.0

package skill

import (
	"fmt"
	"testing"
	"time"

	"motorcortex.dev/motorcortex/internal/controller/pass"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	var r turns
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	if _, ok := r.begin("slow", now, maxRemoteReads, pass.MinPause); !ok {
		t.Fatal("the first gets no place")
	}
	if try, ok := r.begin("slow", now, maxRemoteReads, pass.MinPause); ok || !try.Equal(now.Add(pass.MinPause)) {
		t.Errorf("a namespace has two places, or waits until %s", try)
	}
	for i := range maxRemoteReads - 1 {
		if _, ok := r.begin(fmt.Sprint("ns", i), now, maxRemoteReads, pass.MinPause); !ok {
			t.Errorf("place %d is taken", i)
		}
	}
	if _, ok := r.begin("late", now, maxRemoteReads, pass.MinPause); ok {
		t.Error("there are more reads than places")
	}
	now = now.Add(time.Minute)
	r.end("slow", now, time.Minute, pass.MinPause)
	if try, ok := r.begin("slow", now, maxRemoteReads, pass.MinPause); ok || !try.Equal(now.Add(time.Minute)) {
		t.Errorf("who took a minute has the next place at once, or waits until %s", try)
	}
	if _, ok := r.begin("late", now, maxRemoteReads, pass.MinPause); !ok {
		t.Error("the place that was given back is not there for others")
	}
	r.end("late", now, time.Millisecond, pass.MinPause)
	if _, ok := r.begin("late", now, maxRemoteReads, pass.MinPause); !ok {
		t.Error("a quick read is paused for")
	}
	r.end("late", now, time.Millisecond, pass.MinPause)
	if _, ok := r.begin("slow", now.Add(time.Minute), maxRemoteReads, pass.MinPause); !ok {
		t.Error("the pause does not end")
	}
	r.end("slow", now.Add(time.Minute), 0, pass.MinPause)
	for i := range maxRemoteReads - 1 {
		r.end(fmt.Sprint("ns", i), now.Add(2*time.Minute), 0, pass.MinPause)
	}
	if len(r.taken)+len(r.pauses) != 0 {
		t.Errorf("left are %+v", &r)
	}
}
