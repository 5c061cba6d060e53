// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

func atVersion(of string) *v1alpha1.MotorRun {
	return &v1alpha1.MotorRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "run", UID: "u", ResourceVersion: of}}
}

// A pass with the version that the process has replaced would write what is refused. With any other one it may know more than the last.
func TestACacheIsBehindWhileItShowsWhatWasReplaced(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		before, after, read string
		later               time.Duration
		want                bool
	}{
		"the replaced one":                 {"1", "2", "1", 0, true},
		"the replaced one, a moment later": {"1", "2", "1", behindFor - 1, true},
		"the written one":                  {"1", "2", "2", 0, false},
		"a later one":                      {"1", "2", "3", 0, false},
		"after a write that changes none":  {"1", "1", "1", 0, false},
		// Versions begin anew when etcd is restored. The run must not stand still for that.
		"the replaced one, long after": {"1", "2", "1", behindFor, false},
	} {
		var w Writes
		w.Note(atVersion(tt.before), atVersion(tt.after), now)
		if got := w.IsBehind(atVersion(tt.read), now.Add(tt.later)); got != tt.want {
			t.Errorf("%s: behind %t", name, got)
		}
	}
	var w Writes
	const pause = time.Second
	if got := w.Wait(atVersion("1"), pause, now); got != 0 {
		t.Errorf("the first write waits for %s", got)
	}
	if w.IsBehind(atVersion("1"), now) || w.IsBehind(atVersion(""), now) {
		t.Error("behind before anything was written")
	}
	w.Note(atVersion("1"), atVersion("2"), now)
	for after, want := range map[time.Duration]time.Duration{0: pause, pause / 4: 3 * pause / 4, pause: 0, time.Hour: 0, -time.Hour: pause} {
		if got := w.Wait(atVersion("2"), pause, now.Add(after)); got != want {
			t.Errorf("%s after a write it waits for %s, want %s", after, got, want)
		}
	}
	for range 2 {
		if got := w.EndsIn(atVersion("2"), pause, now); got != pause {
			t.Errorf("the end is written after %s", got)
		}
	}
	for after, want := range map[time.Duration]time.Duration{pause / 4: 3 * pause / 4, pause: 0, time.Hour: 0} {
		if got := w.EndsIn(atVersion("3"), pause, now.Add(after)); got != want {
			t.Errorf("%s after the end it is written after %s, want %s", after, got, want)
		}
	}
	if w.HasDeleted(atVersion("3"), "p", now) {
		t.Error("a Pod is deleted that was not")
	}
	w.NoteDeleted(atVersion("3"), "p", now)
	if !w.HasDeleted(atVersion("3"), "p", now.Add(behindFor-1)) || w.HasDeleted(atVersion("3"), "p", now.Add(behindFor)) || w.HasDeleted(atVersion("3"), "q", now) {
		t.Error("the deletion of a Pod does not count for as long as the cache may lack it")
	}
	w.ForgetGone(types.NamespacedName{Namespace: "ns", Name: "run"})
	if w.IsBehind(atVersion("1"), now) {
		t.Error("a run that is gone is remembered")
	}
}
