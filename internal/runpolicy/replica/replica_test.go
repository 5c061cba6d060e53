// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const sec = time.Second

// t0 is when the tests begin.
var t0 = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return t0.Add(d) }

func TestPlace(t *testing.T) {
	t.Parallel()
	a, b, c := Worker{ID: "a", Renewed: true}, Worker{ID: "b", Renewed: true}, Worker{ID: "c"}
	tests := map[string]struct {
		current string
		workers []Worker
		load    map[string]int
		want    string
	}{
		"nobody lives":                   {current: "a"},
		"nobody lives, and nobody had":   {},
		"the only one":                   {workers: []Worker{c}, want: "c"},
		"keeps the one that lives":       {current: "b", workers: []Worker{a, b}, load: map[string]int{"b": 9}, want: "b"},
		"keeps one that was not renewed": {current: "c", workers: []Worker{a, b, c}, load: map[string]int{"c": 9}, want: "c"},
		"leaves the dead":                {current: "gone", workers: []Worker{a, b}, load: map[string]int{"a": 2, "b": 1, "gone": 0}, want: "b"},
		"the fewest runs":                {workers: []Worker{a, b}, load: map[string]int{"a": 1}, want: "b"},
		"the first of equals":            {workers: []Worker{b, a}, load: map[string]int{"a": 1, "b": 1}, want: "a"},
		"rather one that renews":         {workers: []Worker{a, c}, load: map[string]int{"a": 9}, want: "a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Place(tt.current, tt.workers, tt.load); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// watcher looks at Leases of 10 s. The clock of the workers is wrong on purpose.
type watcher struct {
	t     *testing.T
	beats Heartbeats
	now   time.Duration
	clock time.Time
}

// see observes a Lease that its holder renewed since it was seen last.
func (w *watcher) see(lease, holder string) {
	w.clock = w.clock.Add(time.Hour)
	w.beats.Observe(lease, Heartbeat{Holder: holder, Renewed: w.clock}, after(w.now))
}

func (w *watcher) want(lapse time.Duration, ids ...string) {
	w.t.Helper()
	var got []string
	for _, worker := range w.beats.Live(after(w.now)) {
		got = append(got, worker.ID)
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		w.t.Errorf("after %s those live (-want +got):\n%s", w.now, diff)
	}
	next := w.beats.NextLapse(after(w.now))
	if want := after(lapse); len(ids) > 0 && !next.Equal(want) || len(ids) == 0 && !next.IsZero() {
		w.t.Errorf("after %s the next lapse is at %s, want %s", w.now, next, want)
	}
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*watcher){
		"a first sight counts for a term": func(w *watcher) {
			w.beats.Observe("l", Heartbeat{Holder: "a", Renewed: t0.Add(-time.Hour), Term: 4 * sec}, after(0))
			w.want(4*sec, "a")
			w.now = 4*sec - 1
			w.want(4*sec, "a")
			w.now = 4 * sec
			w.want(0)
		},
		"who renews lives on": func(w *watcher) {
			for range 5 {
				w.see("l", "a")
				w.want(w.now+10*sec, "a")
				w.now += 9 * sec
			}
		},
		"the same sight again is no renewal": func(w *watcher) {
			w.see("l", "a")
			w.see("m", "b")
			same := Heartbeat{Holder: "a", Renewed: w.clock.Add(-time.Hour)}
			w.now = 9 * sec
			w.see("m", "b")
			w.beats.Observe("l", same, after(w.now))
			w.now = 10 * sec
			w.want(19*sec, "b")
		},
		"who lets go is gone at once": func(w *watcher) {
			w.see("l", "a")
			w.see("m", "b")
			w.see("l", "")
			w.want(10*sec, "b")
		},
		"a Lease that is deleted is gone at once": func(w *watcher) {
			w.see("l", "a")
			w.see("m", "b")
			w.beats.Forget("l")
			w.want(10*sec, "b")
			w.beats.Forget("never seen")
		},
		"a new process in the same Pod is another worker": func(w *watcher) {
			w.see("l", "a-1")
			w.see("l", "a-2")
			w.want(10*sec, "a-2")
			if w.beats.Live(after(w.now))[0].Renewed {
				t.Error("the new process was not seen to renew")
			}
		},
		"renewed is who was seen to renew": func(w *watcher) {
			w.see("l", "a")
			w.see("m", "b")
			w.see("m", "b")
			if diff := cmp.Diff([]Worker{{ID: "a"}, {ID: "b", Renewed: true}}, w.beats.Live(after(0))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		},
		"the next to lapse is the one seen longest ago": func(w *watcher) {
			w.see("l", "a")
			w.now = 3 * sec
			w.see("m", "b")
			w.want(10*sec, "a", "b")
			w.now = 10 * sec
			w.want(13*sec, "b")
		},
		"after everybody was silent everybody gets another term": func(w *watcher) {
			w.see("l", "a")
			w.see("m", "b")
			w.now = 120 * sec
			w.want(0)
			w.see("m", "b")
			w.want(130*sec, "a", "b")
			w.now = 125 * sec
			w.see("m", "b")
			w.now = 130 * sec
			w.want(135*sec, "b")
		},
		"who let go before the silence stays gone": func(w *watcher) {
			w.see("l", "a")
			w.see("m", "b")
			w.see("l", "")
			w.now = 60 * sec
			w.see("m", "b")
			w.want(70*sec, "b")
		},
		"whose silence others saw gets none": func(w *watcher) {
			w.see("l", "a")
			for range 4 {
				w.see("m", "b")
				w.now += 5 * sec
			}
			w.see("m", "b")
			w.want(30*sec, "b")
		},
	}
	for name, try := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try(&watcher{t: t, clock: t0.Add(-100 * time.Hour)})
		})
	}
}

// One replica without a bound has room for any run.
func TestSlots(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		workers []Worker
		total   int
		bounded bool
	}{
		"none":          {nil, 0, false},
		"two":           {[]Worker{{Slots: 2}, {Slots: 3}}, 5, true},
		"one says none": {[]Worker{{Slots: 2}, {}}, 0, false},
		"nonsense":      {[]Worker{{Slots: 2}, {Slots: -1}}, 0, false},
	} {
		if total, bounded := Slots(tt.workers); total != tt.total || bounded != tt.bounded {
			t.Errorf("%s: %d, %t", name, total, bounded)
		}
	}
}
