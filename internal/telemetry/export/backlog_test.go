// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"motorcortex.dev/motorcortex/api/v1alpha1"
)

// numbered is one of many runs.
func numbered(i int) *v1alpha1.MotorRun {
	run := newRun()
	run.Name, run.UID = fmt.Sprintf("run-%d", i), types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i))
	return run
}

func TestRunsOfBeforeAreNotToldAgain(t *testing.T) {
	t.Parallel()
	b := newBacklog()
	b.begin(at(100).Time, time.Time{})
	old, late, goes, unsampled := numbered(1), numbered(2), numbered(3), numbered(4)
	old.Status.CompletionTime, late.Status.CompletionTime = new(at(99)), new(at(101))
	unsampled.Annotations = map[string]string{v1alpha1.AnnotationTraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
	for _, run := range []*v1alpha1.MotorRun{old, late, goes, unsampled} {
		b.touch(run)
		b.touchStep(keyOf(run))
	}
	list, next := b.take(at(200).Time, 10)
	if len(list) != 2 || list[0].key != keyOf(late) || list[1].key != keyOf(goes) || !next.IsZero() {
		t.Errorf("taken are %+v, next at %s", list, next)
	}
}

// Runs that ended before what is told, and that the process before has not told, are lost, and known to be.
func TestRunsThatEndedTooEarlyAreLost(t *testing.T) {
	t.Parallel()
	b := newBacklog()
	b.begin(at(100).Time, at(50).Time)
	for end, lost := range map[int]bool{49: false, 50: true, 99: true, 100: false, 101: false} {
		run := numbered(end)
		run.Status.CompletionTime = new(at(end))
		if got := b.touch(run); got != lost {
			t.Errorf("one that ended at %d is lost: %t", end, got)
		}
	}
	unsampled := numbered(60)
	unsampled.Status.CompletionTime = new(at(60))
	unsampled.Annotations = map[string]string{v1alpha1.AnnotationTraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
	if b.touch(unsampled) || b.touch(numbered(1)) {
		t.Error("one that is not sampled, or goes on, is lost")
	}
}

// The next process tells the runs that ended after the instant, and those that have not ended.
func TestSettledInstantIsBeforeTheFirstRunThatIsNotTold(t *testing.T) {
	t.Parallel()
	b := newBacklog()
	is := func(want int) {
		t.Helper()
		if got := b.settledAt(at(100).Time); !got.Equal(at(want).Time) {
			t.Errorf("settled at %s, want %s", got, at(want).Time)
		}
	}
	is(100)
	for i, end := range map[int]int{1: 70, 2: 60, 3: 0} {
		run := numbered(i)
		if end > 0 {
			run.Status.CompletionTime = new(at(end))
		}
		b.touch(run)
	}
	is(60)
	b.told(keyOf(numbered(2)), cursor{run: true}, false, time.Time{})
	is(70)
	// Nothing is left of a deleted run for the next process.
	b.depart(numbered(1), at(80).Time)
	is(100)
}

// A collector that was away for long leaves very many runs. Each of them taken by itself, the time would grow with their square.
func TestVeryManyRunsAreTakenInGoodTime(t *testing.T) {
	t.Parallel()
	b := newBacklog()
	const runs = 100_000
	for i := range runs {
		k := key{name: fmt.Sprintf("run-%d", i)}
		e := &entry{}
		b.of[k] = e
		if i%2 == 0 {
			b.pushLocked(k, e, time.Time{})
		} else {
			b.pushLocked(k, e, at(100).Time)
		}
	}
	taken, begin := 0, time.Now()
	for _, now := range []time.Time{at(1).Time, at(100).Time} {
		for {
			list, _ := b.take(now, 1)
			if len(list) == 0 {
				break
			}
			taken++
		}
		if want := runs / 2; now.Equal(at(1).Time) && taken != want {
			t.Errorf("%d runs are taken before their time, want %d", taken, want)
		}
	}
	if took := time.Since(begin); taken != runs || b.waiting() != 0 || took > 20*time.Second {
		t.Errorf("%d of %d runs are taken within %s, %d wait", taken, runs, took, b.waiting())
	}
}

// However often runs change while nothing is sent, there is one entry for each.
func TestBacklogHasNoMoreThanRuns(t *testing.T) {
	t.Parallel()
	b := newBacklog()
	for range 100 {
		for i := range 10 {
			b.touch(numbered(i))
			b.touchStep(keyOf(numbered(i)))
		}
	}
	if n := b.waiting(); n != 10 || len(b.of) != 10 {
		t.Errorf("%d runs wait, %d are known", n, len(b.of))
	}
	lost := 0
	for i := range 2 * maxGone {
		b.touch(numbered(i))
		if !b.depart(numbered(i), begin) {
			lost++
		}
	}
	if lost != maxGone || len(b.of) != maxGone {
		t.Errorf("%d of %d deleted runs are lost, %d are known", lost, 2*maxGone, len(b.of))
	}
	for {
		list, _ := b.take(begin, 1)
		if len(list) == 0 {
			break
		}
		b.told(list[0].key, cursor{run: true}, false, time.Time{})
	}
	if len(b.of) != 0 || b.gone != 0 {
		t.Errorf("after all are told, %d are known and %d are kept", len(b.of), b.gone)
	}
}

// A deleted run whose steps could not be read is not forgotten.
func TestDeletedRunIsKeptUntilItIsTold(t *testing.T) {
	t.Parallel()
	b := newBacklog()
	b.touch(numbered(1))
	b.depart(numbered(1), begin)
	list, _ := b.take(begin, 1)
	b.told(list[0].key, list[0].cursor, false, at(1).Time)
	if list, _ = b.take(at(1).Time, 1); len(list) != 1 || list[0].gone == nil {
		t.Fatalf("taken is %+v", list)
	}
	b.told(list[0].key, cursor{run: true}, false, time.Time{})
	if len(b.of) != 0 || b.gone != 0 {
		t.Errorf("%d are known, %d are kept", len(b.of), b.gone)
	}
}

// A change while a run is sent is looked at after that.
func TestChangeDuringASendIsNotLost(t *testing.T) {
	t.Parallel()
	b := newBacklog()
	b.touch(numbered(1))
	list, _ := b.take(begin, 1)
	b.touchStep(list[0].key)
	b.told(list[0].key, cursor{attempt: 1, index: 1}, false, at(60).Time)
	list, _ = b.take(begin, 1)
	if len(list) != 1 || list[0].index != 1 {
		t.Fatalf("taken is %+v", list)
	}
	// A run that was told is told no more, and is looked at later only if that was said.
	b.told(list[0].key, cursor{run: true}, false, time.Time{})
	b.touch(numbered(1))
	if n := b.waiting(); n != 0 {
		t.Errorf("%d runs wait", n)
	}
}

func TestRunIsLookedAtWhenItsTimeComes(t *testing.T) {
	t.Parallel()
	b := newBacklog()
	b.touch(numbered(1))
	list, _ := b.take(begin, 1)
	b.told(list[0].key, list[0].cursor, false, at(5).Time)
	if list, next := b.take(at(4).Time, 1); len(list) != 0 || !next.Equal(at(5).Time) {
		t.Errorf("too early: %+v, next at %s", list, next)
	}
	if list, _ := b.take(at(5).Time, 1); len(list) != 1 {
		t.Error("it is not looked at")
	}
}
